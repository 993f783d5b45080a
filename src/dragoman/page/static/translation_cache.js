// Asks the translator for texts, several at a time, and remembers its answers, so that only lines that have changed are
// translated while one types.

const MOST_CHARACTERS = 2000; // of a request, so that a long text appears piece by piece
const MOST_TEXTS = 50;
const REMEMBERED = 1000;

export class TranslationCache {
  #translator;
  #results = new Map(); // the least recently used first

  constructor(translator) {
    this.#translator = translator;
  }

  /** The remembered result for a text, if any. */
  get(text, options) {
    const key = keyOf(text, options);
    const found = this.#results.get(key);
    if (found) {
      this.#results.delete(key);
      this.#results.set(key, found);
    }
    return found;
  }

  /** Translate the texts that are not remembered; after each request `arrived` is called. */
  async fetch(texts, options, signal, arrived = () => {}) {
    const missing = [...new Set(texts)].filter((text) => !this.get(text, options));
    while (missing.length) {
      const some = [missing.shift()];
      let size = some[0].length;
      while (missing.length && some.length < MOST_TEXTS && (size += missing[0].length) <= MOST_CHARACTERS) some.push(missing.shift());
      const { results } = await this.#translator.translate({ text: some, ...options }, signal);
      some.forEach((text, place) => this.#remember(keyOf(text, options), results[place]));
      arrived();
    }
  }

  /** The result for one text. */
  async one(text, options, signal) {
    await this.fetch([text], options, signal);
    return this.get(text, options);
  }

  #remember(key, result) {
    this.#results.set(key, result);
    if (this.#results.size > REMEMBERED) this.#results.delete(this.#results.keys().next().value);
  }
}

const keyOf = (text, options) => JSON.stringify([text, options]);
