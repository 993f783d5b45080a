// Links between the words of two raw lines from attention, as alignment/extract.py states them.
//
// Spans are [start, end) in code points. S source segments, T target segments, I source words, J target words.

import { codePoints, isSpace, withoutSpaces } from "./code_points.js";

/**
 * The alignment weights of each target segment, [T][S]. `attention` has a row for every predicted token, EOS last, and may
 * have a column for the source's EOS, which is dropped; `shift` is that of the engine.
 */
export function segmentWeights(attention, shift, sourceSegments) {
  return attention.slice(shift, shift + attention.length - 1).map((weights) => weights.subarray(0, sourceSegments));
}

/** One [source, target] link for each target word that has a segment: to the source word with the largest weight. */
export function wordLinks(weights, sourceSpans, sourceWords, targetSpans, targetWords) {
  const sourceWord = wordsOf(sourceSpans, sourceWords);
  const read = new Set(sourceWord.filter((word) => word >= 0));
  if (!read.size) return [];
  const totals = targetWords.map(() => null); // [J][I], sums over segments of both
  const counts = targetWords.map(() => 0);
  wordsOf(targetSpans, targetWords).forEach((word, segment) => {
    if (word < 0) return;
    totals[word] ??= new Float64Array(sourceWords.length);
    counts[word]++;
    weights[segment].forEach((weight, column) => {
      if (sourceWord[column] >= 0) totals[word][sourceWord[column]] += weight;
    });
  });
  return totals
    .flatMap((total, target) => {
      if (!total) return [];
      let heaviest = -1;
      for (const source of [...read].sort((one, other) => one - other)) {
        if (heaviest < 0 || total[source] / counts[target] > total[heaviest] / counts[target]) heaviest = source;
      }
      return [[heaviest, target]];
    })
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
}

/** The index of the word that each segment belongs to: the one with most of its characters; -1 for none. */
export function wordsOf(spans, words) {
  return spans.map(([start, end]) => {
    let word = words.findIndex(([, wordEnd]) => wordEnd > start);
    if (word < 0) return -1;
    let chosen = word;
    for (let most = 0; word < words.length && words[word][0] < end; word++) {
      const covered = Math.min(end, words[word][1]) - Math.max(start, words[word][0]);
      if (covered > most) [most, chosen] = [covered, word];
    }
    return chosen;
  });
}

/**
 * The span of each segment of an output in its `text`; `surfaces` are the segments, each joined on its own.
 *
 * Joining adds and drops spaces and otherwise keeps characters, so non-space characters are counted. Where it has changed
 * some (unknown characters written as bytes), places are interpolated.
 */
export function surfaceSpans(surfaces, text) {
  const visible = [];
  codePoints(text).forEach((character, place) => {
    if (!isSpace(character)) visible.push(place);
  });
  const bounds = [0];
  for (const surface of surfaces) bounds.push(bounds.at(-1) + codePoints(withoutSpaces(surface)).length);
  const written = bounds.at(-1);
  const scale = written && written !== visible.length ? visible.length / written : 1;
  const places = bounds.map((bound) => Math.round(bound * scale));
  const starts = [...visible, codePoints(text).length];
  return surfaces.map((_, index) => {
    const [begin, end] = [places[index], places[index + 1]];
    return [starts[begin], end > begin ? visible[end - 1] + 1 : starts[begin]];
  });
}

/** The place of the source word with most weight in the rows of `weights`, those of no segment left out; null for none. */
export function heaviestWords(weights, sourceSpans, words) {
  const owners = wordsOf(sourceSpans, words);
  const read = new Set(owners.filter((word) => word >= 0));
  if (!read.size) return null;
  return weights.map((row) => {
    const totals = new Float64Array(words.length).fill(-Infinity);
    for (const word of read) totals[word] = 0;
    row.forEach((weight, column) => {
      if (owners[column] >= 0) totals[owners[column]] += weight;
    });
    return totals.indexOf(Math.max(...totals));
  });
}
