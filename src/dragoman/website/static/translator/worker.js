// The worker that translates, so that the page never waits: one request after the other.
//
// It is sent {id, method, request}, and {id} to abort; it answers {id, result} or {id, failure: {kind, message}}, and
// reports {progress: {loaded, total}} while it fetches the model.

import { Downloads } from "./downloads.js";
import { Failure } from "./failure.js";
import { openModel } from "./model_files.js";
import { NativeApi } from "./native_api.js";

const ROOT = new URL("..", import.meta.url).href;
const aborted = new Set();
let opening = null; // a promise of {api, languages}
let queue = Promise.resolve();

self.onmessage = ({ data: { id, method, request } }) => {
  if (!method) {
    aborted.add(id);
    return;
  }
  queue = queue.then(() => answer(id, method, request));
};

async function answer(id, method, request) {
  try {
    const result = await METHODS[method](request, () => pause(id));
    self.postMessage({ id, result });
  } catch (error) {
    const kind = error.kind ?? "failed";
    self.postMessage({ id, failure: { kind, message: String(error.message ?? error) } });
  } finally {
    aborted.delete(id);
  }
}

const METHODS = {
  async languages() {
    return (await open()).languages;
  },
  async translate(request, pausing) {
    await pausing();
    return (await open()).api.translate(request, pausing);
  },
  async complete(request, pausing) {
    await pausing();
    return (await open()).api.complete(request, pausing);
  },
};

/** Let messages come in; end the work of an aborted request. */
async function pause(id) {
  await new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
  if (aborted.has(id)) throw new Failure("failed", "aborted");
}

/** The model; after a failure it is fetched again with the next request. */
function open() {
  opening ??= fetchModel().catch((error) => {
    opening = null;
    throw error;
  });
  return opening;
}

async function fetchModel() {
  const site = await openSite();
  const report = (progress) => self.postMessage({ progress });
  const downloads = new Downloads(ROOT, site, report);
  const translator = await openModel(ROOT, site, downloads);
  downloads.keep(); // not awaited: writing takes longer than a translation
  const { languages } = site.model;
  return { api: new NativeApi(translator, languages), languages };
}

async function openSite() {
  let response;
  try {
    response = await fetch(new URL("site.json", ROOT), { cache: "no-cache" });
  } catch {
    throw new Failure("unreachable", "site.json cannot be fetched.");
  }
  try {
    return await response.json();
  } catch {
    throw new Failure("failed", "site.json is missing or damaged. The folder must be copied to its host again.");
  }
}
