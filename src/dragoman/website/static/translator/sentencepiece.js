// SentencePiece models, BPE and unigram (Kudo and Richardson 2018): from lines to pieces and back.
//
// The results are those of the library sentencepiece, whose sums are in float32; Math.fround stands where it rounds.

import { codePoints } from "./code_points.js";
import { BPE, BYTE, CONTROL, NORMAL, readModel, UNIGRAM, UNKNOWN, UNUSED, USER_DEFINED } from "./sentencepiece_model.js";
import { Normaliser } from "./sentencepiece_normaliser.js";

const SPACE_MARK = "▁";
const UNKNOWN_PENALTY = 10;
const utf8 = { encoder: new TextEncoder(), strict: new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }) };

export class SentencePiece {
  #model;
  #reserved = new Map(); // text -> piece: unknown, control and byte pieces
  #known = new Map(); // text -> piece: all others
  #longest = 1; // characters of the longest known piece
  #userDefined = new Map(); // first character -> symbols that are never split, longest first
  #normaliser;
  #denormaliser = null;
  #lowest = Infinity;
  #highest = -Infinity;

  /** `bytes`: the model file. */
  constructor(bytes) {
    this.#model = readModel(bytes);
    if (this.#model.kind !== BPE && this.#model.kind !== UNIGRAM) {
      throw new Error("the SentencePiece model is neither of type bpe nor of type unigram");
    }
    for (const piece of this.#model.pieces) this.#add(piece);
    const { normaliser, denormaliser, spaceIsSuffix } = this.#model;
    this.#normaliser = new Normaliser(normaliser, spaceIsSuffix, (line, place) => this.#userDefinedAt(line, place));
    if (denormaliser.rules.length) this.#denormaliser = new Normaliser(denormaliser, false, () => 0);
  }

  #add(piece) {
    const reserved = [UNKNOWN, CONTROL, BYTE].includes(piece.type);
    (reserved ? this.#reserved : this.#known).set(piece.text, piece);
    const characters = codePoints(piece.text);
    if (!reserved) this.#longest = Math.max(this.#longest, characters.length);
    if (piece.type === USER_DEFINED) {
      const symbols = this.#userDefined.get(characters[0]) ?? [];
      symbols.push(characters);
      symbols.sort((a, b) => b.length - a.length);
      this.#userDefined.set(characters[0], symbols);
    }
    if (piece.type === NORMAL) {
      this.#lowest = Math.min(this.#lowest, piece.score);
      this.#highest = Math.max(this.#highest, piece.score);
    }
  }

  /** The number of characters of the longest symbol at a place of the line that is never split; 0 for none. */
  #userDefinedAt(line, place) {
    const symbols = this.#userDefined.get(line[place]) ?? [];
    return symbols.find((symbol) => symbol.every((character, at) => line[place + at] === character))?.length ?? 0;
  }

  /** The pieces of a line and their spans; a run of unknown characters is one piece. */
  encode(line) {
    const { characters, origins } = this.#normaliser.normalise(codePoints(line));
    const cuts = this.#model.kind === BPE ? this.#cutBpe(characters) : this.#cutUnigram(characters);
    const pieces = [];
    const offsets = [];
    let afterUnknown = false;
    for (let index = 0; index + 1 < cuts.length; index++) {
      const text = characters.slice(cuts[index], cuts[index + 1]).join("");
      const span = [origins[cuts[index]], origins[cuts[index + 1]]];
      const unknown = this.#isUnknown(text);
      if (unknown && this.#model.byteFallback) {
        const bytes = utf8.encoder.encode(text);
        bytes.forEach((byte, at) => {
          pieces.push(bytePiece(byte));
          offsets.push(at + 1 < bytes.length ? [span[0], span[0]] : span); // the last byte has the whole span
        });
      } else if (unknown && afterUnknown) {
        pieces[pieces.length - 1] += text;
        offsets.at(-1)[1] = span[1];
      } else {
        pieces.push(text);
        offsets.push(span);
      }
      afterUnknown = unknown;
    }
    return { pieces, offsets };
  }

  #isUnknown(text) {
    const piece = this.#reserved.get(text) ?? this.#known.get(text);
    return piece === undefined || piece.type === UNKNOWN;
  }

  /** The places between the pieces of BPE, both ends included. */
  #cutBpe(characters) {
    const ends = []; // symbol -> its end; a symbol is named by its start
    const before = [];
    const frozen = new Set();
    const merged = new Map(); // unused piece -> the length of its left part
    let last = -1;
    for (let start = 0; start < characters.length; ) {
      const kept = this.#userDefinedAt(characters, start);
      if (kept) frozen.add(start);
      ends[start] = start + (kept || 1);
      before[start] = last;
      last = start;
      start = ends[start];
    }
    const agenda = new Heap((one, other) => one.score > other.score || (one.score === other.score && one.left < other.left));
    const propose = (left, right) => {
      if (left < 0 || right >= characters.length || frozen.has(left) || frozen.has(right)) return;
      const text = characters.slice(left, ends[right]).join("");
      const piece = this.#known.get(text);
      if (!piece) return;
      agenda.push({ left, right, end: ends[right], score: piece.score });
      if (piece.type === UNUSED) merged.set(text, right - left);
    };
    for (let left = 0; left < characters.length; left = ends[left]) propose(left, ends[left]);
    while (agenda.size) {
      const { left, right, end } = agenda.pop();
      if (ends[left] !== right || ends[right] !== end) continue; // one of the two has been merged since
      ends[left] = end;
      ends[right] = -1;
      if (end < characters.length) before[end] = left;
      propose(before[left], left);
      propose(left, end);
    }
    const cuts = [];
    const divide = (start, end) => {
      const text = characters.slice(start, end).join("");
      const left = this.#known.get(text)?.type === UNUSED ? merged.get(text) : undefined;
      if (left === undefined) return cuts.push(start);
      divide(start, start + left);
      return divide(start + left, end);
    };
    for (let start = 0; start < characters.length; start = ends[start]) divide(start, ends[start]);
    return [...cuts, characters.length];
  }

  /** The places between the pieces of the most probable segmentation, both ends included (Viterbi). */
  #cutUnigram(characters) {
    const size = characters.length;
    const unknownScore = Math.fround(this.#lowest - UNKNOWN_PENALTY);
    const best = new Float32Array(size + 1);
    const starts = new Int32Array(size + 1).fill(-1);
    const offer = (start, end, score) => {
      const total = Math.fround(score + best[start]);
      if (starts[end] >= 0 && total <= best[end]) return;
      best[end] = total;
      starts[end] = start;
    };
    for (let start = 0; start < size; start++) {
      let single = false;
      let text = "";
      for (let end = start + 1; end <= Math.min(size, start + this.#longest); end++) {
        text += characters[end - 1];
        const piece = this.#known.get(text);
        if (!piece || piece.type === UNUSED) continue;
        offer(start, end, piece.type === USER_DEFINED ? Math.fround((end - start) * this.#highest - 0.1) : piece.score);
        single ||= end === start + 1;
      }
      if (!single) offer(start, start + 1, unknownScore);
    }
    const cuts = [];
    for (let end = size; end > 0; end = starts[end]) cuts.push(end);
    return [0, ...cuts.reverse()];
  }

  /** The text of pieces. */
  decode(pieces) {
    let text = "";
    let bytes = [];
    let atStart = true;
    let sawMark = false;
    const flush = () => {
      text += textOfBytes(bytes);
      bytes = [];
    };
    for (const piece of pieces) {
      const type = this.#reserved.get(piece)?.type;
      if (type === BYTE) {
        bytes.push(parseInt(piece.slice(3, -1), 16));
        continue;
      }
      flush();
      if (sawMark || text) atStart = false;
      const decoded = this.#decodePiece(piece, type, atStart);
      text += decoded.text;
      sawMark = decoded.sawMark;
    }
    flush();
    return this.#denormaliser ? this.#denormaliser.normalise(codePoints(text)).characters.join("") : text;
  }

  #decodePiece(piece, type, atStart) {
    if (type === CONTROL) return { text: "", sawMark: false };
    if (type === UNKNOWN) return { text: this.#model.unknownSurface, sawMark: false };
    if (!this.#known.has(piece)) return { text: piece, sawMark: false };
    const { addDummyPrefix, removeExtraSpaces } = this.#model.normaliser;
    const marked = atStart && (addDummyPrefix || removeExtraSpaces) && piece.startsWith(SPACE_MARK);
    return {
      text: (marked ? piece.slice(SPACE_MARK.length) : piece).replaceAll(SPACE_MARK, " "),
      sawMark: marked && !removeExtraSpaces,
    };
  }
}

function bytePiece(byte) {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** The text of UTF-8 bytes, with U+FFFD for each that belongs to no character. */
function textOfBytes(bytes) {
  let text = "";
  for (let place = 0; place < bytes.length; ) {
    const [character, length] = characterAt(bytes, place) ?? ["\ufffd", 1];
    text += character;
    place += length;
  }
  return text;
}

function characterAt(bytes, place) {
  for (let length = 1; length <= Math.min(4, bytes.length - place); length++) {
    try {
      return [utf8.strict.decode(Uint8Array.from(bytes.slice(place, place + length))), length];
    } catch {
      // not a whole character yet
    }
  }
  return null;
}

/** A binary heap; `first(a, b)` is whether a comes before b. */
class Heap {
  #items = [];
  #first;

  constructor(first) {
    this.#first = first;
  }

  get size() {
    return this.#items.length;
  }

  push(item) {
    const items = this.#items;
    let place = items.push(item) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#first(items[place], items[parent])) break;
      [items[place], items[parent]] = [items[parent], items[place]];
      place = parent;
    }
  }

  pop() {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (!items.length) return top;
    items[0] = last;
    for (let place = 0; ; ) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      let best = place;
      if (left < items.length && this.#first(items[left], items[best])) best = left;
      if (right < items.length && this.#first(items[right], items[best])) best = right;
      if (best === place) return top;
      [items[place], items[best]] = [items[best], items[place]];
      place = best;
    }
  }
}
