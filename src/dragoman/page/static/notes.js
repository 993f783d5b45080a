// What stands below the two texts: the word that is pointed at, how certain the words are, alternatives, constraints.

import { UNCERTAIN } from "./aligned_text.js";
import { directionOf, find, make } from "./dom.js";
import { formatted, message } from "./messages.js";

const isolated = (text) => `\u2068${text}\u2069`; // a right-to-left word must not reorder the text after it

/** Describe the word that is pointed at: its counterparts, and the probability of a word of the translation. */
export function describePoint(pointed) {
  const detail = find("detail");
  if (!pointed) return detail.replaceChildren();
  const { sentence, side, unit } = pointed;
  const { version } = sentence;
  const sourceWord = (place) => sentence.text.slice(sentence.units[place].start, sentence.units[place].end);
  const targetWord = (place) => version.text.slice(version.units[place].start, version.units[place].end);
  const [word, others] =
    side === "source"
      ? [sourceWord(unit), version.targets[unit].map(targetWord)]
      : [targetWord(unit), version.units[unit].sources.map(sourceWord)];
  const parts = [others.length ? `${isolated(word)} ↔ ${others.map(isolated).join(" · ")}` : isolated(word)];
  if (side === "target") {
    const percent = formatted(Math.exp(version.units[unit].logProbability), { style: "percent" });
    parts.push(message("probability", percent));
  }
  detail.textContent = parts.join("  ·  ");
}

/**
 * Say whether words are uncertain, what the tint means, why not to trust a translation, what was taken for mistyped, and
 * what is from a translation memory.
 */
export function describeCertainty(sentences) {
  const units = sentences.flatMap((sentence) => sentence.version.units.filter((unit) => unit.end > sentence.given));
  const uncertain = units.some((unit) => unit.logProbability < UNCERTAIN);
  const [doubtful] = sentences
    .map((sentence) => sentence.version)
    .filter(({ doubt }) => doubt)
    .sort((one, other) => one.confidence - other.confidence);
  const known = sentences.filter(({ version }) => version.fromMemory);
  const allKnown = known.length === sentences.length;
  const note = find("certainty");
  note.hidden = !sentences.length;
  note.replaceChildren(
    ...(uncertain ? [make("span", { className: "swatch", ariaHidden: "true" })] : []),
    ...(uncertain ? [message("uncertainNote"), " "] : []),
    ...(doubtful ? [message("doubts")[doubtful.doubt]] : uncertain || allKnown ? [] : [message("certainNote")]),
    ...(known.length ? [` ${message("fromMemory", allKnown)}`] : []),
    ...sentences.flatMap(({ readAs }) => readAs).map((words) => ` ${message("readAs", ...words.map(isolated))}`),
  );
}

/** List the other translations of a sentence; `pick(version)` shows one. */
export function listAlternatives(sentence, lang, pick) {
  const section = find("alternatives");
  const shown = sentence ? new Set(wordsOf(sentence.version.text)) : null;
  const others = sentence?.versions.map(({ text }, version) => ({ text, version })).filter(({ text }, place, all) => text !== sentence.version.text && all.findIndex((one) => one.text === text) === place) ?? [];
  section.hidden = !others.length;
  section.querySelector("ol").replaceChildren(
    ...others.map(({ text, version }) => {
      const words = text.split(/(\s+)/).map((part) => (part.trim() && !shown.has(part) ? make("em", { textContent: part }) : part));
      const button = make("button", { type: "button", lang, dir: directionOf(text) }, ...words);
      button.addEventListener("click", () => pick(version));
      return make("li", {}, button);
    }),
  );
}

const wordsOf = (text) => text.split(/\s+/);

/** List constraints: [{text, remove}]. */
export function listConstraints(constraints) {
  const list = find("constraints");
  list.hidden = !constraints.length;
  list.replaceChildren(
    ...constraints.map(({ text, remove }) => {
      const button = make("button", { type: "button", textContent: "×", ariaLabel: `${message("remove")}: ${text}` });
      button.addEventListener("click", remove);
      return make("li", {}, make("bdi", { textContent: text }), button);
    }),
  );
}
