// The translator behind the page: the server's HTTP API.
//
// The interface. A module that takes the place of this one exports `createTranslator(report)`, which returns (or
// promises) an object with:
//
//   settings(signal)           promises the JSON of GET /frontend/settings
//   languages(signal)          promises the JSON of GET /languages
//   translate(request, signal) promises the JSON of POST /v1/translate for its JSON body
//   complete(request, signal)  promises the JSON of POST /v1/complete for its JSON body
//   detects                    whether a source "auto" is possible
//   setKey(key)                optional: the API key of the requests that follow
//   glossaries                 whether requests may have one
//   translateFile(file, source, target, signal)
//                              optional: promises {name, url, note} of the translated file
//   openDocument(file, source, target, signal)
//                              optional: promises the JSON of POST /v1/documents
//   finishDocument(facts, segments, form, signal)
//                              optional: promises {name, blob, note} of the document with the targets of its segments;
//                              `facts` has the file, the languages and the digest, `note` is what is to be said of it
//   correct(request, signal)   optional: promises the JSON of POST /v1/corrections for its JSON body
//   corrections(source, target, signal)
//                              optional: promises the JSON of GET /v1/corrections without the corrections
//   withdraw(request, signal)  optional: takes the last correction out that is this request of `correct`
//
// Requests and results have exactly the fields that /spec describes; spans count code points. `signal` is an
// AbortSignal: once it is aborted, promises reject with its reason and work on them stops. All other failures are
// a TranslatorError. `report({loaded, total})` may be called, in bytes, while the translator fetches what it needs.

import { TranslatorError } from "./translator_error.js";

const NONE = 999999999; // the number of a correction that none follows

export function createTranslator() {
  return new HttpTranslator();
}

class HttpTranslator {
  #key = "";

  detects = true;
  glossaries = true;

  setKey(key) {
    this.#key = key;
  }

  settings(signal) {
    return this.#fetch("frontend/settings", { signal });
  }

  languages(signal) {
    return this.#fetch("languages", { signal });
  }

  translate(request, signal) {
    return this.#post("v1/translate", request, signal);
  }

  complete(request, signal) {
    return this.#post("v1/complete", request, signal);
  }

  async translateFile(file, source, target, signal) {
    const body = this.#form({ file, source, target });
    const { translatedFileUrl, note } = await this.#fetch("translate_file", { method: "POST", body, signal });
    const { pathname } = new URL(translatedFileUrl); // its host may be that of a proxy
    return { name: pathname.slice(pathname.lastIndexOf("/") + 1), url: pathname, note };
  }

  openDocument(file, source, target, signal) {
    return this.#fetch("v1/documents", { method: "POST", body: this.#form({ file, source, target }), signal });
  }

  async finishDocument({ file, source, target, digest }, segments, form, signal) {
    const isKept = ({ origin, confirmed }) => origin === "file" || (origin === "review" && !confirmed);
    const isLeft = (one) => isKept(one) || !one.target || (form === "tmx" && !one.confirmed);
    const targets = JSON.stringify(segments.map((one) => (isLeft(one) ? null : one.target)));
    const confirmed = JSON.stringify(segments.map((one) => one.confirmed));
    const body = this.#form({ file, source, target, digest, targets, confirmed, form });
    const response = await this.#answer("v1/documents/finished", { method: "POST", body, signal });
    const name = /filename="([^"]*)"/.exec(response.headers.get("Content-Disposition"))?.[1] ?? file.name;
    return { name, blob: await response.blob(), note: response.headers.get("Dragoman-Note") };
  }

  correct(request, signal) {
    return this.#post("v1/corrections", request, signal);
  }

  corrections(source, target, signal) {
    const query = new URLSearchParams({ source, target, after: NONE });
    return this.#fetch(`v1/corrections?${query}`, { headers: this.#authorization(), signal });
  }

  async withdraw({ source, target, text, translation }, signal) {
    const languages = new URLSearchParams({ source, target });
    const options = { headers: this.#authorization(), signal };
    const { corrections } = await this.#fetch(`v1/corrections?${languages}`, options);
    const last = corrections.findLast((one) => one.text === text && one.translation === translation);
    if (!last) return;
    const query = `${languages}&${new URLSearchParams({ text })}`;
    await this.#fetch(`v1/corrections/${last.number}?${query}`, { ...options, method: "DELETE" });
  }

  #form(fields) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    if (this.#key) body.append("api_key", this.#key);
    return body;
  }

  #authorization() {
    return this.#key ? { Authorization: `Bearer ${this.#key}` } : {};
  }

  #post(path, request, signal) {
    const headers = { "Content-Type": "application/json", ...this.#authorization() };
    return this.#fetch(path, { method: "POST", headers, body: JSON.stringify(request), signal });
  }

  async #fetch(path, options) {
    const response = await this.#answer(path, options);
    try {
      return await response.json();
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new TranslatorError("unreachable", String(error)); // it broke off, or a proxy wrote it
    }
  }

  /** A response that is no failure. */
  async #answer(path, options) {
    let response, answer;
    try {
      response = await fetch(path, { ...options, credentials: "same-origin", redirect: "error" });
      if (response.ok) return response;
      answer = await response.json();
    } catch (error) {
      if (options.signal?.aborted) throw error;
      // No answer, one that broke off, or one that a proxy wrote.
      if (!response || response.status >= 502) throw new TranslatorError("unreachable", String(error));
    }
    const message = answer?.detail ?? answer?.error ?? `HTTP ${response.status}`;
    throw new TranslatorError(kindOf(response.status, message), message, retryAfter(response));
  }
}

function kindOf(status, message) {
  if (status === 403 || (status === 400 && /API key/.test(message))) return "key";
  if (status === 429 || status === 503) return "busy";
  return status < 500 ? "refused" : "failed";
}

function retryAfter(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  return Number.isFinite(seconds) && seconds > 0 ? seconds : 1;
}
