// Inline case marks, as text/segmentation/case_marks.py states them; places are in code points.

import { codePoints } from "./code_points.js";

const [CAPITAL, CAPITALS, BEGIN, END] = "⇧⇪⟪⟫";
const MARKS = new Set([CAPITAL, CAPITALS, BEGIN, END]);
const OF_TEXT = new Map(Object.entries({ [CAPITAL]: "↑", [CAPITALS]: "↑", [BEGIN]: "«", [END]: "»", "▁": " " }));
const REGION = 3;
const LETTERS = "[\\p{L}\\p{Nl}\\p{No}][\\p{L}\\p{Nl}\\p{No}\\u0300-\\u036f]*";
const WORD = new RegExp(LETTERS, "gu");
const MARK_OR_WORD = new RegExp(`[⇧⇪⟪⟫]|${LETTERS}`, "gu");

/** A line with its words in lower case, and the marks that restore them: [place, mark], ascending. */
export function markCase(line) {
  const text = line.replace(/[⇧⇪⟪⟫▁]/gu, (character) => OF_TEXT.get(character));
  const words = [];
  let place = 0;
  let read = 0; // in UTF-16 units, as `place` is in code points
  for (const { 0: word, index } of text.matchAll(WORD)) {
    place += codePoints(text.slice(read, index)).length;
    read = index;
    words.push({ start: place, stop: place + codePoints(word).length, ...marked(word) });
  }
  const marks = [];
  for (let number = 0; number < words.length; ) {
    let after = number;
    while (after < words.length && words[after].capitals) after++;
    if (after - number >= REGION) {
      marks.push([words[number].start, BEGIN], [words[after - 1].stop, END]);
    } else {
      after = number + 1;
      if (words[number].mark) marks.push([words[number].start, words[number].mark]);
    }
    number = after;
  }
  let next = 0;
  return { text: text.replace(WORD, () => words[next++].lower), marks };
}

/** The text with its words written as the marks before them say, and without marks. */
export function restoreCase(text) {
  let mark = "";
  let region = false;
  return text.replace(MARK_OR_WORD, (found) => {
    if (MARKS.has(found)) {
      if (found === BEGIN || found === END) region = found === BEGIN;
      else mark = found;
      return "";
    }
    const [first, ...rest] = codePoints(found);
    const word = region || mark === CAPITALS ? upper(found) : mark ? upper(first) + rest.join("") : found;
    mark = "";
    return word;
  });
}

function marked(word) {
  const lower = mapped(word, (one) => (restores(one) ? one.toLowerCase() : one));
  if (lower === word) return { lower, mark: "", capitals: false };
  const [first, ...rest] = codePoints(lower);
  if (upper(first) + rest.join("") === word) return { lower, mark: CAPITAL, capitals: rest.length === 0 };
  if (upper(lower) === word) return { lower, mark: CAPITALS, capitals: true };
  return { lower: word, mark: "", capitals: false };
}

/** Whether upper case gives back the letter that lower case makes of it. */
function restores(letter) {
  const lower = letter.toLowerCase();
  return codePoints(lower).length === 1 && lower.toUpperCase() === letter;
}

function upper(word) {
  return mapped(word, (one) => (codePoints(one.toUpperCase()).length === 1 ? one.toUpperCase() : one));
}

function mapped(word, change) {
  return codePoints(word).map(change).join("");
}

/** Segments with marks among them, and back; `joined` are pieces that are a mark and a piece. */
export class CaseMarks {
  #joined;

  constructor(joined) {
    this.#joined = new Set(joined);
  }

  insert({ pieces, offsets }, marks) {
    const starts = offsets.map(([start]) => start);
    for (const [place, mark] of [...marks].reverse()) {
      let at = starts.findIndex((start) => start >= place);
      if (at < 0) at = starts.length;
      if (at < starts.length && this.#joined.has(mark + pieces[at])) {
        pieces[at] = mark + pieces[at];
      } else {
        pieces.splice(at, 0, mark);
        offsets.splice(at, 0, [place, place]);
      }
    }
    return { pieces, offsets };
  }

  /** The text of any pieces; `decode` joins pieces without marks among them to text. */
  join(pieces, decode) {
    const parts = pieces.flatMap((piece) => {
      const [first, ...rest] = codePoints(piece);
      return rest.length && MARKS.has(first) ? [first, rest.join("")] : [piece];
    });
    const text = restoreCase(decode(parts));
    return MARKS.has(parts[0]) && text.startsWith(" ") ? text.slice(1) : text;
  }
}
