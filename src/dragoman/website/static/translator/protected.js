// Items and their placeholders, as text/items.py and text/segmentation/protected.py state them; spans are in code points.

import { codePoints, isSpace, matches } from "./code_points.js";
import { HIDDEN, LETTERS, OTHER_WORD, WordFilter, composed } from "./names.js";

export const NAMES = ["⟦1⟧", "⟦2⟧", "⟦3⟧", "⟦4⟧", "⟦5⟧", "⟦6⟧", "⟦7⟧", "⟦8⟧", "⟦9⟧"];
const PLACEHOLDERS = NAMES.map((_, number) => String.fromCodePoint(0xe001 + number));
const OWN = /[\ue001-\ue009]/gu;
const OWN_APART = /([\ue001-\ue009])/u;
const BETWEEN = /([\ue001-\ue009]) (?=([\ue001-\ue009]))/gu;
const LETTER = new RegExp(`[${LETTERS}0-9]`, "u");
const EDGE = new RegExp(`[${LETTERS}0-9_/@#]`, "u");
const SPACE = "[ \\u00a0\\u00ad\\u1680\\u2000-\\u200b\\u202f\\u205f\\u2060\\u3000\\ufeff]";
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/u;
const ALL_INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/gu;
const SPACES = new RegExp(`${SPACE}+`, "gu");
const SPACES_BEFORE = new RegExp(`^${SPACE}+`, "u");
const WORDS = new RegExp(`^[${LETTERS}](?:[${LETTERS}${HIDDEN}'\\u2019.\\-]|${SPACE})*$`, "u");
const OTHER_WORDS = new RegExp(`^${OTHER_WORD}$`, "u");
const TAG = /^(?:<|&lt;)(\/?)[A-Za-z][^<>]*(?<!\/)(?:>|&gt;)$/u;
const CONVERSION = /^%.*[a-z@]$/u;
const QUOTATION = new RegExp(
  `^(${SPACE}*)("[^"]+"|“[^“”"]+”|„[^„“”"]+[“”]|«[^«»]+»|»[^«»]+«|‘[^‘’]+’|「[^「」]+」|『[^『』]+』)${SPACE}*$`,
  "u",
);
export const NO_QUOTATION = ["", ""];
const VISIBLE = /[^\s\0-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;
const NUMBER = /^(?:[0-9]{1,3}(?:[.,'\u2019\u00a0\u2009\u202f][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?)$/u;
const MAY_BE = /[0-9/\\@#%&<{⟦\u2190-\u2bff\ue001-\ue009\u{1f000}-\u{1faff}]|www|mailto|vnd|[A-Z][+#-]|^[ \u00a0\u00ad\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]*(?:[*\u2022\u00b7\u2023\u25aa\u2013\u2014-]|\(?[A-Za-z][.)])/u;

export class Protected {
  #inner;
  #pattern;
  #separators;
  #isSource;
  #anywhere;
  #known;
  #foreignWords;
  letterlessStay;

  /** `description` is that of `protected`. */
  constructor(inner, description) {
    const { patterns, separators, known_words, foreign_words, source, anywhere, letterless_stay = true } = description;
    this.#inner = inner;
    this.#pattern = new RegExp(["[\\ue001-\\ue009]", ...NAMES, ...patterns].map((one) => `(?:${one})`).join("|"), "gu");
    this.#separators = new Map(separators.map(([mark, three, written]) => [`${mark} ${three}`, written]));
    this.#isSource = source;
    this.#anywhere = anywhere;
    this.letterlessStay = letterless_stay;
    this.#known = known_words === null ? null : new WordFilter(known_words);
    this.#foreignWords = (line) => (foreign_words && inner.foreignWords?.(line)) || [];
  }

  /** A source line, or a target line by the `items` of its source: {pieces, offsets, items, quotation}. */
  segment(line, items = []) {
    const masked = this.#isSource ? this.#mask(line) : this.#maskTarget(line, items);
    const { pieces, offsets } = this.#inner.segment(masked.text);
    const end = masked.spans.at(-1)?.[1] ?? 0;
    const startOf = (place) => masked.spans[place]?.[0] ?? end;
    return {
      pieces: pieces.map((piece) => NAMES[PLACEHOLDERS.indexOf(piece)] ?? piece),
      offsets: offsets.map(([start, stop]) => [startOf(start), stop > start ? masked.spans[stop - 1][1] : startOf(start)]),
      items: masked.items,
      quotation: masked.quotation,
    };
  }

  /** The words of a source that are read as others. */
  typingErrors(line) {
    const { text, spans } = this.#mask(line);
    const errors = this.#inner.typingErrors?.(text) ?? [];
    return errors.map(({ start, end, read_as }) => ({ start: spans[start][0], end: spans[end - 1][1], read_as }));
  }

  /** Text in which placeholders are still to be restored. */
  join(pieces) {
    return this.#inner.join(pieces.map((piece) => PLACEHOLDERS[NAMES.indexOf(piece)] ?? piece));
  }

  #mask(raw) {
    const line = this.#inner.narrow?.(raw) ?? raw;
    const characters = codePoints(line);
    const found = this.#find(line).slice(0, NAMES.length);
    const items = found.map((span) => this.#written(characters.slice(...span).join("")));
    return unquoted(masked(characters, found.map((span, number) => [span, PLACEHOLDERS[number]]), items), characters);
  }

  #maskTarget(line, items) {
    const characters = codePoints(line);
    const free = items.map(key);
    const replaced = [];
    for (const span of items.length ? this.#find(line) : []) {
      const number = free.indexOf(key(characters.slice(...span).join("")));
      if (number < 0) continue;
      free[number] = null;
      replaced.push([span, PLACEHOLDERS[number]]);
    }
    for (const [number, word] of free.entries()) {
      const span = word === null ? null : placeOfWord(line, word, replaced);
      if (span) replaced.push([span, PLACEHOLDERS[number]]);
    }
    return masked(characters, replaced.sort(([[one]], [[other]]) => one - other), []);
  }

  #find(line) {
    if (INVISIBLE.test(line)) {
      const characters = codePoints(line);
      const places = [...characters.keys()].filter((place) => !INVISIBLE.test(characters[place]));
      const spans = this.#find(places.map((place) => characters[place]).join(""));
      return spans.map(([start, end]) => [places[start], places[end - 1] + 1]);
    }
    const found = this.#anywhere || MAY_BE.test(line) ? matches(this.#pattern, line) : [];
    for (const [start, stop] of [...(this.#known?.names(line) ?? []), ...this.#foreignWords(line)]) {
      if (!found.some(([begin, end]) => start < end && begin < stop)) found.push([start, stop]);
    }
    return found.sort(([one], [other]) => one - other);
  }

  #written(item) {
    if (!this.#separators.size || !NUMBER.test(item)) return plain(item);
    return item.replace(/([^0-9])([0-9]*)/gu, (_, mark, digits) => {
      return (this.#separators.get(`${mark} ${digits.length === 3}`) ?? mark) + digits;
    });
  }
}

/**
 * The text with items in place of placeholders, and with the name of a placeholder that stands for none. Between a letter
 * and an item that would not be the same with it, or that stands `apart` in the source, there is a space; between items
 * neither of which stands apart on that side there is none, and none between a tag and what it holds where the source has
 * none.
 */
export function restored(text, items, apart = []) {
  const joined = text.replace(BETWEEN, (whole, one, other) => {
    const [before, after] = [one, other].map((placeholder) => apart[PLACEHOLDERS.indexOf(placeholder)]);
    return before && after && !before[1] && !after[0] ? one : whole;
  });
  let result = "";
  let ended = false;
  let opened = false;
  joined.split(OWN_APART).forEach((part, place) => {
    if (place % 2) {
      const number = PLACEHOLDERS.indexOf(part);
      const written = items[number] ?? NAMES[number];
      const [before, after] = apart[number] ?? [false, false];
      const tag = TAG.exec(written);
      if (tag?.[1] && !before && result.endsWith(" ")) result = result.slice(0, -1);
      opened = tag && !tag[1] && !after;
      const begins = before || EDGE.test(codePoints(written)[0]);
      ended = after || (EDGE.test(codePoints(written).at(-1)) && !CONVERSION.test(written));
      result += (begins && LETTER.test(codePoints(result).at(-1) ?? "") ? " " : "") + written;
    } else {
      const inside = opened && part.startsWith(" ") ? part.slice(1) : part;
      result += (ended && LETTER.test(codePoints(inside)[0] ?? "") ? " " : "") + inside;
    }
  });
  return result;
}

/** Whether items of a line have a space, or an end of the line, before and after them: [[before, after]]. */
export function standApart(characters, spans) {
  const isApart = (character) => character === undefined || isSpace(character);
  const isSeen = (character) => !INVISIBLE.test(character);
  return spans.map(([start, end]) => [
    isApart(characters.slice(0, start).findLast(isSeen)),
    isApart(characters.slice(end).find(isSeen)),
  ]);
}

function masked(characters, replaced, items) {
  const parts = [];
  const spans = [];
  let end = 0;
  for (const [[start, stop], placeholder] of [...replaced, [[characters.length, characters.length], ""]]) {
    parts.push(characters.slice(end, start).join("").replace(OWN, "\ufffd"), placeholder);
    for (let place = end; place < start; place++) spans.push([place, place + 1]);
    if (placeholder) spans.push([start, stop]);
    end = stop;
  }
  return { text: parts.join(""), spans, items, quotation: NO_QUOTATION };
}

/** An item with plain spaces before the mark of a list, and no invisible characters; text in normal form. */
function plain(written) {
  const item = written.replace(ALL_INVISIBLE, "");
  if (WORDS.test(item)) return composed(item).replace(SPACES, " ");
  return item.replace(SPACES_BEFORE, (spaces) => " ".repeat(spaces.length));
}

/** Where a line has a word that is an item, in either form of its letters, and outside what is replaced; else null. */
function placeOfWord(line, word, replaced) {
  if (!WORDS.test(word) && !OTHER_WORDS.test(word)) return null;
  for (const form of [word, word.normalize("NFD")]) {
    const escaped = form.replace(/[.]/gu, "\\$&");
    const found = matches(new RegExp(`(?<![${LETTERS}0-9])${escaped}(?![${LETTERS}0-9])`, "gu"), line);
    const free = found.find(([start, end]) => !replaced.some(([[begin, stop]]) => start < stop && begin < end));
    if (free) return free;
  }
  return null;
}

/** A masked line without the quotation marks around it, if they are not part of items. */
function unquoted(masked, characters) {
  const found = QUOTATION.exec(characters.join(""));
  if (!found) return masked;
  const first = codePoints(found[1]).length;
  const last = first + codePoints(found[2]).length - 1;
  const [begin, end] = [first, last].map((at) => masked.spans.findIndex(([start, stop]) => start === at && stop === at + 1));
  const text = codePoints(masked.text).slice(begin + 1, end).join("");
  if (begin < 0 || end < 0 || !VISIBLE.test(text)) return masked;
  const quotation = [characters[first], characters[last]];
  return { text, spans: masked.spans.slice(begin + 1, end), items: masked.items, quotation };
}

function key(item) {
  return NUMBER.test(item) ? item.replace(/[^0-9]/gu, "") : plain(item);
}
