// Text as Python sees it: characters are Unicode code points, and white space is what str.isspace() names.
//
// Spans are [start, end) in code points. JavaScript counts UTF-16 units, so lines are split with `codePoints` before
// anything is counted.

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const IS_SPACE = new RegExp(`^[${SPACE}]$`, "u");
const SPACES_AT_ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const SPACES = new RegExp(`[${SPACE}]+`, "gu");
const SPACES_APART = new RegExp(`[${SPACE}]`, "gu");
// Neither white space nor a control character, nor one of zero width; as in text/raw_lines.py.
const VISIBLE = new RegExp(
  `[^${SPACE}\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]`,
  "u",
);
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]/gu; // with the flag u, surrogates without a partner
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u;

/** The code points of a text, a string each. */
export function codePoints(text) {
  return Array.from(text);
}

export function isSpace(character) {
  return IS_SPACE.test(character);
}

/** Whether a line has nothing but spaces of any kind and characters that are not visible. */
export function isBlank(line) {
  return !VISIBLE.test(line);
}

/**
 * The line with a space for each control character and U+FFFD for half a surrogate pair; "" for a blank line. It has as
 * many code points. As `printable` in text/segmentation/base.py.
 */
export function printable(line) {
  if (isBlank(line)) return "";
  return line.replace(UNPRINTABLE, (found) => (found >= "\ud800" ? "\ufffd" : " "));
}

/** A text as one line with as many code points, so that spans stay as they are. */
export function oneLine(text) {
  return text.replace(SPACES_APART, " ");
}

export function stripped(text) {
  return text.replace(SPACES_AT_ENDS, "");
}

export function withoutSpaces(text) {
  return text.replace(SPACES, "");
}

/** The lines of a text, joined by spaces. */
export function linesJoined(text) {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines.join(" ");
}

/** The words of a raw line, which spaces and tabs separate, as spans; as `raw_words` in text/words.py. */
export function rawWords(line) {
  return runs(codePoints(line), (character) => character !== " " && character !== "\t");
}

/** The spans of the longest runs of characters that `belongs` accepts. */
export function runs(characters, belongs) {
  const spans = [];
  let start = -1;
  characters.forEach((character, place) => {
    if (!belongs(character)) {
      if (start >= 0) spans.push([start, place]);
      start = -1;
    } else if (start < 0) start = place;
  });
  if (start >= 0) spans.push([start, characters.length]);
  return spans;
}

/** The spans of the matches of a pattern. */
export function matches(pattern, line) {
  const places = new Map(); // of UTF-16 units in code points
  let unit = 0;
  codePoints(line).forEach((character, place) => {
    places.set(unit, place);
    unit += character.length;
  });
  places.set(unit, places.size);
  return [...line.matchAll(pattern)].map((match) => [places.get(match.index), places.get(match.index + match[0].length)]);
}
