// What translates for the page: the exported model, in a worker of this browser.

import { languageName } from "./messages.js";
import { TranslatorError } from "./translator_error.js";

const WORKER = new URL("translator/worker.js", import.meta.url).href;
const SERVICE_WORKER = new URL("service_worker.js", import.meta.url).href;
const MAX_CHARACTERS = 20000;

// The page's policy lets scripts start from two addresses only.
const policy = globalThis.trustedTypes?.createPolicy("dragoman", {
  createScriptURL(address) {
    if (address === WORKER || address === SERVICE_WORKER) return address;
    throw new TypeError(`no script of this page: ${address}`);
  },
});
const trusted = (address) => policy?.createScriptURL(address) ?? address;

/**
 * A translator whose model is loaded. See the head of http_translator.js in the server's page for the interface.
 *
 * The promise is rejected with a TranslatorError if a file cannot be fetched or is damaged.
 */
export async function createTranslator(report = () => {}) {
  const translator = new BrowserTranslator(report);
  await translator.load();
  // Without a service worker (on http, or where it is switched off) the page needs the network, and no more. It is started
  // late, because it fetches the page once more.
  navigator.serviceWorker?.register(trusted(SERVICE_WORKER)).catch(() => {});
  return translator;
}

class BrowserTranslator {
  #worker = null;
  #report;
  #waiting = new Map(); // id -> {resolve, reject}
  #last = 0;
  #pair = []; // source and target: {code, name}

  detects = false;
  glossaries = false;

  constructor(report) {
    this.#report = report;
  }

  async load() {
    try {
      const { source, target } = await this.#send("languages");
      this.#pair = [source, target].map((code) => ({ code, name: languageName(code, code) }));
    } catch (error) {
      this.#worker?.terminate();
      throw error;
    }
  }

  async settings() {
    const [source, target] = this.#pair;
    return {
      charLimit: MAX_CHARACTERS,
      frontendTimeout: 500,
      apiKeys: false,
      keyRequired: false,
      suggestions: false,
      filesTranslation: false,
      supportedFilesFormat: [],
      language: { source, target },
    };
  }

  async languages() {
    const [source, target] = this.#pair;
    return [
      { ...source, targets: [target.code] },
      { ...target, targets: [] },
    ];
  }

  translate(request, signal) {
    return this.#send("translate", request, signal);
  }

  complete(request, signal) {
    return this.#send("complete", request, signal);
  }

  #start() {
    this.#worker = new Worker(trusted(WORKER), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#stop(event);
  }

  /** The worker cannot be loaded, or has ended with an error of its own; the next request starts another. */
  #stop(event) {
    event.preventDefault();
    this.#worker.terminate();
    this.#worker = null;
    const why = event.message || "a file of the folder translator/ is missing or cannot be fetched";
    for (const { reject } of this.#waiting.values()) reject(new TranslatorError("failed", `The translator ended: ${why}.`));
    this.#waiting.clear();
  }

  #send(method, request, signal) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#worker) this.#start();
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, request });
      signal?.addEventListener("abort", () => {
        if (!this.#waiting.delete(id)) return;
        this.#worker.postMessage({ id });
        reject(signal.reason);
      });
    });
  }

  #receive({ id, result, failure, progress }) {
    if (progress) {
      this.#report(progress);
      return;
    }
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (failure) reject?.(new TranslatorError(failure.kind, failure.message));
    else resolve?.(result);
  }
}
