// Segmentations, from raw lines to pieces with spans and back: whitespace, characters, SentencePiece.
//
// Words are missing: their rules are those of sacremoses.

import { CaseMarks, markCase } from "./case_marks.js";
import { codePoints, isSpace, printable, runs, stripped } from "./code_points.js";
import { NormalForm } from "./normal_form.js";
import { Protected } from "./protected.js";
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
  #case;

  /** `joined` is the description's `case_marks`; undefined for a model of text in its own case. */
  constructor(bytes, joined) {
    this.#model = new SentencePiece(bytes);
    this.#case = joined && new CaseMarks(joined);
  }

  segment(line) {
    const text = printable(line);
    if (!this.#case) return this.#segment(text);
    const marked = markCase(text);
    return this.#case.insert(this.#segment(marked.text), marked.marks);
  }

  #segment(text) {
    const { pieces, offsets } = this.#model.encode(text);
    const characters = codePoints(text);
    // A piece of SentencePiece includes the space before the word; a span covers the word only.
    for (const span of offsets) {
      while (span[0] < span[1] && characters[span[0]] === " ") span[0]++;
    }
    return { pieces, offsets };
  }

  join(pieces) {
    if (!this.#case) return this.#model.decode(pieces);
    return this.#case.join(pieces, (parts) => this.#model.decode(parts));
  }
}

class Normalised {
  #inner;
  #form;

  /** `description` is that of `normal_form`. */
  constructor(inner, description) {
    this.#inner = inner;
    this.#form = new NormalForm(description.known, description.spelling);
  }

  segment(line) {
    const { text, spans } = this.#form.apply(line);
    const { pieces, offsets } = this.#inner.segment(text);
    const end = spans.at(-1)?.[1] ?? 0;
    const startOf = (place) => spans[place]?.[0] ?? end;
    return {
      pieces,
      offsets: offsets.map(([start, stop]) => [startOf(start), stop > start ? spans[stop - 1][1] : startOf(start)]),
    };
  }

  join(pieces) {
    return this.#inner.join(pieces);
  }

  foreignWords(line) {
    return this.#form.foreignWords(line);
  }

  narrow(line) {
    return this.#form.narrow(line);
  }

  typingErrors(line) {
    return this.#form.typingErrors(line);
  }
}

/** `description` is SIDE.segmentation.json; `model` the bytes of SIDE.model, for SentencePiece only. */
export function openSegmentation(description, model) {
  let segmentation = openInner(description, model);
  if (description.normal_form) segmentation = new Normalised(segmentation, description.normal_form);
  if (!description.protected) return segmentation;
  return new Protected(segmentation, description.protected);
}

function openInner(description, model) {
  if (description.kind === "whitespace") return new Whitespace();
  if (description.kind === "characters") return new Characters();
  if (description.kind === "sentencepiece") return new Subwords(model, description.case_marks);
  throw new Error(`segmentation ${description.kind} is not possible in a browser`);
}
