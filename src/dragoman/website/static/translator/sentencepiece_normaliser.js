// Normalisation of SentencePiece: replacement rules, superfluous spaces, and the mark of a space.

const SPACE_MARK = "▁";
const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { ignoreBOM: true });

export class Normaliser {
  #spec;
  #rules;
  #kept;
  #markAtEnd;

  /**
   * `spec` is that of sentencepiece_model.js; `kept(characters, place)` is the length of the symbol at a place that rules
   * do not touch, 0 for none.
   */
  constructor(spec, spaceIsSuffix, kept) {
    this.#spec = spec;
    this.#rules = spec.rules.length ? new Rules(spec.rules) : null;
    this.#kept = kept;
    this.#markAtEnd = spaceIsSuffix;
  }

  /**
   * The normalised characters of a line, given as code points, and the place in the line of each; `origins` has one entry
   * more than `characters`, the end of what was read.
   */
  normalise(line) {
    const { addDummyPrefix, removeExtraSpaces, escapeSpaces } = this.#spec;
    const space = escapeSpaces ? SPACE_MARK : " ";
    const characters = [];
    const origins = [];
    let place = 0;
    if (removeExtraSpaces) {
      for (; place < line.length; ) {
        const { replacement, length } = this.#prefix(line, place);
        if (replacement !== " ") break;
        place += length;
      }
    }
    if (place >= line.length) return { characters, origins: [0] };
    const add = (character) => {
      characters.push(character);
      origins.push(place);
    };
    if (addDummyPrefix && !this.#markAtEnd) add(space);
    let afterSpace = removeExtraSpaces;
    while (place < line.length) {
      const { replacement, length } = this.#prefix(line, place);
      const added = Array.from(afterSpace ? replacement.replace(/^ +/, "") : replacement);
      for (const character of added) add(character === " " ? space : character);
      if (added.length) afterSpace = added.at(-1) === " ";
      if (!removeExtraSpaces) afterSpace = false;
      place += length;
    }
    if (removeExtraSpaces) {
      while (characters.at(-1) === space) {
        characters.pop();
        place = origins.pop();
      }
    }
    if (addDummyPrefix && this.#markAtEnd) add(space);
    origins.push(place);
    return { characters, origins };
  }

  #prefix(line, place) {
    const kept = this.#kept(line, place);
    if (kept) return { replacement: line.slice(place, place + kept).join(""), length: kept };
    return this.#rules?.longest(line, place) ?? { replacement: line[place], length: 1 };
  }
}

/** Replacement rules: a double-array trie over UTF-8 bytes (of the library darts-clone), then the replacements. */
class Rules {
  #units;
  #replacements;

  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = view.getUint32(0, true);
    this.#units = Uint32Array.from({ length: size / 4 }, (_, index) => view.getUint32(4 + 4 * index, true));
    this.#replacements = bytes.subarray(4 + size);
  }

  /** The replacement of the longest rule that fits at a place of the line, and its length; null if none does. */
  longest(line, place) {
    let node = offsetOf(this.#units[0]);
    let found = null;
    for (let end = place; end < line.length; end++) {
      for (const byte of utf8.encode(line[end])) {
        node ^= byte;
        const unit = this.#units[node];
        if (unit === undefined || (unit & 0x800000ff) >>> 0 !== byte) return found && this.#replacement(found, place);
        node ^= offsetOf(unit);
        if ((unit >>> 8) & 1) found = { start: this.#units[node] & 0x7fffffff, end: end + 1 };
      }
    }
    return found && this.#replacement(found, place);
  }

  #replacement({ start, end }, place) {
    const stop = this.#replacements.indexOf(0, start);
    return { replacement: text.decode(this.#replacements.subarray(start, stop)), length: end - place };
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 512) >>> 6);
}
