// Translation of single sentences: segmentation, search, joining, alignment; as translation/translator.py.

import { heaviestWords, segmentWeights, surfaceSpans, wordLinks } from "./alignment.js";
import { beamSearch } from "./beam_search.js";
import { MARKS } from "./case_marks.js";
import { codePoints, isSpace, linesJoined, rawWords } from "./code_points.js";
import { featuresOf } from "./confidence.js";
import { Constraints } from "./constraints.js";
import { NAMES, NO_QUOTATION, standApart } from "./protected.js";
import { BOS, EOS, UNK } from "./text_side.js";
import { Failure } from "./failure.js";
import { faults, repetitionOrders, searchWithoutRepetition } from "./second_search.js";

const MAX_SEGMENTS = 1000; // of a source; the rest is not translated
const MAX_CONTINUATIONS = 200; // the most probable next segments among which `complete` looks for words
const MAX_BEGUN = 4; // beginnings of an unfinished word from which it looks for them
const LETTER = /\p{L}/u;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

export class SentenceTranslator {
  #engine;
  #source;
  #target;
  #search;
  #copiesSegments;
  #confidence;

  /** `source` and `target` are TextSides, `search` the section of the configuration, `confidence` may be null. */
  constructor(engine, source, target, search, copiesSegments, confidence) {
    this.#engine = engine;
    this.#source = source;
    this.#target = target;
    this.#search = search;
    this.#confidence = confidence;
    this.#copiesSegments = copiesSegments; // an unknown word is replaced by a source segment, not by a word
  }

  get beam() {
    return this.#search.beam;
  }

  /**
   * The `nBest` translations of a line, best first, of equal texts the best; see `#translation`.
   *
   * `options`: `search` has settings that replace those of the model; `prefix`, `phrases` and `banned` are text;
   * `replaceUnknown` copies aligned source words. `pause` is awaited before each step.
   */
  async translate(line, nBest, options, pause) {
    const prepared = this.#prepare(line, options.prefix ?? "");
    if (!prepared.source.ids.length) return [blank(line)];
    if (!options.prefix && !options.phrases?.length && this.#stays(prepared)) return [this.#unchanged(prepared)];
    const banned = this.#bannedIds(options.banned ?? []);
    const phrases = (options.phrases ?? []).map((phrase) => this.#phraseIds(phrase, prepared.source.items, banned));
    const search = { ...this.#search, ...options.search };
    const boundaries = phrases.length ? this.#target.wordBoundaries : null;
    const given = { prefix: prepared.prefix.ids, phrases, banned, boundaries };
    const start = await this.#start(prepared);
    const searched = async (search) => {
      const found = await this.#find(prepared, start, search, nBest, given, pause);
      const translations = found.map((hypothesis) => this.#translation(prepared, hypothesis, options.replaceUnknown));
      const texts = translations.map(({ text }) => text);
      return translations.filter(({ text }, place) => texts.indexOf(text) === place);
    };
    const first = await searched(search);
    return search.search_again ? this.#searchedAgain(first, search, searched) : first;
  }

  /** The translations, or those of further searches if they loop or were truncated; as translation/second_search.py. */
  async #searchedAgain(first, search, searched) {
    let found = first;
    for (const order of repetitionOrders(this.#target.allPieces)) {
      if (!faults(found)) break;
      const again = await searched(searchWithoutRepetition(search, order, first[0].attention !== null));
      if (faults(again) < faults(found)) found = again;
    }
    return faults(first) ? found.map((one) => ({ ...one, searchedAgain: true })) : found;
  }

  /**
   * Up to `count` translations that begin with `prefix` and go on with different words, best first: {word, text, score,
   * logProbability}. A word at the end of the prefix may be unfinished.
   */
  async complete(line, prefix, count, bannedWords, pause) {
    const prepared = this.#prepare(line, prefix);
    if (!prepared.source.ids.length) return [];
    const banned = this.#bannedIds(bannedWords);
    const start = await this.#start(prepared);
    const prefixes = await this.#continuedPrefixes(prepared, start, prepared.begun, count, banned, pause);
    const byWord = new Map();
    for (let first = 0; first < prefixes.length; first += count) {
      for (const ids of prefixes.slice(first, first + count)) {
        const [best] = await this.#find(prepared, start, this.#search, 1, { prefix: ids, banned }, pause);
        const { text, score, logProbability } = this.#translation(prepared, best, false);
        const word = nextWord(text, prefix);
        if (!byWord.has(word) || score > byWord.get(word).score) byWord.set(word, { word, text, score, logProbability });
      }
      if ([...byWord.values()].filter(({ text }) => text.startsWith(prefix)).length >= count) break;
    }
    const best = [...byWord.values()].sort((one, other) => other.score - one.score);
    // Joining may have changed the prefix in all of them.
    const kept = best.filter(({ text }) => text.startsWith(prefix));
    return (kept.length ? kept : best).slice(0, count);
  }

  #prepare(line, prefix) {
    const encoded = this.#source.encode(line);
    const [ids, pieces, spans] = [encoded.ids, encoded.pieces, encoded.offsets].map((list) => list.slice(0, MAX_SEGMENTS));
    const items = encoded.items.slice(0, pieces.filter((piece) => NAMES.includes(piece)).length);
    const opens = prefix && encoded.quotation[0] && prefix.startsWith(encoded.quotation[0]);
    const begun = opens ? prefix.slice(encoded.quotation[0].length) : prefix;
    const quotation = prefix && !opens ? NO_QUOTATION : encoded.quotation;
    const encodedPrefix = begun ? this.#target.encode(begun, items) : { ids: [], pieces: [] };
    return { line, source: { ids, pieces, spans, items }, prefix: encodedPrefix, begun, quotation };
  }

  /** Whether a line that has no letter but those of its items is its own translation. */
  #stays({ source }) {
    return this.#source.letterlessStay && !source.pieces.some((piece) => LETTER.test(piece));
  }

  #unchanged({ line, source, quotation }) {
    const places = source.pieces.map((piece) => NAMES.indexOf(piece));
    const characters = codePoints(line);
    let [text, end] = ["", 0];
    source.spans.forEach(([start, stop], place) => {
      if (places[place] < 0) return;
      text += characters.slice(end, start).join("") + source.items[places[place]];
      end = stop;
    });
    text += characters.slice(end).join("");
    const alignment = rawWords(line).map((_, place) => [place, place]);
    return { ...blank(line), text, alignment };
  }

  #start({ source }) {
    return this.#engine.start(this.#engine.sourceEos ? [...source.ids, EOS] : source.ids);
  }

  /** Search; again with all items required if a hypothesis lacks one, as `given` then says for further searches, too. */
  async #find({ source }, start, search, nBest, given, pause) {
    const segments = source.ids.length;
    const items = this.#placeholders(source);
    const find = () => {
      const constraints = new Constraints(search, this.#engine.vocabularySize, segments, { ...given, ...items });
      return beamSearch(this.#engine, start, segments, search, nBest, given.prefix, constraints, pause);
    };
    const found = await find();
    const needed = items.placeholders.slice(0, items.allowed);
    if (given.allPlaceholders || found.every(({ tokens }) => needed.every((id) => tokens.includes(id)))) return found;
    given.allPlaceholders = true; // slower, and seldom needed; as in translation/translator.py
    return find();
  }

  #placeholders({ items }) {
    return { placeholders: this.#target.placeholders, allowed: items.length };
  }

  /** Target ids that begin with the prefix: these alone, then with one segment more, the most probable first. */
  async #continuedPrefixes(prepared, start, prefix, count, banned, pause) {
    const given = prepared.prefix.ids;
    const found = await this.#nextSegments(prepared, start, given, banned, pause);
    if (prefix && !isSpace(codePoints(prefix).at(-1))) {
      const done = this.#target.encode(prefix.slice(0, Math.max(0, prefix.lastIndexOf(" "))), prepared.source.items).ids;
      if (done.length < given.length) {
        found.push(...(await this.#finishedWords(prepared, start, prefix, given, done, banned, pause)));
      }
    }
    found.sort((one, other) => other.total - one.total);
    return [given, ...found.slice(0, 3 * count).map(({ ids }) => ids)];
  }

  /** As `_finished_words` of translation/completion.py. */
  async #finishedWords(prepared, start, prefix, given, done, banned, pause) {
    const word = prefix.slice(prefix.lastIndexOf(" ") + 1);
    const found = [];
    const begun = [{ ids: done, total: 0 }];
    for (let round = 0; round < MAX_BEGUN && begun.length; round++) {
      begun.sort((one, other) => one.total - other.total);
      for (const next of await this.#nextSegments(prepared, start, begun.pop().ids, banned, pause)) {
        const pieces = this.#target.pieces(next.ids);
        const text = this.#target.join(pieces, prepared.source.items);
        if (text.length > prefix.length && text.startsWith(prefix)) found.push(next);
        else if (prefix.startsWith(text) && next.ids.join() !== given.join()) {
          if (!MARKS.has(pieces.at(-1)) || /^\p{Lu}/u.test(word)) begun.push(next);
        }
      }
    }
    return found;
  }

  /** `ids` with one of the most probable next segments, and the log-probability of all: [{ids, total}]. */
  async #nextSegments({ source }, start, ids, banned, pause) {
    const size = this.#engine.vocabularySize;
    const constraints = new Constraints(this.#search, size, source.ids.length, { banned, ...this.#placeholders(source) });
    const k = Math.min(MAX_CONTINUATIONS, size);
    let total = 0;
    let step = { state: start };
    for (const [place, token] of [BOS, ...ids].entries()) {
      await pause();
      const last = place === ids.length;
      step = await this.#engine.step(step.state, [0], [token], last ? k : 1, last ? undefined : [ids[place]]);
      if (!last) total += step.targetLogProbabilities[0];
    }
    return constraints
      .permitted(constraints.atStep([ids]), 0, step, k, 1)
      .filter(({ token }) => token !== EOS && token !== UNK)
      .map(({ token, logProbability }) => ({ ids: [...ids, token], total: total + logProbability }));
  }

  /**
   * A hypothesis as text:
   *
   *   source, sourceSegments, sourceSpans    the line and its segments
   *   text, segments, segmentSpans           the translation and its segments, without EOS
   *   score, logProbability, finished
   *   segmentLogProbabilities                [T + 1]
   *   confidence, doubt                      where the model has a confidence; see confidence.js
   *   typingErrors                           words of the source that are read as others; see spelling.js
   *   alignment, segmentAlignment            [source, target] links between words, and between segments
   *   attention                              [T + 1][S], or with the source's EOS [T + 1][S + 1]; row t belongs to segment
   *                                          t, and EOS has none in a model that attends after reading a word; null
   *                                          without attention
   */
  #translation(prepared, hypothesis, replaceUnknown) {
    const { line, source, prefix } = prepared;
    const ids = hypothesis.tokens.slice(0, -1);
    const { attention } = hypothesis;
    const weights = attention && segmentWeights(attention, this.#engine.attentionShift, source.pieces.length);
    // Words that are <unk> to the model but have a known text: those of the prefix, and replaced ones.
    const known = new Map(prefix.pieces.slice(0, ids.length).map((piece, place) => [place, piece]));
    for (const place of known.keys()) if (ids[place] !== UNK) known.delete(place);
    if (replaceUnknown && weights) this.#copyUnknown(prepared, ids, weights, known);
    const segments = this.#target.pieces(ids);
    const pieces = segments.map((piece, place) => known.get(place) ?? piece);
    const itemSpans = source.spans.filter((_, place) => NAMES.includes(source.pieces[place]));
    const inside = linesJoined(this.#target.join(pieces, source.items, standApart(codePoints(line), itemSpans)));
    const [opening, closing] = prepared.quotation;
    const text = opening + (closing && inside.endsWith(closing) ? inside.slice(0, -1) : inside) + closing;
    const moved = (spans) => spans.map(([start, end]) => [start + opening.length, end + opening.length]);
    segments.forEach((piece, place) => {
      const item = source.items[NAMES.indexOf(piece)];
      if (item !== undefined) known.set(place, item);
    });
    const surfaces = ids.map((id, place) => known.get(place) || this.#target.surface(id));
    const segmentSpans = moved(surfaceSpans(surfaces, inside));
    // An item may have several words; each is linked as its segment is.
    const words = surfaces.map((surface, place) => (known.has(place) ? wordsOf(surface) : [surface]));
    const wordSpans = moved(surfaceSpans(words.flat(), inside));
    const rows = weights?.flatMap((row, place) => words[place].map(() => row));
    const links = (sourceUnits, targetUnits) =>
      rows ? wordLinks(rows, source.spans, sourceUnits, wordSpans, targetUnits) : [];
    return {
      source: line,
      sourceSegments: source.pieces,
      sourceSpans: source.spans,
      text,
      segments,
      segmentSpans,
      score: hypothesis.score,
      logProbability: hypothesis.logProbability,
      finished: hypothesis.finished,
      ...this.#confidence?.assess(
        featuresOf(line, text, source.ids, hypothesis.tokenLogProbabilities, hypothesis.finished),
      ),
      segmentLogProbabilities: hypothesis.tokenLogProbabilities,
      alignment: links(rawWords(line), rawWords(text)),
      segmentAlignment: links(source.spans, segmentSpans),
      typingErrors: this.#source.typingErrors(line),
      attention: attention?.slice(this.#engine.attentionShift) ?? null,
    };
  }

  /** Add copies of the aligned source words for unknown segments, those of the prefix left out. */
  #copyUnknown({ line, source, prefix }, ids, weights, known) {
    const words = this.#copiesSegments ? source.spans : bareWords(line);
    const heaviest = heaviestWords(weights, source.spans, words);
    if (!heaviest) return;
    const characters = codePoints(line);
    ids.forEach((id, place) => {
      if (id !== UNK || place < prefix.ids.length) return;
      known.set(place, characters.slice(...words[heaviest[place]]).join(""));
    });
  }

  #bannedIds(words) {
    return words
      .filter((word) => word.trim())
      .map((word) => {
        const { ids, pieces } = this.#target.encode(word);
        const unknown = ids.indexOf(UNK);
        if (unknown < 0) return ids;
        throw new Failure(
          "refused",
          `banned word '${word}': the model does not know '${pieces[unknown]}', so it never writes that; leave it out`,
        );
      });
  }

  #phraseIds(phrase, items, banned) {
    const { ids, pieces } = this.#target.encode(phrase, items);
    const unknown = ids.indexOf(UNK);
    if (unknown >= 0) {
      throw new Failure(
        "refused",
        `'${phrase}' cannot appear in a translation: the model does not know '${pieces[unknown]}'; ` +
          "leave it out, or give a word of the target vocabulary",
      );
    }
    if (banned.some((sequence) => ids.some((_, at) => sequence.every((id, offset) => ids[at + offset] === id)))) {
      throw new Failure("refused", `'${phrase}' must appear in a translation, but is banned as well`);
    }
    return ids;
  }
}

/** The word of a translation that goes on from `prefix`; "" at its end. */
export function nextWord(text, prefix) {
  const begun = prefix.trimEnd();
  let place = text.startsWith(begun) ? begun.length : 0;
  if (place === text.length) return "";
  if (text[place] === " ") place++;
  const start = text.lastIndexOf(" ", place - 1) + 1;
  return text.slice(place ? start : 0).split(" ", 1)[0];
}

function wordsOf(text) {
  const characters = codePoints(text);
  return rawWords(text).map((span) => characters.slice(...span).join(""));
}

function bareWords(line) {
  const characters = codePoints(line);
  return rawWords(line).map(([first, last]) => {
    let [start, end] = [first, last];
    while (start < end && !LETTER_OR_DIGIT.test(characters[start])) start++;
    while (end > start && !LETTER_OR_DIGIT.test(characters[end - 1])) end--;
    return start < end ? [start, end] : [first, last];
  });
}

function blank(line) {
  const none = { segments: [], segmentSpans: [], sourceSegments: [], sourceSpans: [], alignment: [], segmentAlignment: [], typingErrors: [] };
  return { ...none, source: line, text: "", score: 0, logProbability: 0, finished: true, segmentLogProbabilities: [], attention: null };
}
