// Segmentations, from raw lines to pieces with spans and back: whitespace, characters, SentencePiece.
//
// Words are missing: their rules are those of sacremoses.

import { codePoints, isSpace, printable, runs, stripped } from "./code_points.js";
import { SentencePiece } from "./sentencepiece.js";

const SPACE_MARK = "▁";

class Whitespace {
  segment(line) {
    const characters = codePoints(printable(line));
    const offsets = runs(characters, (character) => character !== " ");
    return { pieces: offsets.map((span) => characters.slice(...span).join("")), offsets };
  }

  join(pieces) {
    return pieces.join(" ");
  }
}

class Characters {
  segment(line) {
    const characters = codePoints(printable(line));
    const first = characters.findIndex((character) => !isSpace(character));
    const last = characters.findLastIndex((character) => !isSpace(character));
    const pieces = first < 0 ? [] : characters.slice(first, last + 1);
    return {
      pieces: pieces.map((character) => (character === " " ? SPACE_MARK : character)),
      offsets: pieces.map((_, at) => [first + at, first + at + 1]),
    };
  }

  join(pieces) {
    return stripped(pieces.join("").replaceAll(SPACE_MARK, " "));
  }
}

class Subwords {
  #model;

  constructor(bytes) {
    this.#model = new SentencePiece(bytes);
  }

  segment(line) {
    const text = printable(line);
    const { pieces, offsets } = this.#model.encode(text);
    const characters = codePoints(text);
    // A piece of SentencePiece includes the space before the word; a span covers the word only.
    for (const span of offsets) {
      while (span[0] < span[1] && characters[span[0]] === " ") span[0]++;
    }
    return { pieces, offsets };
  }

  join(pieces) {
    return this.#model.decode(pieces);
  }
}

/** `description` is SIDE.segmentation.json; `model` the bytes of SIDE.model, for SentencePiece only. */
export function openSegmentation(description, model) {
  if (description.kind === "whitespace") return new Whitespace();
  if (description.kind === "characters") return new Characters();
  if (description.kind === "sentencepiece") return new Subwords(model);
  throw new Error(`segmentation ${description.kind} is not possible in a browser`);
}
