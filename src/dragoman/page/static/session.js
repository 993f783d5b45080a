// A text being translated: its passages and sentences, what the user has chosen in them, and the requests for both.
//
// A passage is a line; where the source language is detected, it is the whole text. A choice belongs to a sentence of
// the source and lasts while that sentence stays as it is.

import { alignedSentence, sentencesOf, spaceBetween } from "./aligned_text.js";
import { TranslationCache } from "./translation_cache.js";

export const AUTO = "auto";
const N_BEST = 4; // the translation and three alternatives

const NO_CHOICE = Object.freeze({ prefix: "", kept: [], version: 0 });
/** `prefix`: what the translation begins with; `kept`: what it contains; `version`: its place in the n-best list. */

/** Whether a choice needs a request of its own. */
const asksMore = ({ prefix, kept }) => Boolean(prefix || kept.length);

export class Session {
  #translator;
  #cache;
  #choices = new Map();
  #undone = []; // what `undo` restores, the latest last

  source = AUTO;
  target = "";
  bans = [];

  constructor(translator) {
    this.#translator = translator;
    this.#cache = new TranslationCache(translator);
  }

  /** Translate a text; `show(document)` is called with each state of it, in the end with one that is complete. */
  async translate(text, signal, show) {
    const passages = this.#passages(text);
    const wanted = passages.filter((passage) => passage.text.trim()).map((passage) => passage.text);
    const options = this.#options(this.source);
    const state = () => this.#document(text, passages, options);
    if (wanted.some((passage) => this.#cache.get(passage, options))) show(state());
    await this.#cache.fetch(wanted, options, signal, () => show(state()));
    const sentences = state().pieces.flatMap(({ sentence }) => sentence ?? []);
    for (const sentence of sentences) {
      const choice = this.choice(sentence);
      if (asksMore(choice)) await this.#cache.one(sentence.text, this.#optionsOf(sentence, choice), signal);
    }
    show(state());
  }

  /** The words with which the translation of a sentence can go on after `prefix`, with the translations. */
  async completions(sentence, prefix, signal, count = 6) {
    const request = { text: sentence.text, ...this.#pair(sentence), prefix, count };
    if (this.bans.length) request.ban = this.bans;
    return (await this.#translator.complete(request, signal)).completions;
  }

  /** Let the translation of a sentence begin with `prefix`, which ends with a whole word. */
  async begin(sentence, prefix, signal) {
    const wanted = { ...this.choice(sentence), prefix, version: 0 };
    await this.#cache.one(sentence.text, this.#optionsOf(sentence, wanted), signal);
    const found = this.#chosen(sentence, wanted);
    const goesOn = (text) => text.startsWith(prefix) && /^[\p{L}\p{M}\p{N}]/u.test(text.slice(prefix.length));
    if (found.versions.every(({ text }) => goesOn(text))) {
      const [best] = await this.completions(sentence, `${prefix} `, signal, 1);
      if (best?.text.startsWith(`${prefix} `)) wanted.prefix = best.text; // "dog", not "dogs"
    } else {
      wanted.version = found.versions.findIndex(({ text }) => !goesOn(text));
    }
    this.#choose(sentence, wanted);
  }

  /** Show another translation of the n-best list of a sentence. */
  pick(sentence, version) {
    this.#choose(sentence, { ...this.choice(sentence), version });
  }

  /** Let the translation of a sentence contain a phrase. */
  keep(sentence, phrase) {
    const choice = this.choice(sentence);
    if (!choice.kept.includes(phrase)) this.#choose(sentence, { ...choice, kept: [...choice.kept, phrase], version: 0 });
  }

  /** No longer require a phrase. */
  release(sentence, phrase) {
    const choice = this.choice(sentence);
    this.#choose(sentence, { ...choice, kept: choice.kept.filter((one) => one !== phrase), version: 0 });
  }

  /** Never produce a phrase, nor keep it where it has been chosen. */
  ban(phrase) {
    if (this.bans.includes(phrase)) return;
    this.#changeBans([...this.bans, phrase], ({ prefix, kept }) => ({
      prefix: prefix.includes(phrase) ? "" : prefix,
      kept: kept.filter((one) => one !== phrase),
    }));
  }

  /** Produce a phrase again. */
  allow(phrase) {
    this.#changeBans(this.bans.filter((one) => one !== phrase), (choice) => choice);
  }

  /** Whether there is something to undo. */
  get changed() {
    return this.#undone.length > 0;
  }

  /** Take the last choice back. */
  undo() {
    const before = this.#undone.pop();
    if (before) [this.#choices, this.bans] = before;
  }

  /** Forget all choices. */
  reset() {
    [this.#choices, this.bans, this.#undone] = [new Map(), [], []];
  }

  /** What has been chosen for a sentence. */
  choice(sentence) {
    return this.#choices.get(this.#key(sentence)) ?? NO_CHOICE;
  }

  /** The attention of the best translation of a sentence under its choice: {rows, source, target} with labels. */
  async attention(sentence, signal) {
    const choice = this.choice(sentence);
    const options = { ...this.#optionsOf(sentence, choice), attention: true };
    const result = await this.#cache.one(sentence.text, options, signal);
    const [found] = result.sentences;
    const translation = found?.translations[choice.version];
    if (!translation?.attention) return null;
    return { rows: translation.attention, source: found.segments, target: translation.segments };
  }

  #passages(text) {
    if (this.source === AUTO) return [{ start: 0, text }];
    return [...text.matchAll(/[^\r\n]+/g)].map((found) => ({ start: found.index, text: found[0] }));
  }

  #options(source) {
    const options = { source, target: this.target, n_best: N_BEST };
    return this.bans.length ? { ...options, ban: this.bans } : options;
  }

  #pair({ source, target }) {
    return { source, target };
  }

  #optionsOf(sentence, { prefix, kept }) {
    const options = this.#options(sentence.source);
    if (prefix) options.prefix = prefix;
    if (kept.length) options.constraints = kept;
    return options;
  }

  #key(sentence) {
    return JSON.stringify([sentence.source, sentence.target, sentence.text]);
  }

  #choose(sentence, choice) {
    this.#change(() => (this.#choices = new Map(this.#choices).set(this.#key(sentence), choice)));
  }

  /** Other bans give other n-best lists, so that places in the old ones mean nothing. */
  #changeBans(bans, changed) {
    const choices = [...this.#choices].map(([key, choice]) => [key, { ...changed(choice), version: 0 }]);
    this.#change(() => ([this.bans, this.#choices] = [bans, new Map(choices)]));
  }

  #change(make) {
    this.#undone.push([this.#choices, this.bans]);
    make();
  }

  /**
   * A sentence under a choice: `version` is the translation to show, of which the first `given` characters are the
   * user's. As long as the result for the choice has not arrived, it is that without the choice.
   */
  #chosen(sentence, choice) {
    const found = asksMore(choice) && this.#cache.get(sentence.text, this.#optionsOf(sentence, choice))?.sentences[0];
    const chosen = found ? { ...sentence, ...alignedSentence(sentence.text, found, sentence.start) } : sentence;
    const version = chosen.versions[Math.min(choice.version, chosen.versions.length - 1)];
    return { ...chosen, version, given: found ? choice.prefix.length : 0 };
  }

  /**
   * {text, pieces, complete, detected}: pieces are {text} for what stands between sentences, {sentence} and, where
   * no result has arrived, {pending}.
   */
  #document(text, passages, options) {
    const pieces = [];
    let [place, complete, before, detected] = [0, true, "", null];
    const add = (between, after) => {
      const gap = before ? spaceBetween(before, between, after) : between;
      if (gap) pieces.push({ text: gap });
    };
    for (const passage of passages) {
      if (!passage.text.trim()) continue;
      const result = this.#cache.get(passage.text, options);
      if (!result) {
        add(text.slice(place, passage.start), "");
        pieces.push({ pending: passage.text });
        place = passage.start + passage.text.length;
        [complete, before] = [false, ""];
        continue;
      }
      detected ??= result.source;
      for (const found of sentencesOf(passage.text, result)) {
        const plain = { ...found, source: result.source, target: result.target };
        plain.start += passage.start;
        plain.end += passage.start;
        const sentence = this.#chosen(plain, this.choice(plain));
        add(text.slice(place, sentence.start), sentence.version.text);
        pieces.push({ sentence });
        [place, before] = [sentence.end, sentence.version.text];
      }
    }
    if (place < text.length) pieces.push({ text: text.slice(place) });
    return { text, pieces, complete, detected };
  }
}
