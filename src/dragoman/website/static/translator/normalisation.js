// Scores of finished hypotheses: length normalisation and coverage penalty, as search/normalisation.py states them.

const DIVISORS = {
  none: () => 1,
  mean: (length) => length,
  gnmt: (length, alpha) => ((5 + length) / (5 + 1)) ** alpha, // Wu et al. 2016, eq. 14
  power: (length, alpha) => length ** alpha,
};
const MIN_WEIGHT = 1e-3;

export class Normalisation {
  #search;

  /** `search`: the section of the configuration. */
  constructor(search) {
    this.#search = search;
  }

  /** The score of a log-probability of `length` tokens, EOS counted, without coverage. */
  score(logProbability, length) {
    return this.#divided(logProbability, length) - this.#search.word_penalty * length;
  }

  /** A score that no unfinished hypothesis can exceed if it ends with `shortest` to `longest` tokens. */
  bound(logProbability, longest, shortest) {
    const { word_penalty: penalty } = this.#search;
    return this.#divided(logProbability, longest) - Math.min(penalty * shortest, penalty * longest);
  }

  #divided(logProbability, length) {
    return logProbability / DIVISORS[this.#search.normalisation](length, this.#search.alpha);
  }
}

/** The total attention of each live hypothesis to each source segment (Wu et al. 2016, eq. 14). */
export class CoveragePenalty {
  #weight;
  #segments;
  #totals = null;

  /** `segments`: the columns of the attention that count. */
  constructor(weight, segments) {
    this.#weight = weight;
    this.#segments = segments;
  }

  /** The penalty of each row if it ended after this step, whose `attention` has a row for each. */
  penalties(parents, attention) {
    if (!this.#weight) return parents.map(() => 0);
    if (!attention) throw new Error("coverage_penalty: the model has no attention to penalise");
    this.#totals = attention.map((weights, row) =>
      Float64Array.from(weights, (weight, column) => weight + (this.#totals?.[parents[row]][column] ?? 0)),
    );
    return this.#totals.map((total) => {
      const counted = total.subarray(0, this.#segments);
      return this.#weight * counted.reduce((sum, one) => sum + Math.log(Math.min(Math.max(one, MIN_WEIGHT), 1)), 0);
    });
  }
}
