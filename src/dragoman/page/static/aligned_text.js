// A sentence and its translations as the page shows them: units that can be pointed at, links, probabilities.
//
// Units are words; of a text in a script without spaces they are the model's segments. Places in the results of a
// translator count code points; here they count UTF-16 units, as strings do.

const WITHOUT_SPACES = new RegExp(
  "[" + ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"].map((script) => `\\p{Script=${script}}`).join("") + "]",
  "u",
);
const NO_SPACE_NEEDED = new RegExp(`^(?:${WITHOUT_SPACES.source}|[\\u3000-\\u303f]|[\\uff00-\\uffff]|[^\\u0000-\\uffff])$`, "u");

export const UNCERTAIN = Math.log(0.5);
/** A word whose log-probability is below this is less likely than all others together. */

/** Converts places that count code points. */
class CodePoints {
  #starts = null; // null: each is one UTF-16 unit

  constructor(text) {
    if (!/[\ud800-\udfff]/.test(text)) return;
    this.#starts = [0];
    for (const letter of text) this.#starts.push(this.#starts.at(-1) + letter.length);
  }

  /** The UTF-16 place of a code point. */
  at(place) {
    return this.#starts ? this.#starts[place] : place;
  }
}

/** The part of a text between two places that count code points. */
export function slice(text, [start, end]) {
  const points = new CodePoints(text);
  return text.slice(points.at(start), points.at(end));
}

/** The sentences of a result of `translate` for a text: {start, end, source, versions}, places in the text. */
export function sentencesOf(text, result) {
  const points = new CodePoints(text);
  return result.sentences.map((sentence) => {
    const [start, end] = sentence.source_span.map((place) => points.at(place));
    return alignedSentence(text.slice(start, end), sentence, start);
  });
}

/** A sentence of a result, aligned with each of its translations; `start` is its place in the text. */
export function alignedSentence(text, sentence, start = 0) {
  const source = side(text, sentence.words, sentence.segment_spans);
  const versions = sentence.translations.map((translation) => version(source, translation));
  const readAs = (sentence.typing_errors ?? []).map(({ start: from, end, read_as }) => [slice(text, [from, end]), read_as]);
  return { start, end: start + text.length, text, units: source.units, versions, readAs };
}

/** One side: its units, and the unit of each segment (-1 for none). */
function side(text, words, segments) {
  const points = new CodePoints(text);
  const bySegments = WITHOUT_SPACES.test(text);
  const spans = (bySegments ? segments : words).map((span) => trimmed(text, span.map((place) => points.at(place))));
  const units = [];
  for (const [start, end] of spans) {
    if (end > start && start >= (units.at(-1)?.end ?? 0)) units.push({ start, end });
    else if (end > (units.at(-1)?.end ?? end)) units.at(-1).end = end; // several segments of one character
  }
  const unitOf = segments.map(([start]) => {
    const place = points.at(start);
    return units.findIndex((unit) => unit.end > place);
  });
  return { units, unitOf, bySegments };
}

function trimmed(text, [start, end]) {
  const inside = text.slice(start, end);
  const from = start + (inside.length - inside.trimStart().length);
  return [from, Math.max(from, start + inside.trimEnd().length)];
}

function version(source, translation) {
  const target = side(translation.text, translation.words, translation.segment_spans);
  const units = target.units.map((unit) => ({ ...unit, logProbability: 0, sources: [] }));
  translation.segment_log_probabilities?.slice(0, -1).forEach((value, segment) => {
    const unit = units[target.unitOf[segment]];
    if (unit) unit.logProbability += value;
  });
  const targets = source.units.map(() => []);
  const link = (from, to) => {
    if (!source.units[from] || !units[to] || units[to].sources.includes(from)) return;
    units[to].sources.push(from);
    targets[from].push(to);
  };
  if (source.bySegments || target.bySegments) {
    for (const [from, to] of translation.segment_alignment ?? []) link(source.unitOf[from], target.unitOf[to]);
  } else {
    for (const [from, to] of translation.alignment) link(from, to);
  }
  const { text, confidence, doubt, from_memory: fromMemory = false } = translation;
  return { text, confidence, doubt, fromMemory, units, targets, bySegments: target.bySegments, aligned: targets.some((links) => links.length) };
}

/** What stands between two translations in the place of `between`: a space where they would touch but should not. */
export function spaceBetween(before, between, after) {
  if (between || !before || !after || /\s$/u.test(before) || /^\s/u.test(after)) return between;
  const [last, first] = [[...before].at(-1), [...after][0]];
  return NO_SPACE_NEEDED.test(last) || NO_SPACE_NEEDED.test(first) ? "" : " ";
}
