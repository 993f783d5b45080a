// One language side of a model: its segmentation and vocabulary, from raw line to ids and back.

import { NAMES, NO_QUOTATION, restored } from "./protected.js";
import { openSegmentation } from "./segmentation.js";
import { wordBoundaries } from "./word_boundaries.js";

export const PAD = 0;
export const UNK = 1;
export const BOS = 2;
export const EOS = 3;
const SPECIALS = ["<pad>", "<unk>", "<s>", "</s>"];

export class TextSide {
  #segmentation;
  #pieces;
  #ids;
  #surfaces = new Map();
  #boundaries;

  /** `vocabulary` is the text of SIDE.vocabulary; the others are those of `openSegmentation`. */
  constructor(description, model, vocabulary) {
    this.#segmentation = openSegmentation(description, model);
    this.#pieces = vocabulary.split("\n").slice(1, -1); // a first line with the format, and a line end at the end
    this.#ids = new Map(this.#pieces.map((piece, id) => [piece, id]));
    for (const special of SPECIALS) this.#ids.delete(special); // text never contains EOS
  }

  get size() {
    return this.#pieces.length;
  }

  /** All segments besides the special symbols. */
  get allPieces() {
    return this.#pieces.slice(SPECIALS.length);
  }

  /** The segments of a raw line, a target by the items of its source: {ids, pieces, offsets, items, quotation}, no EOS. */
  encode(line, sourceItems = []) {
    const { pieces, offsets, items = [], quotation = NO_QUOTATION } = this.#segmentation.segment(line, sourceItems);
    return { ids: pieces.map((piece) => this.#ids.get(piece) ?? UNK), pieces, offsets, items, quotation };
  }

  /** The words of a source that are read as others: [{start, end, read_as}]. */
  typingErrors(line) {
    return this.#segmentation.typingErrors?.(line) ?? [];
  }

  /** Whether a source without a letter is its own translation. */
  get letterlessStay() {
    return this.#segmentation.letterlessStay ?? false;
  }

  /** The ids of the placeholders of items; empty where the model has none. */
  get placeholders() {
    return NAMES.map((name) => this.#ids.get(name)).filter((id) => id !== undefined);
  }

  pieces(ids) {
    return ids.map((id) => this.#pieces[id]);
  }

  /** Text of pieces, with `items` in place of placeholders, which stand `apart` as in the source. */
  join(pieces, items = [], apart = []) {
    return restored(this.#segmentation.join(pieces), items, apart);
  }

  /** Where words end between segments; see word_boundaries.js. */
  get wordBoundaries() {
    if (this.#boundaries === undefined) {
      this.#boundaries = wordBoundaries(this.#pieces, SPECIALS.length, UNK, (pieces) => this.join(pieces));
    }
    return this.#boundaries;
  }

  /** A segment joined on its own. */
  surface(id) {
    if (!this.#surfaces.has(id)) this.#surfaces.set(id, this.join(this.pieces([id])));
    return this.#surfaces.get(id);
  }
}
