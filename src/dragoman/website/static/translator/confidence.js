// Confidence: the probability that a translation is good, as translation/confidence.py states it.

import { SPACE, codePoints, withoutSpaces } from "./code_points.js";
import { hasLoop } from "./loops.js";
import { UNK } from "./text_side.js";

const DOUBTS = {
  "mean log-probability": "low probability",
  "unsure segments": "low probability",
  "mean source rank": "unknown words",
  "characters per source segment": "unknown words",
  "items lost": "items lost",
  "length ratio": "wrong length",
  "loop or truncation": "wrong length",
};
const UNSURE = Math.log(0.3);
const LOWEST = -20;
const ITEM = new RegExp(`[^${SPACE},;!?()]*[\\p{Nd}@#$%&/\\\\_{}<>=][^${SPACE},;!?()]*`, "gu");

export class Confidence {
  #bias;
  #features;

  /** `description` is confidence.json. */
  constructor({ bias, features }) {
    this.#bias = bias;
    this.#features = features;
  }

  /** {confidence, doubt} of a translation with these features, as `featuresOf` gives them; the doubt is null above 0.5. */
  assess(found) {
    const names = Object.keys(DOUBTS);
    const parts = names.map((name, place) => this.#features[name].weight * (found[place] - this.#features[name].mean));
    const total = this.#bias + parts.reduce((sum, part) => sum + part, 0);
    const confidence = 1 / (1 + Math.exp(-Math.max(-50, total)));
    if (confidence >= 0.5) return { confidence, doubt: null };
    const against = {};
    names.forEach((name, place) => (against[DOUBTS[name]] = (against[DOUBTS[name]] ?? 0) + parts[place]));
    const [[doubt]] = Object.entries(against).sort(([, one], [, other]) => one - other);
    return { confidence, doubt };
  }
}

/** The features of the translation `text` of a line; `sourceIds` without EOS, `logProbabilities` [T + 1] with it. */
export function featuresOf(source, text, sourceIds, logProbabilities, finished) {
  const logs = logProbabilities.map((log) => Math.max(log, LOWEST));
  const ranks = sourceIds.map((id) => (id === UNK ? 10 : Math.log1p(id)));
  const items = (source.match(ITEM) ?? []).map((item) => item.replace(/[.:]+$/u, ""));
  return [
    mean(logs),
    mean(logs.map((log) => Number(log < UNSURE))),
    mean(ranks),
    codePoints(withoutSpaces(source)).length / sourceIds.length,
    items.filter((item) => !text.includes(item)).length,
    Math.abs(Math.log(logs.length / (sourceIds.length + 1))),
    Number(!finished || hasLoop(source, text)),
  ];
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
