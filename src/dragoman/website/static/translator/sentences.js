// Sentences of running text as spans in code points, and translations put in their place.
//
// As text/sentences.py, but the browser finds the sentences of a line (Intl.Segmenter), so some are cut elsewhere. It cuts
// behind titles and inside links, which are put together again.

import { codePoints, isSpace, runs } from "./code_points.js";
import { TITLE } from "./names.js";

const MAX_CHARACTERS = 800; // the longest sentence that is not cut
const LINE_END = /[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u;
const LETTER = /\p{L}/u;
const CLAUSE_END = /[,;:，；：、]/u;
const NOT_ASCII = /[^\x00-\x7f]/u;
const NO_SPACES =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffff\u{10000}-\u{10ffff}]/u;

/** The spans of the sentences; spaces around them and what has no letter are left out. */
export function sentenceSpans(text, language) {
  const characters = codePoints(text);
  // Without what follows the language: browsers refuse some variants that a run may name, such as de-x1.
  const segmenter = new Intl.Segmenter(language.split("-")[0], { granularity: "sentence" });
  const found = [];
  for (const [start, end] of runs(characters, (character) => !LINE_END.test(character))) {
    let place = start;
    const sentences = [];
    for (const { segment } of segmenter.segment(characters.slice(start, end).join(""))) {
      const next = place + codePoints(segment).length;
      const sentence = trimmed(characters, place, next);
      if (sentences.length && goesOn(characters, sentences.at(-1), sentence)) sentences.at(-1)[1] = sentence[1];
      else sentences.push(sentence);
      place = next;
    }
    for (const sentence of sentences) found.push(...parts(characters, sentence));
  }
  return found.filter(([start, end]) => characters.slice(start, end).some((character) => LETTER.test(character)));
}

/**
 * The text with `translations` in the place of the sentences at `spans`. Where two sentences touch and their translations
 * are in a script with spaces, a space is put between them.
 */
export function replaceSentences(text, spans, translations) {
  const characters = codePoints(text);
  const result = [];
  let place = 0;
  spans.forEach(([start, end], index) => {
    let between = characters.slice(place, start).join("");
    if (!between && index && touch(translations[index - 1], translations[index])) between = " ";
    result.push(between, translations[index]);
    place = end;
  });
  return result.join("") + characters.slice(place).join("");
}

function touch(before, after) {
  const [last, first] = [codePoints(before).at(-1), codePoints(after)[0]];
  return Boolean(last && first) && ![last, first].some((one) => isSpace(one) || NO_SPACES.test(one));
}

/** Whether what the browser took for two sentences is one. */
function goesOn(characters, [start, end], [next]) {
  const [last, first] = [characters[end - 1], characters[next]];
  if (end === start || first === undefined || /[,;:)\]]/u.test(first)) return true;
  if (end === next && !NO_SPACES.test(last) && !NO_SPACES.test(first)) return true;
  return TITLE.test(characters.slice(start, end).join(""));
}

function trimmed(characters, start, end) {
  while (start < end && isSpace(characters[start])) start++;
  while (end > start && isSpace(characters[end - 1])) end--;
  return [start, end];
}

/** A sentence, in several parts if it is too long: each ends after a clause or a word. */
function parts(characters, [start, end]) {
  const found = [];
  while (end - start > MAX_CHARACTERS) {
    const cut = start + cutOf(characters.slice(start, start + MAX_CHARACTERS));
    found.push(trimmed(characters, start, cut));
    start = trimmed(characters, cut, end)[0];
  }
  return [...found, [start, end]];
}

function cutOf(window) {
  const [half, size] = [window.length / 2, window.length];
  const endsClause = (cut) => CLAUSE_END.test(window[cut - 1]) && (isSpace(window[cut]) || NOT_ASCII.test(window[cut]));
  for (let cut = size - 1; cut > half; cut--) if (endsClause(cut)) return cut;
  for (let cut = size; cut > half; cut--) if (isSpace(window[cut - 1])) return cut;
  return size;
}
