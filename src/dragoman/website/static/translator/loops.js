// Loops in translations, as text/loops.py defines them.

import { codePoints, withoutSpaces } from "./code_points.js";
import { LETTERS_WITHOUT_SPACES } from "./word_boundaries.js";

const TIMES = 3; // repetitions from which on a span is a loop
const LONG = 12; // characters of a repetition of one character, and of one inside a word, from which on it counts
const WORDS = new RegExp(
  `\\p{Nd}+(?:[.,:]\\p{Nd}+)+|[${LETTERS_WITHOUT_SPACES}]|(?:(?![${LETTERS_WITHOUT_SPACES}])[\\p{L}\\p{N}])+`,
  "gu",
);

/** Whether a translation repeats a span three times or more, and more often than its source repeats any. */
export function hasLoop(source, translation) {
  const times = repetitions(translation, LONG);
  return times >= TIMES && times > repetitions(source, 0);
}

/** The largest number of times that a span is repeated; 1 for none. */
function repetitions(text, long) {
  const plain = text.replace(/\p{M}/gu, "").toLowerCase().replaceAll("...", "…");
  const words = (plain.match(WORDS) ?? []).map((word) => word.replace(/[.,:]/g, ""));
  const runs = [...words, ...plain.split(WORDS).map(withoutSpaces)].map(codePoints);
  return runs
    .filter((run) => run.length >= Math.max(long, 2))
    .reduce((most, run) => Math.max(most, mostOf(run, long, true)), mostOf(words, long, false));
}

/** The largest number of times that a span of units (words, or the characters of a run) stands in direct succession. */
function mostOf(units, long, characters) {
  let most = 1;
  for (let length = 1; length * (most + 1) <= units.length; length++) {
    for (let place = 0; place + length < units.length; ) {
      let start = place;
      let end = place + length;
      if (units[start] === units[end]) {
        while (start && units[start - 1] === units[start - 1 + length]) start--;
        while (end < units.length && units[end] === units[end - length]) end++;
        const inside = characters || (length === 1 && codePoints(units[start]).length === 1);
        if (end - start >= long || !inside) most = Math.max(most, Math.floor((end - start) / length));
      }
      place += length * Math.max(Math.floor((end - place) / length), 1);
    }
  }
  return most;
}
