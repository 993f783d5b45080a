// The dialog of a word of the translation: what else the model considered, a field to type over it, and constraints.

import { find, make } from "./dom.js";
import { message } from "./messages.js";
import { holdPoint } from "./panes.js";

const PAUSE = 150; // milliseconds without a key after which completions are asked for
const LONGEST = 28; // characters of an option

const dialog = find("word-dialog");
const field = find("word-field");
const list = find("word-options");
const note = find("word-note");

let opened = null; // {element, sentence, unit, prefix, actions}
let running = new AbortController();
let waiting;
let active = -1;

/**
 * Open the dialog for a word. `actions`: completions(prefix, signal), choose(prefix) with a whole translation or a
 * beginning that ends with a whole word, keep(word), ban(word).
 */
export function openWordDialog(element, { sentence, unit, actions, typed = "" }) {
  closeWordDialog();
  const { version } = sentence;
  opened = { element, sentence, unit, actions, prefix: version.text.slice(0, version.units[unit].start) };
  const bare = bareWord(element.textContent);
  for (const [id, name] of [["word-keep", "keepWord"], ["word-ban", "banWord"]]) {
    find(id).textContent = message(name, bare);
    find(id).hidden = !bare;
  }
  field.value = typed;
  field.ariaLabel = field.placeholder = message("typeOver");
  dialog.ariaLabel = message("otherWords", element.textContent);
  field.dir = list.dir = find("target").dir;
  field.lang = list.lang = find("target").lang;
  dialog.hidden = false;
  place(element);
  holdPoint(true);
  element.classList.add("opened");
  const onScreenKeys = matchMedia("(pointer: coarse)").matches && !typed; // they would cover the words on offer
  (onScreenKeys ? dialog : field).focus({ preventScroll: true });
  list.replaceChildren();
  offer();
}

/** Close the dialog, and return to its word where `back`. */
export function closeWordDialog({ back = false } = {}) {
  if (!opened) return;
  const { element } = opened;
  opened = null;
  running.abort();
  clearTimeout(waiting);
  dialog.hidden = true;
  element.classList.remove("opened");
  holdPoint(false);
  if (back) element.focus({ preventScroll: true });
}

/** A word without the punctuation around it. */
export const bareWord = (text) => text.replace(/^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, "");

function place(element) {
  const [box, around] = [element.getBoundingClientRect(), dialog.parentElement.getBoundingClientRect()];
  const width = dialog.offsetWidth;
  const left = Math.min(Math.max(box.left - around.left, 8), around.width - width - 8);
  dialog.style.setProperty("left", `${left}px`);
  dialog.style.setProperty("top", `${box.bottom - around.top + 6}px`);
}

/** Ask for completions and list them. */
async function offer() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const { prefix, actions, element } = opened;
  const typed = field.value.trimStart();
  active = -1;
  field.removeAttribute("aria-activedescendant");
  note.textContent = message("translating");
  try {
    const found = await actions.completions(prefix + typed, signal);
    if (signal.aborted) return;
    const options = found.filter((one) => one.text.startsWith(prefix) && one.text.length > prefix.length);
    const best = Math.max(...options.map((one) => one.score));
    list.replaceChildren(...options.map((one, index) => option(one, index, Math.exp(one.score - best), element.textContent)));
    field.ariaExpanded = String(options.length > 0);
    note.textContent = options.length ? "" : message("nothingElse");
  } catch (error) {
    if (!signal.aborted) note.textContent = error.kind === "unreachable" ? message("unreachable") : error.message;
  }
}

function option({ word, text }, index, weight, now) {
  const { prefix } = opened;
  const rest = text.slice(prefix.length);
  // What is typed may be a whole word, and `word` the one after it.
  const upToWord = word && rest.includes(word) ? rest.slice(0, rest.indexOf(word) + word.length) : rest;
  const fits = [...upToWord].length <= LONGEST;
  const label = fits ? upToWord : `${[...upToWord].slice(0, LONGEST).join("")}…`;
  const bar = make("span", { className: "bar", ariaHidden: "true" });
  bar.style.setProperty("--weight", weight.toFixed(3));
  const item = make("li", { role: "option", id: `word-option-${index}`, ariaSelected: "false" }, make("bdi", { textContent: label }), bar);
  if (label === now) item.classList.add("now");
  item.title = text;
  item.addEventListener("click", () => choose(fits ? prefix + upToWord : text));
  return item;
}

function choose(prefix) {
  const { actions } = opened;
  closeWordDialog({ back: true });
  actions.choose(prefix);
}

function activate(index) {
  const items = [...list.children];
  items[active]?.setAttribute("aria-selected", "false");
  active = items.length ? (index + items.length) % items.length : -1;
  if (active < 0) return;
  items[active].setAttribute("aria-selected", "true");
  items[active].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", items[active].id);
}

field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(offer, PAUSE);
});
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") activate(active + 1);
  else if (event.key === "ArrowUp") activate(active < 0 ? -1 : active - 1);
  else if (event.key === "Enter") {
    const typed = field.value.trim();
    if (active >= 0) list.children[active].click();
    else if (typed) choose(opened.prefix + typed);
    else closeWordDialog({ back: true });
  } else return;
  event.preventDefault();
});
dialog.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  closeWordDialog({ back: true });
});
dialog.addEventListener("focusout", (event) => {
  if (opened && event.relatedTarget && !dialog.contains(event.relatedTarget)) closeWordDialog();
});
document.addEventListener("pointerdown", (event) => {
  if (opened && !dialog.contains(event.target)) closeWordDialog();
});
for (const [id, action] of [["word-keep", "keep"], ["word-ban", "ban"]]) {
  find(id).addEventListener("click", () => {
    const { actions, element } = opened;
    closeWordDialog({ back: true });
    actions[action](bareWord(element.textContent));
  });
}
find("word-close").addEventListener("click", () => closeWordDialog({ back: true }));
