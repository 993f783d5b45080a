// What a translation must contain: terms of the glossary, and items (numbers, links, tags, placeholders).

import { message } from "./messages.js";

const ITEM = new RegExp(
  [
    /(?:https?|ftps?|file|mailto):[!#-;=?-~]*[\w/#=&~%$@+*}-]|www\.[!#-;=?-~]*[\w/#=&~%$@+*}-]/, // links
    /[\w.%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}/, // addresses
    /<\/?[A-Za-z][A-Za-z0-9:_-]*(?: +[A-Za-z_:-]+=(?:"[^"<>]*"|'[^'<>]*'))* ?\/?>/, // tags
    /[$#%]?\{\{[^{}]{0,60}\}\}|[$#%]?\{[A-Za-z0-9_.:%-]{0,60}\}|(?<![A-Za-z0-9%])%(?:[0-9]+\$)?[a-zA-Z@](?![A-Za-z0-9])/, // placeholders
    /(?<![A-Za-z0-9_])[0-9](?:[0-9.,:'\u2019\u00a0\u202f-]*[0-9])(?![A-Za-z0-9_])/, // numbers of two digits or more
  ]
    .map(({ source }) => `(?:${source})`)
    .join("|"),
  "gu",
);
const NUMBER = /[0-9][0-9.,:'\u2019\u00a0\u202f-]*/gu;
const IS_NUMBER = new RegExp(`^${NUMBER.source}$`, "u");

/** The entries of a glossary, a line each: a term, a tab or "=", its translation. */
export function parseGlossary(text) {
  const entries = text.split("\n").map((line) => line.split(/\t|=/).map((part) => part.trim()));
  return entries.filter(([term, translation]) => term && translation).map(([term, translation]) => ({ term, translation }));
}

/** The entries whose terms occur in some of the texts. */
export const termsIn = (texts, glossary) => glossary.filter(({ term }) => texts.some((text) => text.search(termPattern(term)) >= 0));

/** The terms and items of a source: [{start, end, kind, text, translation?}], in their order, none within another. */
export function marksOf(source, glossary) {
  const items = [...source.matchAll(ITEM)].map((found) => mark(found, "item"));
  const terms = glossary.flatMap(({ term, translation }) =>
    [...source.matchAll(termPattern(term))].map((found) => ({ ...mark(found, "term"), translation })),
  );
  const free = [];
  for (const one of [...terms, ...items].sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (one.start >= (free.at(-1)?.end ?? 0)) free.push(one);
  }
  return free;
}

/** What of a source is missing in its translation, as texts. */
export function missingFrom(source, target, glossary) {
  const numbers = (target.match(NUMBER) ?? []).map(digitsOf); // languages separate digits in other ways
  const lower = target.toLowerCase();
  const rest = new Map(); // of each item, how often it may still be found
  const isThere = ({ kind, text, translation }) => {
    if (kind === "term") return lower.includes(translation.toLowerCase());
    if (IS_NUMBER.test(text)) return numbers.includes(digitsOf(text));
    const left = rest.get(text) ?? target.split(text).length - 1;
    rest.set(text, left - 1);
    return left > 0;
  };
  return marksOf(source, glossary)
    .filter((one) => !isThere(one))
    .map(({ kind, text, translation }) => (kind === "term" ? message("termOf", text, translation) : text));
}

const digitsOf = (number) => number.replace(/[^0-9]/gu, "");
const mark = (found, kind) => ({ start: found.index, end: found.index + found[0].length, kind, text: found[0] });

const patterns = new Map();

/** A term where it is not part of a longer word; in scripts without spaces anywhere. */
function termPattern(term) {
  if (!patterns.has(term)) {
    const edge = (letter, before) => (/[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u.test(letter) ? (before ? "(?<![\\p{L}\\p{N}])" : "(?![\\p{L}\\p{N}])") : "");
    const escaped = term.replace(/[.*+?^${}()|[\]\\/-]/gu, "\\$&");
    patterns.set(term, new RegExp(`${edge(term[0], true)}${escaped}${edge(term.at(-1), false)}`, "giu"));
  }
  return patterns.get(term);
}
