// A document that is being translated: its segments, what can be undone, and how far it is.

/**
 * A segment, a sentence of the document. It is replaced by another object, never changed.
 *
 * @typedef {object} Segment
 * @property {string} source
 * @property {number} paragraph     the number of its paragraph
 * @property {string} target
 * @property {"" | "model" | "memory" | "repetition" | "person" | "file" | "review"} origin  who wrote the target; "" while
 *           there is none; "review" stands for the file, too, where it says that somebody has to look at the target
 * @property {boolean} confirmed    a person has said that the target is right
 * @property {string} offered       what the model or a memory wrote last
 * @property {{start: number, end: number, logProbability: number}[]} units  the words of `offered`
 * @property {number | null} confidence  of `offered`, from 0 to 1
 * @property {string | null} doubt  what speaks most against `offered`
 * @property {Match[]} matches      of the translator's memory
 * @property {number} epoch         the state of model and glossary that `offered` came from
 * @property {string | null} taught the target that the translator has been taught
 *
 * @typedef {{source: string, target: string, score: number}} Match  a pair of a memory; the score is from 0 to 1
 */

const EMPTY = {
  target: "", origin: "", confirmed: false, offered: "", units: [], confidence: null, doubt: null, matches: [], epoch: -1, taught: null,
};
const MOST_UNDONE = 1000;

/** Segments as a document has them: {source, paragraph} and, where the file has a translation already, target and fuzzy. */
export const segmentsOf = (found) =>
  found.map(({ source, paragraph, target, fuzzy }) => {
    const given = target === undefined ? {} : { target, origin: fuzzy ? "review" : "file", confirmed: !fuzzy };
    return { ...EMPTY, source, paragraph, ...given };
  });

/** Whether a person may change a segment. */
export const isOpen = ({ origin }) => origin !== "file";

/** Whether a translator may replace the target of a segment. */
export const isUntouched = ({ confirmed, origin, target, offered }) =>
  !confirmed && (origin === "" || ((origin === "model" || origin === "memory") && target === offered));

export class Project {
  #done = []; // [{key, before: [[place, segment]], after}], the latest last
  #undone = [];
  #changed;

  /** `changed(places)` is called after every change. */
  constructor(segments, changed) {
    this.segments = segments;
    this.#changed = changed;
  }

  /** Change segments as a person does: [[place, fields]]. Consecutive changes with the same key are undone together. */
  edit(changes, key = null) {
    const before = changes.map(([place]) => [place, this.segments[place]]);
    const after = changes.map(([place, fields]) => [place, { ...this.segments[place], ...fields }]);
    const last = this.#done.at(-1);
    if (key !== null && last?.key === key && !this.#undone.length) last.after = after;
    else this.#done.push({ key, before, after });
    if (this.#done.length > MOST_UNDONE) this.#done.shift();
    this.#undone = [];
    this.#put(after);
  }

  /** Take in what a translator has written: [[place, fields]]. It cannot be undone. */
  offer(changes) {
    this.#put(changes.map(([place, fields]) => [place, { ...this.segments[place], ...fields }]));
  }

  /** The next change of a person is a step of its own. */
  pause() {
    const last = this.#done.at(-1);
    if (last) last.key = null;
  }

  /** Take the last step back; the place of its first segment, or null where there is none. */
  undo() {
    return this.#move(this.#done, this.#undone, "before");
  }

  /** Take a step again that was taken back. */
  redo() {
    return this.#move(this.#undone, this.#done, "after");
  }

  get canUndo() {
    return this.#done.length > 0;
  }

  get canRedo() {
    return this.#undone.length > 0;
  }

  /** The first open segment after a place that is not confirmed, from the top again at the end; -1 if none is left. */
  next(place) {
    const wanted = (segment) => isOpen(segment) && !segment.confirmed;
    const found = this.segments.findIndex((segment, index) => index > place && wanted(segment));
    return found < 0 ? this.segments.findIndex(wanted) : found;
  }

  /** The other segments with the same source that the one at `place` may be the translation of. */
  repetitions(place) {
    const { source } = this.segments[place];
    const places = [...this.segments.keys()];
    return places.filter((one) => one !== place && isRepetition(this.segments[one], source));
  }

  /** {segments, confirmed, words, confirmedWords}: how many there are, and how many are confirmed. */
  get progress() {
    const sum = { segments: this.segments.length, confirmed: 0, words: 0, confirmedWords: 0 };
    for (const { source, confirmed } of this.segments) {
      const words = wordCount(source);
      sum.words += words;
      if (!confirmed) continue;
      sum.confirmed += 1;
      sum.confirmedWords += words;
    }
    return sum;
  }

  #move(from, to, side) {
    const step = from.pop();
    if (!step) return null;
    step.key = null;
    to.push(step);
    this.#put(step[side]);
    return step[side][0][0];
  }

  #put(changes) {
    for (const [place, segment] of changes) this.segments[place] = segment;
    this.#changed(changes.map(([place]) => place));
  }
}

const isRepetition = (segment, source) =>
  segment.source === source && !segment.confirmed && (isUntouched(segment) || segment.origin === "repetition");

const counts = new Map();
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The words of a text, counted once for each text. */
function wordCount(text) {
  if (!counts.has(text)) counts.set(text, [...segmenter.segment(text)].filter((part) => part.isWordLike).length);
  return counts.get(text);
}
