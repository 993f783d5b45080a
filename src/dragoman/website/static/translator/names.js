// Names that a model never saw, as text/names.py states them; spans are in code points.

import { codePoints, matches } from "./code_points.js";

export const LETTERS =
  "A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02af\\u0370-\\u0373\\u0376-\\u058f\\u1e00-\\u1fff\\u0300-\\u036f";
export const HIDDEN = "\\u00ad\\u200b-\\u200d\\u2060\\ufeff";
const OTHER_LETTERS =
  "\\u0590-\\u1cff\\u2d00-\\u2ddf\\u3005-\\u3007\\u3040-\\u31ff\\u3400-\\u9fff\\ua000-\\ua63f\\ua800-\\uab2f" +
  "\\uab70-\\ud7ff\\uf900-\\ufaff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\uff66-\\uffdc\\u{20000}-\\u{3ffff}";
export const OTHER_WORD = `[${OTHER_LETTERS}](?:[\\u200c\\u200d]?[${OTHER_LETTERS}])*`; // not of a European script
const WORD = new RegExp(`[${LETTERS}][${LETTERS}${HIDDEN}]*`, "gu");
const INVISIBLE = new RegExp(`[${HIDDEN}]`, "gu");
const BEGINNING = /(?:^|[.!?:\u2026])[^A-Za-z0-9\u00c0-\u1fff\u3040-\ufefe\uff00-\uffff]*$/u;
const WITHOUT_CASE = /[\u0590-\u109f\u1100-\u1c7f\u3040-\ua63f\ua960-\uab2f\uac00-\ufaff]/u;
export const TITLE = /(?:^|[^A-Za-z0-9\u00c0-\u1fff])((?:Prof|[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]{1,3})\.[ \u00a0\u2000-\u200a\u202f\u3000]?)$/u;
const BEFORE = 20; // characters before a word that are looked at
const SHORTEST = 3;
const MOST = 0.7; // share of the words inside a line that may have a capital
const HASHES = 7;
const SEEDS = [0x811c9dc5, 0x01000193];
const utf8 = new TextEncoder();

export class WordFilter {
  #bits;

  /** `text` is the filter in base 64. */
  constructor(text) {
    this.#bits = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  }

  /** The spans of the words of a line that are names of which the sources had none. */
  names(line) {
    const characters = codePoints(line);
    const names = candidates(line, characters).filter((span) => !this.#has(plain(characters.slice(...span).join(""))));
    return names.map(([start, end]) => [start - this.#titleLength(characters, start), end]);
  }

  /** The length of the title before a name, if the sources never had that either. */
  #titleLength(characters, start) {
    const title = TITLE.exec(before(characters, start))?.[1] ?? "";
    return this.#has(plain(title.split(".")[0])) ? 0 : title.length;
  }

  #has(word) {
    const size = 8 * this.#bits.length;
    const [first, second] = SEEDS.map((seed) => hash(word, seed));
    for (let number = 0; number < HASHES; number++) {
      const place = (first + number * ((second | 1) >>> 0)) % size;
      if (!((this.#bits[Math.floor(place / 8)] >> (place % 8)) & 1)) return false;
    }
    return true;
  }
}

function candidates(line, characters) {
  const withCase = !WITHOUT_CASE.test(line);
  const inside = matches(WORD, line).filter(([start]) => {
    return !withCase || !BEGINNING.test(before(characters, start)) || TITLE.test(before(characters, start));
  });
  const capitals = inside.filter((span) => {
    const word = characters.slice(...span).join("");
    return word !== word.toLowerCase();
  });
  if (withCase && inside.length >= SHORTEST && capitals.length > MOST * inside.length) return [];
  return capitals.filter((span) => codePoints(composed(characters.slice(...span).join(""))).length >= SHORTEST);
}

function before(characters, start) {
  return characters.slice(Math.max(0, start - BEFORE), start).join("");
}

/** A word in normal form. */
export function composed(word) {
  return word.replace(INVISIBLE, "").normalize("NFC");
}

function plain(word) {
  return composed(word).toLowerCase();
}

function hash(word, seed) {
  return utf8.encode(word).reduce((value, byte) => Math.imul(value ^ byte, 0x01000193) >>> 0, seed);
}
