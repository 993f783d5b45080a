// Word boundaries between target segments, as text/word_boundaries.py states them.

import { codePoints } from "./code_points.js";

const SPACE_MARK = "▁";
export const LETTERS_WITHOUT_SPACES = // Thai, Lao, Myanmar, Khmer, kana and Han, as in text/scripts.py
  "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const LETTER_WITHOUT_SPACES = new RegExp(`^[${LETTERS_WITHOUT_SPACES}]`, "u");
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]/u;
const COMBINING = /^\p{M}/u;

// What a segment begins with, as far as words go on with it; LETTER is also for digits.
export const OTHER = 0;
export const LETTER = 1;
export const MARK = 2;

/**
 * {begins, ends, space}: for each of the `pieces` of a vocabulary what it begins with, and whether its last character is
 * one that a letter goes on from; and the id of the piece that is a space, or null. The first are the `specials`. null if
 * the pieces do not show where words end. `join` is that of the segmentation.
 */
export function wordBoundaries(pieces, specials, unknown, join) {
  if (!pieces.some((piece) => piece.startsWith(SPACE_MARK) || piece.endsWith(SPACE_MARK)) || join(["a", "b"]) !== "ab") return null;
  const begins = pieces.map((piece, id) => (id < specials ? OTHER : classOf(String.fromCodePoint(piece.codePointAt(0)))));
  const ends = pieces.map((piece, id) => id >= specials && classOf(codePoints(piece).at(-1)) !== OTHER);
  [begins[unknown], ends[unknown]] = [LETTER, true];
  const space = pieces.indexOf(SPACE_MARK);
  return { begins, ends, space: space < 0 ? null : space };
}

function classOf(character) {
  if (COMBINING.test(character)) return MARK;
  return LETTER_OR_DIGIT.test(character) && !LETTER_WITHOUT_SPACES.test(character) ? LETTER : OTHER;
}
