// Both texts as words that can be pointed at: a mirror that lies behind the source field, and the translation.

import { UNCERTAIN } from "./aligned_text.js";
import { directionOf, find, languageDirection, make } from "./dom.js";
import { message } from "./messages.js";

const source = find("source");
const mirror = find("mirror");
const target = find("target");

/** What is shown: [{sentence, sources: [element], targets: [element]}]. */
let shown = [];
let pointed = null;
let pointedAt = () => {};

/** Call a function whenever another word is pointed at: {sentence, side, unit}, or null for none. */
export function onPoint(listener) {
  pointedAt = listener;
}

/** Show the source as it is typed, without words, and the translation as that of an older text. */
export function showTyping() {
  point(null);
  shown = [];
  mirror.textContent = `${source.value}\u200b`; // a last empty line has a height, too
  const direction = directionOf(source.value, languageDirection(source.lang));
  source.dir = mirror.dir = direction;
  target.classList.add("stale");
}

/** Show a document of a session. */
export function showDocument({ text, pieces, complete }) {
  const focused = focusedPlace();
  point(null);
  shown = [];
  const sources = [];
  const targets = [];
  let place = 0;
  for (const { sentence, text: between, pending } of pieces) {
    if (!sentence) {
      targets.push(pending === undefined ? between : make("span", { className: "pending", textContent: pending }));
      continue;
    }
    sources.push(text.slice(place, sentence.start));
    place = sentence.end;
    const index = shown.length;
    const [sourceParts, sourceSpans] = spans(sentence.text, sentence.units, (unit) => word("source", index, unit));
    const { version } = sentence;
    const [targetParts, targetSpans] = spans(version.text, version.units, (unit) => targetWord(index, unit, sentence));
    sources.push(...sourceParts);
    targets.push(make("span", { className: "sentence" }, ...targetParts));
    shown.push({ sentence, sources: sourceSpans, targets: targetSpans });
  }
  mirror.replaceChildren(...sources, `${text.slice(place)}\u200b`);
  target.replaceChildren(...targets);
  target.dir = directionOf(target.textContent, languageDirection(target.lang));
  target.classList.remove("stale");
  target.ariaBusy = String(!complete);
  const all = target.querySelectorAll(".word");
  const again = focused && shown[focused.sentence]?.targets[Math.min(focused.unit, shown[focused.sentence].targets.length - 1)];
  for (const one of all) one.tabIndex = -1;
  if (all.length) (again ?? all[0]).tabIndex = 0;
  again?.focus({ preventScroll: true });
}

/** The sentences that are shown. */
export const shownSentences = () => shown.map(({ sentence }) => sentence);

/** Mark the sentence whose alternatives are listed, where there are several. */
export function markActive(sentence) {
  target.querySelectorAll(".sentence").forEach((element, index) => {
    element.classList.toggle("active", shown.length > 1 && index === sentence);
  });
}

/** Light up a word and its counterparts: {sentence (its number), side, unit}, or null for none. */
export function point(to) {
  if (same(to, pointed)) return;
  for (const element of document.querySelectorAll(".pointed, .lit")) element.classList.remove("pointed", "lit");
  pointed = to;
  const line = to && shown[to.sentence];
  if (line) {
    const { version } = line.sentence;
    const fromSource = to.side === "source";
    (fromSource ? line.sources : line.targets)[to.unit]?.classList.add("pointed");
    const links = (fromSource ? version.targets : version.units.map((unit) => unit.sources))[to.unit] ?? [];
    const counterparts = links.map((link) => (fromSource ? line.targets : line.sources)[link]);
    for (const element of counterparts) element.classList.add("lit");
    if (counterparts.length) reveal(counterparts[0]);
  }
  pointedAt(line ? { ...to, ...line } : null);
}

const same = (one, other) =>
  one === other || (one && other && one.sentence === other.sentence && one.side === other.side && one.unit === other.unit);

/** A text as strings and elements of its units. */
function spans(text, units, makeWord) {
  const parts = [];
  const elements = [];
  let place = 0;
  units.forEach((unit, index) => {
    if (unit.start > place) parts.push(text.slice(place, unit.start));
    const element = makeWord(index);
    element.textContent = text.slice(unit.start, unit.end);
    parts.push(element);
    elements.push(element);
    place = unit.end;
  });
  if (place < text.length) parts.push(text.slice(place));
  return [parts, elements];
}

function word(side, sentence, unit) {
  const element = make("span", { className: "word" });
  Object.assign(element.dataset, { side, sentence, unit });
  return element;
}

function targetWord(index, place, sentence) {
  const element = word("target", index, place);
  element.setAttribute("role", "button");
  element.setAttribute("aria-haspopup", "dialog");
  const unit = sentence.version.units[place];
  const chosen = unit.end <= sentence.given;
  element.classList.toggle("chosen", chosen);
  if (!chosen && unit.logProbability < UNCERTAIN) {
    element.classList.add("uncertain");
    element.style.setProperty("--doubt-share", (1 - 2 * Math.exp(unit.logProbability)).toFixed(3));
    element.ariaDescription = message("uncertain");
  }
  return element;
}

/** {sentence, unit} of an element of a word, as numbers. */
export function placeOf(element) {
  const { side, sentence, unit } = element.dataset;
  return { side, sentence: Number(sentence), unit: Number(unit) };
}

function focusedPlace() {
  return document.activeElement?.parentElement?.parentElement === target ? placeOf(document.activeElement) : null;
}

// Pointing: with the mouse at either side, with the caret or a tap in the source, with the keyboard in the translation.

/** Scroll the pane of an element, and nothing else, until it is in view. */
function reveal(element) {
  const pane = element.closest(".scroll");
  const [box, around] = [element.getBoundingClientRect(), pane.getBoundingClientRect()];
  if (box.top < around.top) pane.scrollTop += box.top - around.top;
  else if (box.bottom > around.bottom) pane.scrollTop += box.bottom - around.bottom;
}

// Scrolling one pane scrolls the other as far.
const panes = [...document.querySelectorAll(".pane .scroll")];
panes.forEach((pane, index) => {
  const other = panes[1 - index];
  pane.addEventListener("scroll", () => {
    if (!pane.matches(":hover")) return; // it is scrolled by the other
    other.scrollTop = (pane.scrollTop / Math.max(1, pane.scrollHeight - pane.clientHeight)) * (other.scrollHeight - other.clientHeight);
  }, { passive: true });
});

const wordAt = (event) =>
  document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.matches?.("#mirror .word"));

let held = false; // while a dialog about a word is open, that word stays pointed at

/** Keep the word that is pointed at, or let it go. */
export function holdPoint(value) {
  held = value;
  if (!value) point(null);
}

const pointUnlessHeld = (to) => held || point(to);

source.addEventListener("pointermove", (event) => {
  if (event.pointerType === "mouse") {
    const found = wordAt(event);
    pointUnlessHeld(found ? placeOf(found) : null);
  }
});
source.addEventListener("pointerleave", () => pointUnlessHeld(null));
source.addEventListener("blur", () => pointUnlessHeld(null));
document.addEventListener("selectionchange", () => {
  if (document.activeElement !== source || source.selectionStart !== source.selectionEnd) return;
  pointUnlessHeld(sourceWordAt(source.selectionStart));
});

/** The source word at a place of the text. */
function sourceWordAt(place) {
  const sentence = shown.findIndex((line) => line.sentence.start <= place && place <= line.sentence.end);
  if (sentence < 0) return null;
  const { start, units } = shown[sentence].sentence;
  const unit = units.findIndex((one) => start + one.start <= place && place <= start + one.end);
  return unit < 0 ? null : { side: "source", sentence, unit };
}

target.addEventListener("pointerover", (event) => {
  const found = event.target.closest(".word");
  pointUnlessHeld(found ? placeOf(found) : null);
});
target.addEventListener("pointerleave", () => pointUnlessHeld(null));
target.addEventListener("focusin", (event) => {
  if (!event.target.matches(".word")) return;
  for (const one of target.querySelectorAll('.word[tabindex="0"]')) one.tabIndex = -1;
  event.target.tabIndex = 0;
  pointUnlessHeld(placeOf(event.target));
});
target.addEventListener("focusout", () => pointUnlessHeld(null));
target.addEventListener("keydown", (event) => {
  const words = [...target.querySelectorAll(".word")];
  const here = words.indexOf(event.target);
  if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const forward = target.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const backward = target.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const to = { [forward]: here + 1, [backward]: here - 1, Home: 0, End: words.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  words[to]?.focus();
});
