// One form for text that means the same letters, as text/segmentation/normal_form.py states it; spans are in code points.

import { codePoints, matches } from "./code_points.js";
import { OTHER_WORD } from "./names.js";
import { Spelling } from "./spelling.js";

const SPACES = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";
const HIDDEN = "\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u2069\\ufeff";
const SPACE = new RegExp(`[${SPACES}]`, "u");
const UNUSUAL = new RegExp(`[${SPACES}${HIDDEN}\\u200c\\u200d]`, "u");
const JOINER = /[\u200c\u200d]/u;
const UNSEEN = new RegExp(`[${HIDDEN}\\u200c\\u200d]`, "u");
const MAY_NEED_JOINERS = /[\p{L}\p{M}\p{S}]/u;
const EUROPEAN = 0x590;
const LETTERS = "A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02af\\u0370-\\u0373\\u0376-\\u058f\\u1e00-\\u1fff";
const EUROPEAN_WORD = new RegExp(`[${LETTERS}](?:['\\u2019-]?[${LETTERS}\\u0300-\\u036f])*`, "gu");
const FOREIGN_LETTER = new RegExp(`(?![A-Za-z])[${LETTERS}]`, "gu");
const OTHER_LETTER = new RegExp(OTHER_WORD, "u");
const OTHER_WORDS = new RegExp(OTHER_WORD, "gu");
const ALIKE = ["\"“”„‟«»″", "'’‘‚‛‹›′`´", "-–—‐‑‒―−", "•·‣▪", "~〜～"].map(codePoints);

export class NormalForm {
  #known;
  #isEuropean;
  #spelling;
  #replacements = new Map();

  /** `known` are the characters of the training sources; null for targets. `spelling` is its description, if it has one. */
  constructor(known, spelling) {
    this.#known = known === null ? null : new Set(codePoints(known));
    this.#isEuropean = known !== null && !OTHER_LETTER.test(known);
    this.#spelling = spelling && new Spelling(spelling);
  }

  /** The words of a line that are read as others: [start, end) in the raw line, `read_as`. */
  typingErrors(line) {
    const { text, spans } = this.#characters(line);
    const errors = this.#spelling?.errors(text) ?? [];
    return errors.map(({ start, end, read_as }) => ({ start: spans[start][0], end: spans[end - 1][1], read_as }));
  }

  /** A line in normal form, and the span in the raw line of each of its characters: {text, spans}. */
  apply(line) {
    const formed = this.#characters(line);
    const errors = this.#spelling?.errors(formed.text) ?? [];
    if (!errors.length) return formed;
    const characters = codePoints(formed.text);
    let text = "";
    const spans = [];
    let end = 0;
    const take = (stop) => {
      text += characters.slice(end, stop).join("");
      spans.push(...formed.spans.slice(end, stop));
    };
    for (const error of errors) {
      take(error.start);
      text += error.read_as;
      const span = [formed.spans[error.start][0], formed.spans[error.end - 1][1]];
      for (const _ of codePoints(error.read_as)) spans.push(span);
      end = error.end;
    }
    take(characters.length);
    return { text, spans };
  }

  #characters(line) {
    const raw = codePoints(line);
    if (this.#isNormal(line, raw)) return { text: line, spans: raw.map((_, place) => [place, place + 1]) };
    const places = visible(raw);
    const characters = places.map((place) => raw[place]);
    const spans = [];
    let text = "";
    for (const [start, stop, composed] of clusters(characters)) {
      const written = this.#known ? this.#written(composed) : composed;
      text += written;
      const span = [places[start], places[stop - 1] + 1];
      for (const _ of codePoints(written)) spans.push(span);
    }
    return { text, spans };
  }

  /** A line of as many characters, in which those in full width and digits that the training sources never had are of ASCII. */
  narrow(line) {
    if (!this.#known || !/[^\0-\x7f]/u.test(line)) return line;
    return codePoints(line).map((one) => (this.#known.has(one) ? one : narrowed(one))).join("");
  }

  /** The spans of words with letters that the training sources never had; see foreign_words in normal_form.py. */
  foreignWords(line) {
    if (!this.#known || !/[^\0-\x7f]/u.test(line)) return [];
    const characters = codePoints(line);
    const words = matches(EUROPEAN_WORD, line).filter((span) => this.#isForeign(characters.slice(...span).join("")));
    return this.#isEuropean ? [...words, ...matches(OTHER_WORDS, line)] : words;
  }

  #isForeign(word) {
    const letters = this.#characters(word).text.match(FOREIGN_LETTER) ?? [];
    return letters.some((letter) => ![letter, letter.toLowerCase(), letter.toUpperCase()].some((one) => this.#known.has(one)));
  }

  #isNormal(line, raw) {
    if (line !== line.normalize("NFC")) return false;
    return this.#known ? raw.every((character) => this.#known.has(character)) : !UNUSUAL.test(line);
  }

  #written(composed) {
    return codePoints(composed).map((character) => this.#replacement(character)).join("").normalize("NFC");
  }

  #replacement(character) {
    if (!this.#replacements.has(character)) {
      const isKnown = (each) => codePoints(each).every((one) => this.#known.has(one));
      this.#replacements.set(character, alike(character).find(isKnown) ?? character);
    }
    return this.#replacements.get(character);
  }
}

function visible(raw) {
  const places = [];
  for (let place = 0; place < raw.length; ) {
    if (!UNSEEN.test(raw[place])) {
      places.push(place++);
      continue;
    }
    const start = place;
    while (place < raw.length && UNSEEN.test(raw[place])) place++;
    let [before, behind] = [start, place];
    while (before > 0 && hasNoPlace(raw[before - 1])) before--;
    while (behind < raw.length && hasNoPlace(raw[behind])) behind++;
    const around = [...raw.slice(Math.max(before - 1, 0), start), ...raw.slice(place, behind + 1)].join("").normalize("NFKC");
    if (codePoints(around).some(mayNeedJoiners)) {
      for (let joiner = start; joiner < place; joiner++) if (JOINER.test(raw[joiner])) places.push(joiner);
    }
  }
  return places;
}

/** Marks, whose order composition changes, and characters that are removed: what counts is the letter beside them. */
function hasNoPlace(character) {
  return /\p{M}/u.test(character) || UNSEEN.test(character);
}

function mayNeedJoiners(character) {
  return character.codePointAt(0) >= EUROPEAN && MAY_NEED_JOINERS.test(character);
}

/** The start, end and composed form of the shortest parts of a line that compose alone as in the line. */
function clusters(characters) {
  const found = [];
  for (let start = 0; start < characters.length; ) {
    let stop = start + 1;
    let composed = "";
    for (;;) {
      while (stop < characters.length && /\p{M}/u.test(characters[stop])) stop++;
      const part = characters.slice(start, stop).join("");
      composed = part.normalize("NFC");
      if (stop === characters.length || characters[stop].codePointAt(0) < 0x300) break;
      if ((part + characters[stop]).normalize("NFC") === composed + characters[stop]) break;
      stop++;
    }
    found.push([start, stop, composed]);
    start = stop;
  }
  return found;
}

/** The ways to write a character, itself first. */
function alike(character) {
  const found = [character];
  if (SPACE.test(character)) found.push(" ");
  const compatible = character.normalize("NFKC");
  for (const one of [character, compatible]) {
    for (const group of ALIKE) if (group.includes(one)) found.push(...group);
    found.push(compatible);
  }
  const digit = decimal(character.codePointAt(0));
  if (digit !== null) found.push(String(digit));
  return found;
}

function narrowed(character) {
  const code = character.codePointAt(0);
  return String(decimal(code) ?? (code >= 0xff01 && code <= 0xff5e ? character.normalize("NFKC") : character));
}

/** The value of a decimal digit; null for another character. The ten digits of a script follow each other. */
function decimal(code) {
  const isDigit = (place) => /^\p{Nd}$/u.test(String.fromCodePoint(place));
  if (!isDigit(code)) return null;
  if (code >= 0x1d7ce && code <= 0x1d7ff) return (code - 0x1d7ce) % 10; // of mathematics, in five ways
  let digit = 0;
  while (digit < 9 && isDigit(code - digit - 1)) digit++;
  return digit;
}
