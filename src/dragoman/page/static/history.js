// Earlier texts, kept in this browser and nowhere else.

import { directionOf, find, make } from "./dom.js";
import { message } from "./messages.js";
import { keep, kept } from "./storage.js";

const MOST = 50;
const LONGEST = 5000; // characters of a text that is kept

const dialog = find("history");
const list = find("history-list");
const switched = find("keep-history");
let current = null; // the entry of the text that is being written

/** Whether texts are kept. */
const isOn = () => kept("keepsHistory", true);

/** Keep a text with its translation; while one goes on writing, it takes the place of its beginning. */
export function remember({ source, target, text, translation }) {
  if (!isOn() || !text.trim() || text.length > LONGEST) return;
  const entries = kept("history", []).filter((one) => one.time !== current && !(one.text === text && one.target === target));
  current = Date.now();
  keep("history", [{ time: current, source, target, text, translation }, ...entries].slice(0, MOST));
}

/** The next text is a new one. */
export function beginNew() {
  current = null;
}

/** Let the list be opened; `chosen(entry)` is called with {source, target, text}. */
export function prepareHistory(chosen) {
  find("open-history").addEventListener("click", () => {
    show(chosen);
    dialog.showModal();
  });
  find("close-history").addEventListener("click", () => dialog.close());
  find("clear-history").addEventListener("click", () => {
    keep("history", undefined);
    show(chosen);
  });
  switched.addEventListener("change", () => {
    keep("keepsHistory", switched.checked);
    if (!switched.checked) keep("history", undefined);
    show(chosen);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

function show(chosen) {
  const entries = kept("history", []);
  switched.checked = isOn();
  find("clear-history").hidden = !entries.length;
  find("no-history").hidden = Boolean(entries.length);
  list.replaceChildren(
    ...entries.map((entry) => {
      const button = make(
        "button",
        { type: "button" },
        make("span", { className: "pair", textContent: `${entry.source} → ${entry.target}` }),
        line(entry.text, entry.source),
        line(entry.translation, entry.target),
      );
      button.addEventListener("click", () => {
        dialog.close();
        chosen(entry);
      });
      const remove = make("button", { type: "button", className: "remove", textContent: "×", ariaLabel: message("forget") });
      remove.addEventListener("click", () => {
        keep("history", kept("history", []).filter((one) => one.time !== entry.time));
        show(chosen);
      });
      return make("li", {}, button, remove);
    }),
  );
}

const line = (text, lang) => make("span", { className: "line", textContent: text.slice(0, 200), lang, dir: directionOf(text) });
