// Texts of a segment with what is marked in them: words that the model doubts, terms, items.

import { UNCERTAIN } from "./aligned_text.js";
import { marksOf } from "./desk_checks.js";
import { make } from "./dom.js";
import { message } from "./messages.js";

/** The target of a segment as strings and elements: words that the model doubts are tinted. */
export function tinted({ target, offered, units, confirmed }) {
  if (confirmed || target !== offered) return [target];
  const uncertain = units.filter(({ logProbability }) => logProbability < UNCERTAIN);
  return withSpans(target, uncertain, (unit) => {
    const element = make("span", { className: "uncertain", title: message("uncertain") });
    element.style.setProperty("--doubt-share", (1 - 2 * Math.exp(unit.logProbability)).toFixed(3));
    return element;
  });
}

/** The source of a segment as strings and elements: terms and items are marked. */
export const marked = (source, glossary) =>
  withSpans(source, marksOf(source, glossary), ({ kind, translation }) =>
    make("mark", { className: kind, title: kind === "term" ? message("term", translation) : message("item") }),
  );

/** A text of a memory in which the words that another text lacks are marked. */
export function differing(text, other) {
  const known = new Set(other.match(WORD));
  const others = [...text.matchAll(WORD)].filter(([word]) => !known.has(word));
  const spans = others.map((found) => ({ start: found.index, end: found.index + found[0].length }));
  return withSpans(text, spans, () => make("em"));
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

function withSpans(text, spans, makeElement) {
  const parts = [];
  let place = 0;
  for (const span of spans) {
    if (span.start > place) parts.push(text.slice(place, span.start));
    const element = makeElement(span);
    element.textContent = text.slice(span.start, span.end);
    parts.push(element);
    place = span.end;
  }
  if (place < text.length) parts.push(text.slice(place));
  return parts;
}
