// Files of the site, fetched with progress, checked against their digests, and kept for use without a network.

import { Failure } from "./failure.js";

const MEGABYTE = 1e6;

/** The name of the cache of this site and version; the service worker uses the same. */
export function cacheName(root, version) {
  return `dragoman ${new URL(root).pathname} ${version}`;
}

export class Downloads {
  #root;
  #site;
  #report;
  #loaded = new Map(); // name -> bytes so far
  #fresh = new Map(); // name -> bytes that are not in the cache

  /** `root` is the address of the site's folder, `site` its site.json; `report({loaded, total})` is called in bytes. */
  constructor(root, site, report) {
    this.#root = root;
    this.#site = site;
    this.#report = report;
  }

  /** The bytes of files by their names. */
  async all(names) {
    const total = names.reduce((sum, name) => sum + this.#facts(name).bytes, 0);
    const found = await Promise.allSettled(names.map((name) => this.#one(name, total)));
    const failed = found.find(({ status }) => status === "rejected");
    if (failed) {
      await this.keep(); // so that the next attempt goes on from there
      throw failed.reason;
    }
    return Object.fromEntries(names.map((name, place) => [name, found[place].value]));
  }

  /** Keep what has been fetched and is intact. */
  async keep() {
    const cache = await openCache(cacheName(this.#root, this.#site.version));
    for (const [name, bytes] of this.#fresh) {
      const headers = { "Content-Type": name.endsWith(".js") ? "text/javascript" : "application/octet-stream" };
      // Without room in the browser's storage the page works all the same, with a network.
      await cache?.put(this.#address(name), new Response(bytes, { headers })).catch(() => {});
    }
    this.#fresh.clear();
  }

  async #one(name, total) {
    const cache = await openCache(cacheName(this.#root, this.#site.version));
    const kept = await cache?.match(this.#address(name));
    if (kept) {
      const bytes = new Uint8Array(await kept.arrayBuffer());
      if (await this.#isIntact(name, bytes)) {
        this.#count(name, bytes.length, total);
        return bytes;
      }
    }
    let bytes = await this.#fetched(name, total, "default");
    // The browser may have kept a copy of another version.
    if (!(await this.#isIntact(name, bytes))) bytes = await this.#fetched(name, total, "reload");
    if (!(await this.#isIntact(name, bytes))) {
      throw new Failure("failed", `${name} is damaged: it is not the file that was exported. The folder must be copied to its host again.`);
    }
    this.#fresh.set(name, bytes);
    return bytes;
  }

  async #fetched(name, total, mode) {
    const size = this.#facts(name).bytes;
    const parts = [];
    let length = 0;
    try {
      const response = await fetch(this.#address(name), { cache: mode });
      if (!response.ok) throw new Failure("failed", `${name} is missing on the host (HTTP status ${response.status}).`);
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        length += value.length;
        this.#count(name, Math.min(length, size), total);
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
      const [some, all] = [length, size].map((bytes) => (bytes / MEGABYTE).toFixed(1));
      throw new Failure("unreachable", `The download of ${name} broke off after ${some} of ${all} MB.`);
    }
    return joined(parts, length);
  }

  #count(name, bytes, total) {
    this.#loaded.set(name, bytes);
    this.#report({ loaded: [...this.#loaded.values()].reduce((sum, one) => sum + one, 0), total });
  }

  /** Whether bytes are those that were exported. Digests can be computed on https and localhost only. */
  async #isIntact(name, bytes) {
    const { bytes: size, sha256 } = this.#facts(name);
    if (bytes.length !== size) return false;
    if (!globalThis.crypto?.subtle) return true;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
  }

  #facts(name) {
    const facts = this.#site.files[name];
    if (!facts) throw new Failure("failed", `site.json does not list ${name}. The folder must be copied to its host again.`);
    return facts;
  }

  #address(name) {
    return new URL(name, this.#root).href;
  }
}

/** The cache; null where the browser has none (on http) or refuses it. */
async function openCache(name) {
  return (await globalThis.caches?.open(name).catch(() => null)) ?? null;
}

function joined(parts, length) {
  const whole = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}
