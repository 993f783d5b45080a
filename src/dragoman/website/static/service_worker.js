// Keeps the page for use without a network. The worker keeps the model and its runtime itself (downloads.js), in the same
// cache, once their digests are checked.

const VERSION = "";
const ROOT = new URL("./", self.location.href);
const CACHES_OF_SITE = `dragoman ${ROOT.pathname} `;
const CACHE = CACHES_OF_SITE + VERSION;
const LARGE = /^(model|runtime)\//;

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(removeOldVersions()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method === "GET" && origin === ROOT.origin && pathname.startsWith(ROOT.pathname)) {
    event.respondWith(answer(request));
  }
});

async function install() {
  const list = await fetch(new URL("site.json", ROOT), { cache: "no-cache" });
  const { version, files } = await list.clone().json();
  if (version !== VERSION) throw new Error("the folder is being replaced");
  const cache = await caches.open(CACHE);
  await cache.put(new URL("site.json", ROOT), list);
  const names = Object.keys(files).filter((name) => !LARGE.test(name));
  await Promise.all(names.map((name) => keep(cache, name, files[name])));
}

async function keep(cache, name, { sha256 }) {
  const response = await fetch(new URL(name, ROOT), { cache: "no-cache" });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer()));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!response.ok || found !== sha256) throw new Error(`${name} is missing or damaged`);
  await cache.put(new URL(name, ROOT), response);
}

async function removeOldVersions() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(CACHES_OF_SITE) && name !== CACHE).map((name) => caches.delete(name)));
}

/** A file of this version, else from the network; the folder's address stands for index.html. */
async function answer(request) {
  const address = new URL(request.url);
  address.search = "";
  if (address.pathname === ROOT.pathname) address.pathname += "index.html";
  const cache = await caches.open(CACHE);
  return (await cache.match(address.href)) ?? fetch(request);
}
