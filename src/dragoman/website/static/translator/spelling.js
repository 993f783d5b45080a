// Typing errors: words that are read as others, as text/spelling.py states it; spans are in code points.

import { codePoints, matches } from "./code_points.js";
import { LETTERS } from "./names.js";

const WORD = new RegExp(`(?<![${LETTERS}0-9_'\u2019])[${LETTERS}]{3,30}(?![${LETTERS}0-9_'\u2019])`, "gu");
const LONG = 7; // letters of a word that may have a letter too many, or another in its place

export class Spelling {
  #ranks;
  #repeated;
  #frequent;
  #letters;
  #withDiacritics = new Map();

  /** `words` in lower case with spaces between them, the most frequent first. */
  constructor({ words, repeated, frequent }) {
    const list = words.split(" ");
    this.#ranks = new Map(list.map((word, rank) => [word, rank]));
    this.#repeated = repeated;
    this.#frequent = frequent;
    this.#letters = [...new Set(codePoints(list.slice(0, frequent).join("")))];
    for (const word of list.slice(0, repeated)) {
      const plain = bare(word);
      if (plain !== word && !this.#withDiacritics.has(plain)) this.#withDiacritics.set(plain, word);
    }
  }

  /** The words of a line in normal form that are read as others: [{start, end, read_as}]. */
  errors(line) {
    const characters = codePoints(line);
    const unknown = matches(WORD, line)
      .map(([start, end]) => ({ start, end, word: characters.slice(start, end).join("") }))
      .filter(({ word }) => !this.#ranks.has(word.toLowerCase()));
    const errors = unknown.flatMap(({ start, end, word }) => {
      const read_as = this.#cased(word, word.toLowerCase());
      return read_as ? [{ start, end, read_as }] : [];
    });
    return 2 * errors.length > unknown.length ? errors : [];
  }

  #cased(word, lower) {
    if (codePoints(lower).length !== codePoints(word).length) return null;
    const found = this.#nearest(codePoints(lower));
    if (found === null || word === lower) return found;
    if (word === word.toUpperCase()) return found.toUpperCase();
    const [first, ...rest] = codePoints(found);
    return word === codePoints(word)[0] + codePoints(lower).slice(1).join("") ? first.toUpperCase() + rest.join("") : null;
  }

  #nearest(letters) {
    return this.#best(this.#certain(letters), this.#repeated) ?? this.#best(this.#uncertain(letters), this.#frequent);
  }

  /** The most frequent of some words, if it is one of the first `count`. */
  #best(words, count) {
    let best = null;
    let lowest = count;
    for (const word of words) {
      const rank = this.#ranks.get(word) ?? count;
      if (rank < lowest) [best, lowest] = [word, rank];
    }
    return best;
  }

  *#certain(letters) {
    const bareWord = this.#withDiacritics.get(letters.join(""));
    if (bareWord !== undefined) yield bareWord;
    for (let at = 1; at < letters.length; at++) {
      const [one, other] = [letters[at - 1], letters[at]];
      const [before, after] = [letters.slice(0, at - 1), letters.slice(at + 1)];
      if (one === other) yield joined(before, one, after);
      else if (at > 1) yield joined(before, other, one, after);
    }
  }

  *#uncertain(letters) {
    for (let at = 1; at < letters.length; at++) {
      const [before, after, further] = [letters.slice(0, at), letters.slice(at), letters.slice(at + 1)];
      for (const letter of this.#letters) yield joined(before, letter, after);
      if (letters.length < LONG || !further.length) continue;
      yield joined(before, further);
      for (const letter of this.#letters) yield joined(before, letter, further);
    }
  }
}

function joined(...parts) {
  return parts.flat().join("");
}

function bare(word) {
  return word.normalize("NFD").replace(/\p{M}/gu, "");
}
