// Constraints on the hypotheses of one sentence, as search/constraints.py states them with their order of precedence.
//
// The forced prefix is not here: search reads it before it begins to choose (beam_search.js).

import { PhraseConstraints } from "./phrase_constraints.js";
import { BOS, EOS, PAD, UNK } from "./text_side.js";

const NO_PHRASES = { own: new Map(), others: [{ met: 0, missing: 0 }] };
const TOLERANCE = 1e-9; // keeps 1.1 * 10 from being a hair above 11

export class Constraints {
  #search;
  #size;
  #blocked;
  #banned;
  #phrases;
  #placeholders;
  #allPlaceholders;

  /**
   * `search` is the section of the configuration, `size` that of the vocabulary, `segments` the source length without EOS;
   * `prefix`, `phrases` and `banned` are ids; with word `boundaries` phrases appear as whole words. The first `allowed` ones
   * of the `placeholders` may appear, once each, and with `allPlaceholders` must; the others never do.
   */
  constructor(search, size, segments, given = {}) {
    const { prefix = [], phrases = [], banned = [], boundaries = null, placeholders = [], allowed = 0, allPlaceholders = false } = given;
    this.#search = search;
    this.#size = size;
    this.#phrases = phrases.length ? new PhraseConstraints(phrases, boundaries) : null;
    this.#blocked = new Set([PAD, BOS, ...banned.filter((ids) => ids.length === 1).map(([id]) => id)]);
    if (search.block_unknown) this.#blocked.add(UNK);
    placeholders.slice(allowed).forEach((id) => this.#blocked.add(id));
    this.#placeholders = placeholders.slice(0, allowed);
    this.#allPlaceholders = allPlaceholders;
    this.#banned = banned.filter((ids) => ids.length > 1);
    const longest = Math.floor(search.max_length_factor * segments + TOLERANCE) + search.max_length_extra;
    const missing = this.#phrases ? this.#phrases.progress(this.#phrases.state(prefix)).missing : 0;
    this.longest = Math.max(1, longest, prefix.length + missing + this.#free(prefix).length);
    this.shortest = Math.min(Math.ceil(search.min_length_factor * segments - TOLERANCE), this.longest);
  }

  /** The constraints on the next token of rows, each given as the ids of its segments. */
  atStep(rows) {
    const states = this.#phrases && rows.map((ids) => this.#phrases.state(ids));
    const free = rows.map((ids) => this.#free(ids));
    const forbidden = rows.map((ids, row) => {
      const repeated = this.#repeated(ids);
      if (states) this.#phrases.next(states[row]).forEach((id) => repeated.delete(id));
      const used = this.#placeholders.filter((id) => !free[row].includes(id));
      return new Set([...repeated, ...this.#sequenceEnds(ids), ...used]);
    });
    return { states, forbidden, free, length: rows[0].length };
  }

  /** The number of continuations to request, so that at least `wanted` permitted ones are left. */
  request(step, wanted) {
    if (step.states || (this.#allPlaceholders && step.free.some((ids) => ids.length))) return this.#size;
    const forbidden = this.#blocked.size + 1 + Math.max(...step.forbidden.map((ids) => ids.size)); // and EOS
    return Math.min(wanted + forbidden, this.#size);
  }

  /**
   * The permitted among the k continuations of row `row`, best first, at least `wanted`: [{token, logProbability, met}].
   * Equal ones are sorted by id. `met` is the number of phrase ids and required placeholders that are met.
   */
  permitted(step, row, { logProbabilities, words }, k, wanted) {
    const found = [];
    for (let place = row * k; place < (row + 1) * k; place++) {
      if (Number.isNaN(logProbabilities[place])) throw new Error("the model returns log-probabilities that are not numbers");
      found.push({ token: words[place], logProbability: logProbabilities[place], met: 0 });
    }
    if (found.some((one, at) => at > 0 && one.logProbability === found[at - 1].logProbability)) {
      found.sort((one, other) => other.logProbability - one.logProbability || one.token - other.token);
    }
    const tooShort = this.shortest > step.length;
    const allowed = found.filter(
      ({ token, logProbability }) =>
        !this.#blocked.has(token) &&
        !(tooShort && token === EOS) &&
        !step.forbidden[row].has(token) &&
        logProbability > -Infinity,
    );
    const required = this.#allPlaceholders ? step.free[row] : [];
    if (!step.states && !this.#allPlaceholders) return allowed;
    return this.#towardsPhrases(allowed, step.states?.[row], required, step.length, wanted);
  }

  /** Those that advance a phrase or are required, and the best of each other kind, without those that hinder them. */
  #towardsPhrases(continuations, state, placeholders, length, wanted) {
    const phrases = this.#phrases;
    const { own, others } = phrases?.outcomes(state) ?? NO_PHRASES;
    const room = this.longest - length - 1;
    const taken = others.map(() => 0);
    return continuations.filter((one) => {
      const kind = phrases?.kind(one.token) ?? 0;
      const { met, missing } = own.get(one.token) ?? others[kind];
      const isRequired = placeholders.includes(one.token);
      const absent = placeholders.length - Number(isRequired);
      one.met = met + this.#placeholders.length - absent;
      if (missing + absent > 0 && (one.token === EOS || missing + absent > room)) return false;
      return isRequired || own.has(one.token) || taken[kind]++ < wanted;
    });
  }

  /** How many of its placeholders a translation lacks. */
  missing(ids) {
    return this.#free(ids).length;
  }

  /** The placeholders that a line may still have. */
  #free(ids) {
    return this.#placeholders.filter((id) => !ids.includes(id));
  }

  /** The ids that would end an n-gram which the line contains already. */
  #repeated(ids) {
    const n = this.#search.no_repeat_ngram;
    const found = new Set();
    if (!n || ids.length < n) return found;
    const last = ids.slice(ids.length - n + 1);
    for (let start = 0; start + n <= ids.length; start++) {
      if (last.every((id, at) => ids[start + at] === id)) found.add(ids[start + n - 1]);
    }
    return found;
  }

  /** The last ids of banned sequences whose other ids end the line. */
  #sequenceEnds(ids) {
    return this.#banned
      .filter((sequence) => {
        const start = ids.length - sequence.length + 1;
        return start >= 0 && sequence.slice(0, -1).every((id, at) => ids[start + at] === id);
      })
      .map((sequence) => sequence.at(-1));
  }
}