// What the translator contributes to a document: translations of segments, in the background, and lessons that it takes.

import { sentencesOf } from "./aligned_text.js";
import { termsIn } from "./desk_checks.js";
import { isOpen, isUntouched } from "./desk_project.js";

const AHEAD = 20; // segments below the one at work that are translated anew when the model has changed
const MOST_TEXTS = 20; // of a request, so that the first rows are there soon
const MOST_CHARACTERS = 2000;
const MOST_TERMS = 200;
const POLLING = 2000; // milliseconds

export class DeskTranslation {
  #translator;
  #project;
  #facts;
  #memory;
  #condition;
  #running = null; // an AbortController
  #place = 0;
  #polling = null;
  #teaching = false;
  #ended = false;

  /**
   * `facts`: the languages, `glossary` and `epoch` of the document, which is the number of times that model or glossary have
   * changed. `memory`: whose translations are taken where a source is in it. `condition`: working(), done(), failed(error),
   * refused(place, error) for a lesson, told(text), changed() after a change of `facts`.
   */
  constructor(translator, project, facts, memory, condition) {
    [this.#translator, this.#project, this.#facts, this.#memory, this.#condition] = [translator, project, facts, memory, condition];
  }

  /** Translate what has no translation, and what lies ahead of `place` and is no longer up to date. */
  async run(place = this.#place) {
    this.#place = place;
    this.#recall();
    if (this.#running) return;
    const { signal } = (this.#running = new AbortController());
    try {
      for (let some; (some = this.#next()).length && !signal.aborted; ) await this.#translate(some, signal);
      if (!signal.aborted) this.#condition.done();
    } catch (error) {
      if (!signal.aborted) this.#condition.failed(error);
    } finally {
      if (this.#running?.signal === signal) this.#running = null;
    }
  }

  /** Model or glossary have changed. */
  renew() {
    this.#facts.epoch += 1;
    this.#condition.changed();
    this.stop();
    this.run();
  }

  /** End what is running. */
  stop() {
    this.#running?.abort();
    this.#running = null;
  }

  /** Contribute nothing any more: the document is left. */
  end() {
    this.#ended = true;
    this.stop();
    clearTimeout(this.#polling);
  }

  /** Teach the translator what has been confirmed, one after the other. */
  async teach() {
    if (this.#teaching || !this.#translator.correct || !this.#facts.teaches) return;
    this.#teaching = true;
    try {
      for (let place; (place = this.#project.segments.findIndex(isToTeach)) >= 0; ) {
        const segment = this.#project.segments[place];
        const { source, target } = this.#facts;
        try {
          await this.#translator.correct({ source, target, text: segment.source, translation: segment.target });
          if (this.#ended) return;
        } catch (error) {
          if (this.#ended) return;
          if (error.kind === "key") this.#facts.teaches = false; // the key lacks the right
          else if (error.kind !== "refused") throw error;
          this.#condition.refused(place, error);
          if (!this.#facts.teaches) return;
        }
        this.#project.offer([[place, { taught: segment.target }]]);
      }
      this.poll();
    } catch (error) {
      this.#condition.failed(error);
    } finally {
      this.#teaching = false;
    }
  }

  /** Take back what the translator was taught by these segments. */
  async withdraw(segments) {
    if (!this.#translator.withdraw || !this.#facts.teaches) return;
    const { source, target } = this.#facts;
    try {
      for (const { source: text, taught } of segments) await this.#translator.withdraw({ source, target, text, translation: taught });
      if (!this.#ended) this.poll();
    } catch (error) {
      if (!this.#ended) this.#condition.failed(error);
    }
  }

  /** Watch what the translator has learnt, and translate anew when it has. */
  async poll() {
    if (!this.#translator.corrections || !this.#facts.teaches) return;
    clearTimeout(this.#polling);
    const { source, target } = this.#facts;
    try {
      const { revision, waiting } = await this.#translator.corrections(source, target);
      if (this.#ended) return;
      const before = this.#facts.revision ?? revision;
      this.#facts.revision = revision;
      if (revision === before) this.#condition.changed();
      else this.renew();
      if (waiting) this.#polling = setTimeout(() => this.poll(), POLLING);
    } catch {
      // it is asked again after the next lesson
    }
  }

  /** Take what the memory has. */
  #recall() {
    if (!this.#memory.size) return;
    const { segments } = this.#project;
    const isKnown = (place) => isOpen(segments[place]) && isUntouched(segments[place]) && this.#known(place) !== undefined;
    const isNew = (place) => segments[place].target !== this.#known(place);
    const changes = [...segments.keys()].filter((place) => isKnown(place) && isNew(place)).map((place) => [place, fromMemory(this.#known(place))]);
    if (changes.length) this.#project.offer(changes);
  }

  /** The translation of a segment that is in the memory. */
  #known(place) {
    return this.#memory.exact(this.#project.segments[place].source);
  }

  /** The places that are translated next, at first those from the one at work on. */
  #next() {
    const { segments } = this.#project;
    const all = [...segments.keys()];
    const order = [...all.slice(this.#place), ...all.slice(0, this.#place)];
    const isWanted = (place) => {
      const segment = segments[place];
      if (!isOpen(segment) || !isUntouched(segment) || segment.epoch === this.#facts.epoch || this.#known(place) !== undefined) return false;
      return !segment.target || (place >= this.#place && place < this.#place + AHEAD);
    };
    const some = [];
    let size = 0;
    for (const place of order.filter(isWanted).sort((one, other) => Boolean(segments[one].target) - Boolean(segments[other].target))) {
      size += segments[place].source.length;
      if (some.length && (some.length === MOST_TEXTS || size > MOST_CHARACTERS)) break;
      some.push(place);
    }
    return some;
  }

  async #translate(places, signal) {
    const { epoch } = this.#facts;
    this.#condition.working();
    try {
      await this.#ask(places, epoch, signal);
    } catch (error) {
      if (error.kind !== "refused" || signal.aborted) throw error;
      this.#condition.told(error.message);
      if (places.length === 1) this.#offer([[places[0], { epoch, origin: "", target: "", offered: "" }]]);
      else for (const place of places) await this.#translate([place], signal);
    }
  }

  /** Ask the translator for translations of the segments at some places. */
  async #ask(places, epoch, signal) {
    const { source, target } = this.#facts;
    const texts = places.map((place) => this.#project.segments[place].source);
    const request = { text: texts, source, target };
    const glossary = this.#translator.glossaries ? termsIn(texts, this.#facts.glossary).slice(0, MOST_TERMS) : [];
    if (glossary.length) request.glossary = Object.fromEntries(glossary.map(({ term, translation }) => [term, translation]));
    const { results } = await this.#translator.translate(request, signal).catch((error) => {
      if (error.kind !== "refused" || !glossary.length) throw error;
      this.#condition.told(error.message); // a term that the model cannot write
      delete request.glossary;
      return this.#translator.translate(request, signal);
    });
    this.#offer(places.map((place, number) => [place, { ...fromResult(texts[number], results[number]), epoch }]));
  }

  /** Take in translations of segments that nobody has touched meanwhile. */
  #offer(changes) {
    this.#project.offer(changes.filter(([place]) => isUntouched(this.#project.segments[place])));
  }
}

/** A translation of a memory, as fields of a segment. */
export const fromMemory = (target) => ({ target, offered: target, origin: "memory", units: [], confidence: null, doubt: null });

const isToTeach = ({ confirmed, origin, target, taught }) => confirmed && origin !== "file" && origin !== "repetition" && target && target !== taught;

/** A result of `translate` for the source of a segment, as fields of the segment. */
function fromResult(text, result) {
  const sentences = sentencesOf(text, result);
  const best = result.sentences.map(({ translations }) => translations[0]);
  const units = [];
  let place = 0;
  for (const { versions: [version] } of sentences) {
    const start = result.text.indexOf(version.text, place);
    place = start + version.text.length;
    for (const unit of version.units) units.push({ start: start + unit.start, end: start + unit.end, logProbability: unit.logProbability });
  }
  const [worst] = best.filter(({ confidence }) => confidence !== undefined && confidence !== null).sort((one, other) => one.confidence - other.confidence);
  return {
    target: result.text,
    offered: result.text,
    origin: best.length && best.every((one) => one.from_memory) ? "memory" : "model",
    units,
    confidence: worst?.confidence ?? null,
    doubt: worst?.doubt ?? null,
    matches: result.sentences.length === 1 ? (result.sentences[0].matches ?? []) : [],
  };
}
