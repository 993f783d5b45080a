// An exported model run by ONNX Runtime Web, for one sentence at a time.
//
// R rows are hypotheses of the sentence, S its length, k continuations. States are never changed, so a search may go on
// from any of them several times.

import { PAD } from "./text_side.js";

export class OnnxEngine {
  #ort;
  #encoder;
  #step;
  #outputs;

  /**
   * `sessions` are {encoder, step} of `openSession`; `facts` are the numbers that the graphs state in their metadata,
   * which ONNX Runtime Web does not read: {vocabularySize, sourceEos, attentionShift}.
   */
  constructor(ort, sessions, facts) {
    this.#ort = ort;
    this.#encoder = sessions.encoder;
    this.#step = sessions.step;
    // Whole distributions are for ensembles; what is fetched is copied out of the memory of WebAssembly.
    this.#outputs = sessions.step.outputNames.filter((name) => name !== "logits" && name !== "probabilities");
    this.vocabularySize = facts.vocabularySize;
    this.sourceEos = facts.sourceEos;
    this.attentionShift = facts.attentionShift;
  }

  /** Encode the ids of a sentence, EOS among them if `sourceEos`; the state has one row. */
  async start(source) {
    const encoded = await this.#encoder.run({
      source: this.#integers(source, [1, source.length]),
      lengths: this.#integers([source.length], [1]),
    });
    return { memory: withPrefix(encoded, "memory."), cells: withPrefix(encoded, "state."), time: 0 };
  }

  /**
   * Read `tokens` [R] in rows `parents` [R] of `state`.
   *
   * Returns {logProbabilities, words} of the k most probable next tokens of each row, [R * k], largest first;
   * `targetLogProbabilities` [R] of `targets`, which are optional; `attention`, a Float32Array [S] for each row, or null;
   * and the next `state`.
   */
  async step(state, parents, tokens, k, targets = tokens.map(() => PAD)) {
    const rows = tokens.length;
    const inputs = {
      tokens: this.#integers(tokens, [rows]),
      parents: this.#integers(parents, [rows]),
      layout: this.#integers([1, rows, -1], [3]), // one sentence
      rows: this.#integers([...tokens.keys()], [rows]),
      time: this.#integers([state.time], [1]),
      targets: this.#integers(targets, [rows]),
      k: this.#integers([k], [1]),
      ...state.memory,
      ...state.cells,
    };
    const outputs = await this.#step.run(inputs, this.#outputs);
    const cells = withPrefix(outputs, "next.");
    return {
      logProbabilities: outputs.log_probabilities.data,
      words: Array.from(outputs.words.data, Number),
      targetLogProbabilities: outputs.target_log_probabilities.data,
      attention: outputs.attention ? rowsOf(outputs.attention) : null,
      state: {
        memory: state.memory,
        cells: Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name.replace("next.", "state."), cell])),
        time: state.time + 1,
      },
    };
  }

  #integers(numbers, shape) {
    return new this.#ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), shape);
  }
}

/** A session for the graph in `bytes`. */
export function openSession(ort, bytes) {
  // Patterns of memory are kept for each shape, and shapes here rarely repeat.
  return ort.InferenceSession.create(bytes, { executionProviders: ["wasm"], enableMemPattern: false });
}

function withPrefix(tensors, prefix) {
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => name.startsWith(prefix)));
}

function rowsOf({ data, dims }) {
  return Array.from({ length: dims[0] }, (_, row) => data.slice(row * dims[1], (row + 1) * dims[1]));
}
