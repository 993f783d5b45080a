// Inline case marks, as text/segmentation/case_marks.py states them; places are in code points.

import { codePoints } from "./code_points.js";

const [CAPITAL, CAPITALS, ALL_CAPITALS, TITLE_CASE, LOWER_CASE, END] = "⇧⇪⟪⤊⤋⟫";
const OF_TEXT = new Map(Object.entries({ "⇧": "↑", "⇪": "↑", "⟪": "«", "⤊": "↑", "⤋": "↓", "⟫": "»", "▁": " " }));
const SEVERAL = new Map([[ALL_CAPITALS, 3], [TITLE_CASE, 4], [LOWER_CASE, 3]]);
export const MARKS = new Set([CAPITAL, CAPITALS, ...SEVERAL.keys(), END]);
const LETTERS = "[\\p{L}\\p{Nl}\\p{No}][\\p{L}\\p{Nl}\\p{No}\\u0300-\\u036f]*";
const WORD = new RegExp(LETTERS, "gu");
const MARK_OR_WORD = new RegExp(`[⇧⇪⟪⤊⤋⟫]|${LETTERS}`, "gu");

/** A line with its words in lower case, and the marks that restore them: [place, mark], ascending. */
export function markCase(line) {
  const text = line.replace(/[⇧⇪⟪⤊⤋⟫▁]/gu, (character) => OF_TEXT.get(character));
  const words = [];
  let place = 0;
  let read = 0; // in UTF-16 units, as `place` is in code points
  for (const { 0: word, index } of text.matchAll(WORD)) {
    place += codePoints(text.slice(read, index)).length;
    read = index;
    words.push({ start: place, stop: place + codePoints(word).length, ...marked(word) });
  }
  if (text === text.toLowerCase()) {
    const isLower = words.length >= SEVERAL.get(LOWER_CASE) && text !== text.toUpperCase();
    return { text, marks: isLower ? [[words[0].start, LOWER_CASE]] : [] };
  }
  const marks = [];
  for (let number = 0; number < words.length; ) {
    let mark = words[number].marks[0];
    let after = number + 1;
    for (const all of [ALL_CAPITALS, TITLE_CASE]) {
      let stop = number;
      while (stop < words.length && words[stop].marks.includes(all)) stop++;
      if (stop - number >= SEVERAL.get(all)) {
        mark = all;
        after = stop;
        break;
      }
    }
    if (mark) marks.push([words[number].start, mark]);
    if (SEVERAL.has(mark)) marks.push([words[after - 1].stop, END]);
    number = after;
  }
  let next = 0;
  return { text: text.replace(WORD, () => words[next++].lower), marks };
}

/** The text with its words written as the marks before them say, and without marks. */
export function restoreCase(text) {
  let mark = "";
  let several = "";
  return text.replace(MARK_OR_WORD, (found) => {
    if (SEVERAL.has(found) || found === END) several = found;
    else if (MARKS.has(found)) mark = found;
    else {
      const word = restored(found, several, mark);
      mark = "";
      return word;
    }
    return "";
  });
}

function restored(word, several, mark) {
  if (several === LOWER_CASE) return lowered(word);
  if (several === ALL_CAPITALS || mark === CAPITALS) return word.toUpperCase();
  return several === TITLE_CASE || mark ? capitalised(word) : word;
}

/** A word in lower case, and the marks that restore it: alone, then among several words. */
function marked(word) {
  const lower = lowered(word);
  if (lower === word) return { lower, marks: [] };
  if (capitalised(lower) === word) {
    return { lower, marks: [CAPITAL, TITLE_CASE, ...(codePoints(word).length === 1 ? [ALL_CAPITALS] : [])] };
  }
  return upper(lower) === word ? { lower, marks: [CAPITALS, ALL_CAPITALS] } : { lower: word, marks: [] };
}

function capitalised(word) {
  const [first, ...rest] = codePoints(word);
  return upper(first) + rest.join("");
}

function lowered(word) {
  return mapped(word, (one) => (restores(one) ? one.toLowerCase() : one));
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
