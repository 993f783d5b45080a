// The field in which the translation of a segment is written, and what the model offers there: the rest of the sentence
// while one types, other words for the one that was clicked.

import { tinted } from "./desk_words.js";
import { directionOf, find, languageDirection, make } from "./dom.js";
import { message } from "./messages.js";

const PAUSE = 150; // milliseconds without a key after which completions are asked for
const LONGEST = 60; // characters of an offer

const editor = find("editor");
const field = find("target-field");
const mirror = find("target-mirror");
const list = find("offers");

export class Editor {
  #actions;
  #segment = null;
  #offers = null; // {prefix, word, completions}: words in place of `word`, or where it is null the rest of the sentence
  #running = new AbortController();
  #waiting;

  /**
   * `actions`: typed(text), accept(text, offered) for a text that the model has offered, confirm(), move(by), undo(),
   * redo(), and completions(prefix, signal), which promises a list.
   */
  constructor(actions) {
    this.#actions = actions;
    field.addEventListener("input", () => this.#typed());
    field.addEventListener("click", () => field.selectionStart === field.selectionEnd && this.others());
    field.addEventListener("keydown", (event) => this.#pressed(event));
    field.addEventListener("beforeinput", (event) => {
      if (!event.inputType.startsWith("history")) return; // the desk has a history of its own
      event.preventDefault();
      this.#actions[event.inputType === "historyUndo" ? "undo" : "redo"]();
    });
  }

  /** Show a segment in `cell`; `caret` is a place in its target. */
  open(cell, segment, language, label, caret) {
    this.close();
    field.lang = mirror.lang = list.lang = language;
    field.ariaLabel = label;
    this.show(segment);
    cell.replaceChildren(editor);
    if (caret === undefined) return;
    field.focus({ preventScroll: true });
    field.setSelectionRange(caret, caret);
  }

  /** Show what a segment has become. */
  show(segment) {
    this.#segment = segment;
    if (field.value !== segment.target) {
      const { selectionStart, selectionEnd } = field; // a new value would move the caret to its end
      field.value = segment.target;
      field.setSelectionRange(selectionStart, selectionEnd);
    }
    mirror.replaceChildren(...tinted(segment), "\u200b"); // a last empty line has a height, too
    field.dir = mirror.dir = directionOf(segment.target, languageDirection(field.lang));
  }

  /** Offer nothing any more. */
  close() {
    this.#running.abort();
    clearTimeout(this.#waiting);
    this.#offers = null;
    list.replaceChildren();
    list.hidden = true;
  }

  /** Focus the field and select a part of it. */
  select(start, end) {
    field.focus({ preventScroll: true });
    field.setSelectionRange(start, end);
  }

  /** Offer other words in place of the one at the caret. */
  others() {
    const word = wordAt(field.value, field.selectionStart);
    if (word) this.#offer(field.value.slice(0, word.start), word);
    else this.close();
  }

  /** Whether the translation may have several lines, as messages of programs have. */
  get #hasLines() {
    return this.#segment.source.includes("\n");
  }

  #typed() {
    this.close();
    const place = field.selectionStart;
    const text = this.#hasLines ? field.value : field.value.replace(/[\r\n]+/gu, " ");
    if (text !== field.value) {
      field.value = text;
      field.setSelectionRange(place, place);
    }
    this.#actions.typed(text);
    this.#waiting = setTimeout(() => this.#offer(field.value.slice(0, field.selectionStart), null), PAUSE);
  }

  /** Ask what can stand behind a prefix, in place of `word` or, where it is null, as the rest of the sentence. */
  async #offer(prefix, word) {
    this.close();
    this.#running = new AbortController();
    const { signal } = this.#running;
    let found;
    try {
      found = await this.#actions.completions(prefix, signal);
    } catch {
      return; // the desk says so when it translates
    }
    if (signal.aborted) return;
    const now = word && field.value.slice(word.start, word.end);
    const completions = found
      .filter(({ text }) => text.startsWith(prefix) && text.length > prefix.length && (word ? true : text !== field.value))
      .map((one) => ({ ...one, ...nextWord(one, prefix) }))
      .filter(({ text, start, end }) => !word || text.slice(start, end).trim() !== now);
    this.#offers = { prefix, word, completions };
    this.#list();
  }

  #list() {
    const { prefix, word, completions } = this.#offers;
    list.hidden = !completions.length && !word;
    if (word && !completions.length) return list.replaceChildren(make("li", { className: "note", textContent: message("nothingElse") }));
    list.replaceChildren(
      ...completions.map((one, number) => {
        const isRest = !word && number === 0;
        const text = isRest ? one.text.slice(prefix.length) : one.text.slice(one.start, one.end).trim();
        const label = make("bdi", { textContent: text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text });
        const key = isRest ? [make("kbd", { textContent: "Tab" })] : [];
        const button = make("button", { type: "button", title: one.text, className: isRest ? "rest" : "" }, label, ...key);
        button.addEventListener("click", () => this.#accept(one, isRest));
        return make("li", {}, button);
      }),
    );
  }

  /** Take a completion: all of it, but the rest that a person has written stays. */
  #accept({ text, end }, isRest) {
    const { word } = this.#offers;
    const tail = word ? field.value.slice(word.end) : "";
    const stays = tail.trim() && !this.#segment.offered.endsWith(tail);
    const taken = stays ? text.slice(0, end) + tail : text;
    this.close();
    this.#actions.accept(taken, text);
    const caret = isRest ? taken.length : end;
    this.select(caret, caret);
  }

  #pressed(event) {
    if (event.isComposing) return;
    const control = event.ctrlKey || event.metaKey;
    const rest = this.#offers && !this.#offers.word && this.#offers.completions[0];
    if (event.key === "Tab" && !event.shiftKey && !control && !event.altKey && rest) this.#accept(rest, true);
    else if (event.key === "Escape" && !list.hidden) this.close();
    else if (event.key === "Enter" && control) this.#actions.confirm();
    else if (event.key === "Enter" && !this.#hasLines) this.close();
    else if (event.altKey && event.key === "ArrowDown") this.#actions.move(1);
    else if (event.altKey && event.key === "ArrowUp") this.#actions.move(-1);
    else if (event.key === " " && event.ctrlKey) this.others();
    else return;
    event.preventDefault();
  }
}

/** Where the next word of a completion is, of which the prefix may have the beginning: {start, end}. */
function nextWord({ word, text }, prefix) {
  const begun = /\S*$/u.exec(prefix)[0];
  const start = prefix.length - begun.length;
  if (begun && word.startsWith(begun) && text.startsWith(word, start)) return { start, end: start + word.length };
  const place = word ? text.indexOf(word, prefix.length) : -1;
  return { start: prefix.length, end: place < 0 ? text.length : place + word.length };
}

/** The word at a place of a text: {start, end}, or null between words. */
function wordAt(text, place) {
  for (const found of text.matchAll(/\S+/gu)) {
    if (found.index <= place && place <= found.index + found[0].length) return { start: found.index, end: found.index + found[0].length };
  }
  return null;
}
