// A translation memory in the browser: what has been confirmed, and the units of a .tmx file that was opened.

export const NEAR = 0.75;
/** The lowest score of a near match. */

const MOST_MATCHES = 3;
const MOST_COMPARED = 40; // pairs that share the most words with a sentence

export class Memory {
  #targets = new Map(); // source, as it is compared -> target
  #sources = new Map(); // word -> the sources that have it

  /** Add a pair; of several translations of a source the last one counts. */
  add(given, target) {
    const source = compared(given);
    if (!this.#targets.has(source)) {
      for (const word of wordsOf(source)) {
        if (!this.#sources.has(word)) this.#sources.set(word, []);
        this.#sources.get(word).push(source);
      }
    }
    this.#targets.set(source, target);
  }

  /** The translation of a source that is in the memory, or undefined. */
  exact(source) {
    return this.#targets.get(compared(source));
  }

  /** The pairs whose sources are like a source, best first: [{source, target, score}]. */
  near(given) {
    const source = compared(given);
    const shared = new Map();
    const lists = [...wordsOf(source)].map((word) => this.#sources.get(word) ?? []);
    // A word that nearly every sentence has tells nothing, and makes the search long.
    for (const list of lists.sort((one, other) => one.length - other.length)) {
      if (list.length > 2000 && shared.size) break;
      for (const one of list) shared.set(one, (shared.get(one) ?? 0) + 1);
    }
    const likely = [...shared].sort(([, one], [, other]) => other - one).slice(0, MOST_COMPARED);
    return likely
      .map(([one]) => ({ source: one, target: this.#targets.get(one), score: likeness(source, one) }))
      .filter(({ score }) => score >= NEAR && score < 1)
      .sort((one, other) => other.score - one.score)
      .slice(0, MOST_MATCHES);
  }

  get size() {
    return this.#targets.size;
  }
}

/** A source without what does not count when it is looked up: which spaces it has, and how its letters are composed. */
const compared = (source) => source.normalize("NFC").replace(/\s+/gu, " ").trim();

const wordsOf = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []);

/** 1 minus the edit distance in characters, as a share of the longer text. */
function likeness(one, other) {
  const [a, b] = [[...one], [...other]];
  const longest = Math.max(a.length, b.length);
  if (Math.abs(a.length - b.length) > (1 - NEAR) * longest) return 0;
  let row = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return 1 - row[b.length] / longest;
}
