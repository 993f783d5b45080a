// Requests and results of /v1/translate and /v1/complete (serving/native.py), answered by a SentenceTranslator.

import { codePoints, oneLine, rawWords } from "./code_points.js";
import { Failure } from "./failure.js";
import { replaceSentences, sentenceSpans } from "./sentences.js";

const SEARCH_OPTIONS = ["beam", "normalisation", "alpha", "no_repeat_ngram"];

export class NativeApi {
  #translator;
  #languages;

  /** `languages`: {source, target}, the codes of the one pair. */
  constructor(translator, languages) {
    this.#translator = translator;
    this.#languages = languages;
  }

  async translate(request, pause) {
    this.#requirePair(request);
    if (request.glossary) throw new Failure("refused", "glossaries are not possible on this page");
    const results = [];
    for (const text of [request.text].flat()) results.push(await this.#result(text, request, pause));
    return { results };
  }

  async complete(request, pause) {
    this.#requirePair(request);
    const { text, prefix = "", count = 5, ban = [] } = request;
    const found = await this.#translator.complete(oneLine(text), prefix, count, ban, pause);
    const completions = found.map(({ word, text: whole, score, logProbability }) => {
      return { word, text: whole, score, log_probability: logProbability };
    });
    return { ...this.#languages, completions };
  }

  #requirePair({ source = "auto", target }) {
    const { source: from, target: into } = this.#languages;
    if ((source !== "auto" && source !== from) || target !== into) {
      throw new Failure("refused", `this page translates from ${from} into ${into}, not from ${source} into ${target}`);
    }
  }

  async #result(text, request, pause) {
    const constrained = Boolean(request.prefix || request.constraints?.length);
    const characters = codePoints(text);
    const whole = text.trim() ? [[0, characters.length]] : [];
    const spans = constrained ? whole : sentenceSpans(text, this.#languages.source);
    const sentences = [];
    for (const span of spans) {
      const line = oneLine(characters.slice(...span).join(""));
      sentences.push({ source_span: span, ...(await this.#sentence(line, request, pause)) });
    }
    const best = sentences.map(({ translations }) => translations[0].text);
    return { text: replaceSentences(text, spans, best), ...this.#languages, sentences };
  }

  async #sentence(line, request, pause) {
    const { n_best: nBest = 1, prefix = "", constraints = [], ban = [] } = request;
    const given = SEARCH_OPTIONS.filter((name) => request[name] !== undefined);
    const search = Object.fromEntries(given.map((name) => [name, request[name]]));
    search.beam = Math.max(search.beam ?? this.#translator.beam, nBest);
    const options = { search, prefix, phrases: constraints, banned: ban, replaceUnknown: request.replace_unk };
    const found = await this.#translator.translate(line, nBest, options, pause);
    return {
      words: rawWords(line),
      segments: found[0].sourceSegments,
      segment_spans: found[0].sourceSpans,
      ...(found[0].typingErrors.length && { typing_errors: found[0].typingErrors }),
      translations: found.map((one) => translation(one, request.attention)),
    };
  }
}

function translation(one, withAttention) {
  const found = {
    text: one.text,
    score: one.score,
    log_probability: one.logProbability,
    finished: one.finished,
    ...("confidence" in one && { confidence: rounded(one.confidence), doubt: one.doubt }),
    ...(one.searchedAgain && { searched_again: true }),
    segments: one.segments,
    segment_spans: one.segmentSpans,
    segment_log_probabilities: one.segmentLogProbabilities.map(rounded),
    words: rawWords(one.text),
    alignment: one.alignment,
    segment_alignment: one.segmentAlignment,
  };
  if (withAttention && one.attention) found.attention = one.attention.map((row) => Array.from(row, rounded));
  return found;
}

function rounded(number) {
  return Math.round(number * 1e4) / 1e4;
}
