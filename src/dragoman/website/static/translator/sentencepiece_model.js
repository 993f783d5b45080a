// Reading a SentencePiece model file: the fields of its protocol buffer that encoding and decoding need.
//
// Field numbers are those of sentencepiece_model.proto.

export const UNIGRAM = 1;
export const BPE = 2;

export const NORMAL = 1;
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const UNUSED = 5;
export const BYTE = 6;

const text = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The model in `bytes`, a Uint8Array:
 *
 *   kind                   UNIGRAM or BPE; other numbers for other kinds
 *   pieces                 [{text, score, type}] in the order of their ids
 *   byteFallback           whether unknown characters become the pieces of their UTF-8 bytes
 *   spaceIsSuffix          whether the mark of a space ends the word before it
 *   unknownSurface         what the unknown piece is decoded to
 *   normaliser, denormaliser
 *                          {rules, addDummyPrefix, removeExtraSpaces, escapeSpaces}; rules is a Uint8Array, may be empty
 */
export function readModel(bytes) {
  const model = {
    kind: UNIGRAM,
    pieces: [],
    byteFallback: false,
    spaceIsSuffix: false,
    unknownSurface: " \u2047 ",
    normaliser: readNormaliser(new Uint8Array()),
    denormaliser: readNormaliser(new Uint8Array()),
  };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) model.pieces.push(readPiece(value));
    else if (field === 2) readTrainer(value, model);
    else if (field === 3) model.normaliser = readNormaliser(value);
    else if (field === 5) model.denormaliser = readNormaliser(value);
  }
  return model;
}

function readPiece(bytes) {
  const piece = { text: "", score: 0, type: NORMAL };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) piece.text = text.decode(value);
    else if (field === 2) piece.score = new DataView(value.buffer, value.byteOffset, 4).getFloat32(0, true);
    else if (field === 3) piece.type = value;
  }
  return piece;
}

function readTrainer(bytes, model) {
  for (const [field, value] of fields(bytes)) {
    if (field === 3) model.kind = value;
    else if (field === 24) model.spaceIsSuffix = value === 1;
    else if (field === 35) model.byteFallback = value === 1;
    else if (field === 44) model.unknownSurface = text.decode(value);
  }
}

function readNormaliser(bytes) {
  const spec = { rules: new Uint8Array(), addDummyPrefix: true, removeExtraSpaces: true, escapeSpaces: true };
  for (const [field, value] of fields(bytes)) {
    if (field === 2) spec.rules = value;
    else if (field === 3) spec.addDummyPrefix = value === 1;
    else if (field === 4) spec.removeExtraSpaces = value === 1;
    else if (field === 5) spec.escapeSpaces = value === 1;
  }
  return spec;
}

/** [number, value] of each field of a message: a number for variable-length integers, a Uint8Array for all others. */
function* fields(bytes) {
  let place = 0;

  function integer() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      if (place >= bytes.length) throw new Error("the SentencePiece model ends too early");
      const byte = bytes[place++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  while (place < bytes.length) {
    const key = integer();
    const wire = key & 7;
    if (wire === 0) {
      yield [key >>> 3, integer()];
      continue;
    }
    const size = { 1: 8, 2: wire === 2 ? integer() : 0, 5: 4 }[wire];
    if (size === undefined || place + size > bytes.length) throw new Error("the SentencePiece model is damaged");
    yield [key >>> 3, bytes.subarray(place, place + size)];
    place += size;
  }
}
