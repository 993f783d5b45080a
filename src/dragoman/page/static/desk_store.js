// Keeps the document at the desk in the browser (IndexedDB), segment by segment, so that a reload loses nothing.

const NAME = "dragoman.desk";
const [FACTS, SEGMENTS] = ["facts", "segments"];
const [DOCUMENT, FILE, MEMORY] = ["document", "file", "memory"]; // apart from each other, because the first changes often

/** The store, or null where the browser forbids it. */
export async function openStore() {
  try {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => [FACTS, SEGMENTS].forEach((name) => request.result.createObjectStore(name));
    return new DeskStore(await done(request));
  } catch {
    return null;
  }
}

class DeskStore {
  #database;

  constructor(database) {
    this.#database = database;
  }

  /** {facts, segments, pairs} of the document that was kept, or null. */
  async load() {
    const { facts: store, segments: rows } = this.#stores("readonly");
    const [facts, file, pairs, segments] = await Promise.all([
      ...[DOCUMENT, FILE, MEMORY].map((key) => done(store.get(key))),
      done(rows.getAll()), // the keys are places, in whose order all are returned
    ]);
    return facts ? { facts: { ...facts, file }, segments, pairs: pairs ?? [] } : null;
  }

  /** Keep a document in the place of the last one. */
  begin({ file, ...facts }, segments) {
    const stores = this.#stores("readwrite");
    stores.segments.clear();
    stores.facts.clear();
    stores.facts.put(facts, DOCUMENT);
    stores.facts.put(file, FILE);
    segments.forEach((segment, place) => stores.segments.put(segment, place));
    return stores.commit();
  }

  /** Keep what is known of the document beside its segments. */
  putFacts({ file, ...facts }) {
    const stores = this.#stores("readwrite");
    stores.facts.put(facts, DOCUMENT);
    return stores.commit();
  }

  /** Keep the pairs of the memory that was opened. */
  putMemory(pairs) {
    const stores = this.#stores("readwrite");
    stores.facts.put(pairs, MEMORY);
    return stores.commit();
  }

  /** Keep segments that have changed: [[place, segment]]. */
  putSegments(changes) {
    const stores = this.#stores("readwrite");
    for (const [place, segment] of changes) stores.segments.put(segment, place);
    return stores.commit();
  }

  /** Forget the document. */
  clear() {
    const stores = this.#stores("readwrite");
    stores.facts.clear();
    stores.segments.clear();
    return stores.commit();
  }

  #stores(mode) {
    const transaction = this.#database.transaction([FACTS, SEGMENTS], mode);
    const completed = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const commit = () => {
      transaction.commit(); // a page that is left at once would abort it otherwise
      return completed;
    };
    return { facts: transaction.objectStore(FACTS), segments: transaction.objectStore(SEGMENTS), commit };
  }
}

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
