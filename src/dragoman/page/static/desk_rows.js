// The rows of the desk: source, translation, where it comes from, what is missing; and the one that is worked on.

import { missingFrom } from "./desk_checks.js";
import { isOpen } from "./desk_project.js";
import { differing, marked, tinted } from "./desk_words.js";
import { directionOf, find, make } from "./dom.js";
import { formatted, message } from "./messages.js";

const list = find("rows");

export class Rows {
  #project;
  #facts;
  #editor;
  #actions;
  #active = -1;

  /** `actions`: open(place, caret, offers), toggle(place), matches(place), take(place, match). */
  constructor(project, facts, editor, actions) {
    [this.#project, this.#facts, this.#editor, this.#actions] = [project, facts, editor, actions];
  }

  /** Show all rows. */
  showAll() {
    list.replaceChildren(...this.#project.segments.map((_, place) => this.#row(place)));
  }

  /** Show rows that have changed. */
  show(places) {
    for (const place of places) {
      if (place === this.#active) this.#refresh();
      else list.children[place].replaceWith(this.#row(place));
    }
  }

  /** Work on a segment, with the caret at a place of its target. */
  activate(place, caret) {
    const before = this.#active;
    this.#active = place;
    if (before >= 0 && before !== place) list.children[before].replaceWith(this.#row(before));
    const row = list.children[place];
    row.ariaCurrent = "true";
    const label = message("translationOf", formatted(place + 1));
    this.#editor.open(row.querySelector(".row-target"), this.#project.segments[place], this.#facts.target, label, caret);
    this.#refresh();
    row.scrollIntoView({ block: "nearest" });
  }

  /** The active row again, around the field, so that the caret stays. */
  #refresh() {
    const segment = this.#project.segments[this.#active];
    const row = list.children[this.#active];
    this.#editor.show(segment);
    row.querySelector(".row-source").replaceChildren(...marked(segment.source, this.#facts.glossary));
    row.querySelector(".row-state").replaceWith(this.#state(this.#active));
    row.classList.toggle("confirmed", segment.confirmed);
    this.#listMatches(segment);
  }

  #listMatches(segment) {
    const matches = this.#actions.matches(this.#active);
    const section = find("matches");
    section.hidden = !matches.length;
    section.replaceChildren(
      ...matches.map((match) => {
        const score = make("span", { className: "score", textContent: formatted(match.score, { style: "percent" }) });
        const source = make("span", { className: "match-source", lang: this.#facts.source }, ...differing(match.source, segment.source));
        const target = make("span", { textContent: match.target, lang: this.#facts.target });
        const button = make("button", { type: "button", title: message("takeMatch") }, score, target, source);
        button.addEventListener("click", () => this.#actions.take(this.#active, match));
        return make("li", {}, button);
      }),
    );
  }

  #row(place) {
    const segment = this.#project.segments[place];
    const numbered = formatted(place + 1);
    const number = make("button", { type: "button", className: "number", textContent: numbered, ariaLabel: message("workOn", numbered) });
    number.addEventListener("click", () => this.#actions.open(place, 0));
    number.disabled = !isOpen(segment);
    const side = (name, lang, text, parts) => make("div", { className: name, lang, dir: directionOf(text) }, ...parts);
    const source = side("row-source", this.#facts.source, segment.source, marked(segment.source, this.#facts.glossary));
    const target = side("row-target", this.#facts.target, segment.target, tinted(segment));
    target.addEventListener("click", (event) => {
      if (isOpen(segment) && !target.contains(find("editor"))) this.#actions.open(place, caretAt(target, event), true);
    });
    const row = make("li", { className: "row" }, number, source, target, this.#state(place));
    row.classList.toggle("confirmed", segment.confirmed);
    row.classList.toggle("begins", place > 0 && this.#project.segments[place - 1].paragraph !== segment.paragraph);
    return row;
  }

  #state(place) {
    const segment = this.#project.segments[place];
    const { source, target, origin, confirmed, confidence, doubt } = segment;
    const state = make("div", { className: "row-state" });
    const share = confidence !== null && !confirmed && target === segment.offered ? ` ${formatted(confidence, { style: "percent" })}` : "";
    const shown = origin === "review" && confirmed ? "file" : origin;
    const from = make("span", { className: `origin ${shown}`, textContent: (shown ? message("origins")[shown] : "…") + share });
    if (doubt && share) from.title = message("doubts")[doubt];
    state.append(from);
    const missing = target && isOpen(segment) ? missingFrom(source, target, this.#facts.glossary) : [];
    if (missing.length) state.append(make("span", { className: "missing", textContent: message("missing", missing.join(", ")) }));
    if (!isOpen(segment)) return state;
    const button = make("button", { type: "button", className: "confirm", textContent: "✓", title: message("confirmKey") });
    Object.assign(button, { ariaPressed: String(confirmed), ariaLabel: message("confirmOne", formatted(place + 1)) });
    button.disabled = !target;
    button.addEventListener("click", () => this.#actions.toggle(place));
    state.append(button);
    return state;
  }
}

/** The place of a text that an event points at. */
function caretAt(element, event) {
  const { clientX: x, clientY: y } = event;
  const at = document.caretPositionFromPoint?.(x, y);
  const range = at ? null : document.caretRangeFromPoint?.(x, y);
  const [node, offset] = at ? [at.offsetNode, at.offset] : [range?.startContainer, range?.startOffset];
  if (!node || !element.contains(node)) return element.textContent.length;
  const before = document.createRange();
  before.setStart(element, 0);
  before.setEnd(node, offset);
  return before.toString().length;
}
