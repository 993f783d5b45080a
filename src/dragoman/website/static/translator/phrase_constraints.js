// Phrases that must appear in a translation: automata over ids, as search/phrase_constraints.py has them.

export class PhraseConstraints {
  #phrases;
  #moves;

  constructor(phrases) {
    const unique = new Map(phrases.filter((ids) => ids.length).map((ids) => [ids.join(), ids]));
    this.#phrases = [...unique.values()];
    this.#moves = this.#phrases.map(automaton);
    this.count = this.#phrases.reduce((sum, ids) => sum + ids.length, 0); // ids to be met
    this.ids = [...new Set(this.#phrases.flat())]; // those that lead to any other state than the first
  }

  /** For each phrase the number of its ids that the segments end with; all of them once it has appeared. */
  state(ids) {
    return ids.reduce(
      (state, id) => this.after(state, id),
      this.#phrases.map(() => 0),
    );
  }

  after(state, id) {
    return state.map((place, n) => (place === this.#phrases[n].length ? place : (this.#moves[n][place].get(id) ?? 0)));
  }

  /** Ids met: those of the phrases that have appeared, and of the furthest of the others. */
  met(state) {
    let whole = 0;
    let furthest = 0;
    state.forEach((place, n) => {
      if (place === this.#phrases[n].length) whole += place;
      else furthest = Math.max(furthest, place);
    });
    return whole + furthest;
  }

  /** The ids that advance a missing phrase. */
  next(state) {
    return state.flatMap((place, n) => (place < this.#phrases[n].length ? [this.#phrases[n][place]] : []));
  }
}

/** For each number of matched ids the number after each id of the phrase (Knuth, Morris and Pratt 1977). */
function automaton(phrase) {
  return phrase.map((_, matched) => {
    const next = new Map();
    for (const id of new Set(phrase)) {
      const seen = [...phrase.slice(0, matched), id];
      let length = seen.length;
      while (length && !phrase.slice(0, length).every((one, at) => seen[seen.length - length + at] === one)) length--;
      next.set(id, length);
    }
    return next;
  });
}
