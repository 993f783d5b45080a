// Phrases that must appear in a translation as whole words: automata over ids, as search/phrase_constraints.py has them.

import { EOS, PAD } from "./text_side.js";
import { LETTER, MARK, OTHER } from "./word_boundaries.js";

const INSIDE = -1; // the state of a phrase that cannot begin here, because it would go on with a word

export class PhraseConstraints {
  #phrases;
  #boundaries;

  /** `boundaries` are those of the target vocabulary (word_boundaries.js); with null phrases may appear anywhere. */
  constructor(phrases, boundaries) {
    const unique = new Map(phrases.filter((ids) => ids.length).map((ids) => [ids.join(), ids]));
    this.#boundaries = boundaries;
    this.#phrases = [...unique.values()].map((ids) => new Phrase(ids, boundaries));
    const spaces = this.#phrases.flatMap(({ space }) => space ?? []);
    this.ids = [...new Set([...this.#phrases.flatMap(({ ids }) => ids), ...spaces])]; // they lead to another state than all others of their kind
  }

  /** For each phrase of n ids the number of them that the segments end with; n + 1 once it has appeared for good. */
  state(ids) {
    return ids.reduce(
      (state, id) => this.after(state, id),
      this.#phrases.map(() => 0),
    );
  }

  after(state, id) {
    const { begins, ends } = this.#boundaries ?? {};
    return this.#after(state, id, begins?.[id] ?? OTHER, ends?.[id] ?? false);
  }

  #after(state, id, begins, ends) {
    return state.map((place, n) => this.#phrases[n].after(place, id, begins, ends));
  }

  /** {met, missing}: ids met, and so many more segments meet all phrases. */
  progress(state) {
    const places = state.map((place, n) => [place, this.#phrases[n]]);
    const needed = (some) => some.reduce((sum, [, phrase]) => sum + phrase.needed, 0);
    const appeared = places.filter(([place, { ids }]) => place >= ids.length);
    const now = places.filter(([place, { ids }]) => place === ids.length);
    const absent = places.filter(([place, { ids }]) => place < ids.length);
    const furthest = Math.max(0, ...absent.map(([place]) => place));
    const without = needed(absent);
    // To continue a phrase inside a word is to lose those that have appeared for now.
    const ways = absent.map(([place, phrase]) => {
      const lost = now.length && place > 0 && phrase.goesOn(place) ? needed(now) : 0;
      return without + lost - phrase.advance(place);
    });
    return {
      met: appeared.reduce((sum, [, { ids }]) => sum + ids.length, 0) + furthest,
      missing: Math.min(without, ...ways),
    };
  }

  /** {own, others}: the progress after EOS and each of `ids`, a Map, and after any other by its kind. */
  outcomes(state) {
    return {
      own: new Map([...this.ids, EOS].map((id) => [id, this.progress(this.after(state, id))])),
      others: [OTHER, LETTER, MARK].flatMap((begins) =>
        [false, true].map((ends) => this.progress(this.#after(state, PAD, begins, ends))),
      ),
    };
  }

  /** The kind of a segment: its place in `others`. */
  kind(id) {
    return this.#boundaries ? 2 * this.#boundaries.begins[id] + Number(this.#boundaries.ends[id]) : 0;
  }

  /** The ids that advance a missing phrase. */
  next(state) {
    return state.flatMap((place, n) => {
      const { ids, space } = this.#phrases[n];
      return place < ids.length ? [place === INSIDE ? space : ids[place]] : [];
    });
  }
}

class Phrase {
  #boundaries;
  #moves;

  constructor(ids, boundaries) {
    this.ids = ids;
    this.#boundaries = boundaries;
    this.space = boundaries && boundaries.begins[ids[0]] === LETTER ? boundaries.space : null; // what must precede it inside a word
    this.needed = ids.length + Number(this.space !== null); // segments with which it appears at any place
    this.#moves = [...ids, null].map((_, matched) => this.#movesAfter(matched));
  }

  /** For a number of matched ids the number after each id of the phrase (Knuth, Morris and Pratt 1977). */
  #movesAfter(matched) {
    const moves = new Map();
    for (const id of new Set(this.ids)) {
      const seen = [...this.ids.slice(0, matched), id];
      for (let length = Math.min(seen.length, this.ids.length); length > 0; length--) {
        const start = seen.length - length;
        const same = this.ids.slice(0, length).every((one, at) => seen[start + at] === one);
        if (same && (start === 0 || this.space === null || !this.#boundaries.ends[seen[start - 1]])) {
          moves.set(id, length);
          break;
        }
      }
    }
    return moves;
  }

  /** Whether the id at a place goes on with the word of the one before it. */
  goesOn(place) {
    if (!this.#boundaries) return false;
    return continues(this.#boundaries.begins[this.ids[place]], this.#boundaries.ends[this.ids[place - 1]]);
  }

  /** The segments of `needed` that a state has behind it. */
  advance(place) {
    return Math.max(place, 0) + Number(this.space !== null && place !== INSIDE);
  }

  after(place, id, begins, ends) {
    const { length } = this.ids;
    if (place > length) return place;
    if (place === length && !continues(begins, this.#boundaries.ends[this.ids.at(-1)])) return place + 1;
    const next = place === INSIDE ? 0 : (this.#moves[place].get(id) ?? 0);
    if (next === length && !this.#boundaries) return next + 1;
    return next === 0 && this.space !== null && ends ? INSIDE : next;
  }
}

function continues(begins, ends) {
  return begins === MARK || (begins === LETTER && ends);
}
