// The desk: a document is translated segment by segment, with the model, a memory and a glossary at hand.

import { showDone, showFailure, showLoading, showWorking } from "./condition.js";
import { parseGlossary } from "./desk_checks.js";
import { divide, finish } from "./desk_document.js";
import { Editor } from "./desk_editor.js";
import { readTmx } from "./desk_exchange.js";
import { Memory } from "./desk_memory.js";
import { isOpen, Project, segmentsOf } from "./desk_project.js";
import { Rows } from "./desk_rows.js";
import { open as openSearch, prepareSearch, recount } from "./desk_search.js";
import { openStore } from "./desk_store.js";
import { DeskTranslation, fromMemory } from "./desk_translation.js";
import { find } from "./dom.js";
import { acceptDrops, suffixOf } from "./files.js";
import { LanguageChoice } from "./language_choice.js";
import { formatted, message } from "./messages.js";
import { preparePreferences } from "./preferences.js";
import { createTranslator } from "./translator.js";
import { TranslatorError } from "./translator_error.js";

const REST = 1000; // milliseconds without a key after which what is typed next is undone for itself
const LOCK = "dragoman.desk";
const LEAVING = 500; // milliseconds in which a page that is loaded anew gives its lock back

let translator, settings, languages, store;
let work = null; // the document: {facts, project, rows, translation, memory, own, pairs, place}
let resting;

const editor = new Editor({
  typed(text) {
    clearTimeout(resting);
    resting = setTimeout(() => work?.project.pause(), REST);
    edit({ target: text, origin: "person", confirmed: false }, `typing ${work.place}`);
  },
  accept(target, offered) {
    work.project.pause();
    edit({ target, offered, origin: "person", confirmed: false, units: [], confidence: null, doubt: null });
  },
  confirm: () => confirm(work.place),
  move: (by) => {
    const place = work.place + by;
    if (work.project.segments[place] && isOpen(work.project.segments[place])) open(place, 0);
  },
  undo: () => travel("undo"),
  redo: () => travel("redo"),
  async completions(prefix, signal) {
    const { source, target } = work.facts;
    const { completions } = await translator.complete({ text: work.project.segments[work.place].source, source, target, prefix }, signal);
    return completions;
  },
});

/** Say something that is no failure; it stays until it is closed, or something else is said. */
function tell(text) {
  find("notice").hidden = !text;
  find("notice-text").textContent = text;
}

// A document

/** Divide a file into segments and begin to work on it. */
async function begin(file) {
  tell("");
  showWorking();
  try {
    const { facts, found } = await divide(translator, file, ...languages.pair);
    showDone();
    if (!found.length) return tell(message("noSegments", file.name));
    const segments = segmentsOf(found);
    Object.assign(facts, { glossary: [], glossaryText: "", epoch: 0, place: 0 });
    await keep(store?.begin(facts, segments));
    show(facts, segments, []);
  } catch (error) {
    showDone();
    if (error instanceof TypeError) return tell(suffixOf(file.name) === ".txt" ? message("notText", file.name) : message("notSupported", file.name, ".txt"));
    showFailure(error, () => begin(file));
    if (!(error instanceof TranslatorError)) throw error;
  }
}

/** Show a document and go on with it; `pairs` are those of the memory that was opened. */
function show(facts, segments, pairs) {
  facts.teaches = Boolean(settings.suggestions);
  const memory = new Memory(); // what was opened
  for (const { source, target } of pairs) memory.add(source, target);
  const project = new Project(segments, changed);
  const rows = new Rows(project, facts, editor, { open, toggle, matches, take });
  const translation = new DeskTranslation(translator, project, facts, memory, {
    working: showWorking,
    done: showDone,
    failed: (error) => {
      showFailure(error, () => (translation.teach(), translation.run()));
      if (!(error instanceof TranslatorError)) throw error;
    },
    refused: (place, error) => tell(message("notTaught", formatted(place + 1), error.message)),
    told: tell,
    changed: () => keep(store?.putFacts(facts)),
  });
  work = { facts, project, rows, translation, memory, own: confirmedIn(segments), pairs, place: Math.min(facts.place, segments.length - 1) };
  if (languages) languages.choose(facts.source, facts.target);
  find("opening").hidden = true;
  find("desk").hidden = false;
  find("document-name").textContent = facts.name;
  for (const id of ["source-language", "target-language", "swap"]) find(id).disabled = true;
  find("glossary-text").value = facts.glossaryText;
  rows.showAll();
  showProgress();
  if (!isOpen(project.segments[work.place])) work.place = Math.max(0, project.next(work.place));
  reopen(0);
  translation.run(work.place);
  translation.poll();
  translation.teach();
}

/** A memory of what has been confirmed. */
function confirmedIn(segments) {
  const memory = new Memory();
  for (const { source, target, confirmed } of segments) if (confirmed && target) memory.add(source, target);
  return memory;
}

/** Leave the document; it is forgotten. */
async function leave() {
  work.translation.end();
  editor.close();
  work = null;
  await keep(store?.clear());
  find("desk").hidden = true;
  find("opening").hidden = false;
  for (const id of ["source-language", "target-language"]) find(id).disabled = false;
  languages.detected(null); // enables the swap
  find("pasted").value = "";
  find("pasted").focus();
}

/** Segments have changed: show and keep them. */
function changed(places) {
  work.rows.show(places);
  showProgress();
  recount(SEARCHED);
  keep(store?.putSegments(places.map((place) => [place, work.project.segments[place]])));
}

/** Wait until something is kept; a failure, such as a full disk, is told. */
async function keep(kept) {
  try {
    await kept;
  } catch (error) {
    tell(message("notKept", String(error?.message ?? error)));
  }
}

function showProgress() {
  const { segments, confirmed, words, confirmedWords } = work.project.progress;
  const share = formatted(words ? confirmedWords / words : 0, { style: "percent" });
  find("confirmed-share").value = words ? confirmedWords / words : 0;
  find("confirmed-text").textContent = message("confirmedOf", ...[confirmed, segments, confirmedWords, words].map((one) => formatted(one)), share);
  find("undo").disabled = !work.project.canUndo;
  find("redo").disabled = !work.project.canRedo;
}

/** The document as find and replace see it. */
const SEARCHED = {
  project: () => work.project,
  place: () => work.place,
  open(place, start, end) {
    open(place, start ?? 0);
    if (start !== undefined) editor.select(start, end);
  },
};

// A segment

/** Work on a segment. With `offers`, other words for the one at the caret are offered. */
function open(place, caret, offers = false) {
  work.project.pause();
  const moved = place !== work.place;
  work.place = place;
  work.rows.activate(place, caret);
  if (offers) editor.others();
  if (moved) {
    work.facts.place = place;
    keep(store?.putFacts(work.facts));
    work.translation.run(place);
  }
}

/** Show the segment at work once more. */
function reopen(caret) {
  if (isOpen(work.project.segments[work.place])) open(work.place, caret);
}

const edit = (fields, key) => work.project.edit([[work.place, fields]], key);

/** Confirm a segment, fill its repetitions, teach it, and go on. */
function confirm(place) {
  const { project, own, translation } = work;
  const { source, target, confirmed } = project.segments[place];
  if (!target.trim()) return;
  if (!confirmed) {
    const filled = { ...fromMemory(target), origin: "repetition" };
    const repetitions = project.repetitions(place).map((one) => [one, filled]);
    project.pause();
    project.edit([[place, { confirmed: true }], ...repetitions]);
    own.add(source, target);
    find("announcement").textContent = message("confirmed", formatted(place + 1));
    translation.teach();
  }
  const next = project.next(place);
  if (next >= 0) open(next, 0);
  else find("announcement").textContent = message("allConfirmed");
}

/** Confirm a segment, or take that back. */
function toggle(place) {
  const segment = work.project.segments[place];
  if (!segment.confirmed) return confirm(place);
  work.project.pause();
  work.project.edit([[place, { confirmed: false, taught: undefined }]]);
  work.own = confirmedIn(work.project.segments);
  if (segment.taught) work.translation.withdraw([segment]);
}

/** What the memories have that is like a segment, best first. */
function matches(place) {
  const { source, matches: known, target } = work.project.segments[place];
  const memories = [work.own, work.memory];
  const exact = memories.map((one) => one.exact(source)).filter((one) => one !== undefined).map((one) => ({ source, target: one, score: 1 }));
  const near = memories.flatMap((one) => one.near(source));
  const all = [...exact, ...near, ...known].filter((one) => one.target !== target);
  const first = all.filter((one, number) => all.findIndex((other) => other.target === one.target) === number);
  return first.sort((one, other) => other.score - one.score).slice(0, 3);
}

function take(place, { target }) {
  work.project.pause();
  work.project.edit([[place, { ...fromMemory(target), origin: "memory", confirmed: false }]]);
  editor.select(target.length, target.length);
}

function travel(direction) {
  const { project, translation } = work;
  const before = [...project.segments];
  const place = project[direction]();
  if (place === null) return;
  const isOpenAgain = ({ taught, confirmed }, index) => taught && confirmed && !project.segments[index].confirmed;
  const untaught = before.filter(isOpenAgain);
  if (before.some(({ confirmed }, index) => confirmed !== project.segments[index].confirmed)) work.own = confirmedIn(project.segments);
  if (untaught.length) translation.withdraw(untaught);
  if (direction === "redo") translation.teach();
  open(place, project.segments[place].target.length);
}

// Tools

async function download(form) {
  find("finish-dialog").close();
  showWorking();
  try {
    const { name, blob, note } = await finish(translator, work.facts, work.project.segments, form);
    showDone();
    if (note) tell(note);
    const link = find("download");
    URL.revokeObjectURL(link.href);
    Object.assign(link, { href: URL.createObjectURL(blob), download: name });
    link.click();
  } catch (error) {
    showFailure(error, () => download(form));
    if (!(error instanceof TranslatorError)) throw error;
  }
}

async function openMemory(file) {
  const { facts, memory, translation } = work;
  const pairs = readTmx(await file.text(), facts.source, facts.target);
  if (!pairs.length) return tell(message("noPairs", file.name));
  work.pairs = [...work.pairs, ...pairs];
  keep(store?.putMemory(work.pairs));
  for (const { source, target } of pairs) memory.add(source, target);
  tell(message("pairsRead", formatted(pairs.length), file.name));
  translation.run();
  reopen();
}

function setGlossary(text) {
  Object.assign(work.facts, { glossary: parseGlossary(text), glossaryText: text });
  work.rows.showAll();
  reopen(0);
  work.translation.renew();
}

function openDialog(id) {
  find(id).showModal();
}

find("begin").addEventListener("click", () => {
  const text = find("pasted").value;
  if (text.trim()) begin(new File([text], "text.txt", { type: "text/plain" }));
});
find("open-file").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => {
  const [file] = find("file").files;
  if (file) begin(file);
  find("file").value = "";
});
acceptDrops(find("opening"), (file) => languages && begin(file));
find("undo").addEventListener("click", () => travel("undo"));
find("redo").addEventListener("click", () => travel("redo"));
find("open-glossary").addEventListener("click", () => openDialog("glossary-dialog"));
find("use-glossary").addEventListener("click", () => {
  find("glossary-dialog").close();
  setGlossary(find("glossary-text").value);
});
find("open-memory").addEventListener("click", () => find("memory-file").click());
find("memory-file").addEventListener("change", () => {
  const [file] = find("memory-file").files;
  if (file) openMemory(file);
  find("memory-file").value = "";
});
find("finish").addEventListener("click", () => {
  const { segments, confirmed } = work.project.progress;
  find("finish-note").textContent = confirmed < segments ? message("unconfirmed", formatted(segments - confirmed)) : message("allConfirmed");
  openDialog("finish-dialog");
});
for (const button of document.querySelectorAll("[data-form]")) button.addEventListener("click", () => download(button.dataset.form));
find("close-notice").addEventListener("click", () => tell(""));
find("leave").addEventListener("click", () => openDialog("leave-dialog"));
find("leave-now").addEventListener("click", () => {
  find("leave-dialog").close();
  leave();
});
for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog").close());
prepareSearch(SEARCHED);
find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  translator.setKey?.(find("key").value.trim());
  showDone();
  work?.translation.run();
  work?.translation.teach();
});
addEventListener("online", () => work?.translation.run());
document.addEventListener("keydown", (event) => {
  if (!work || event.isComposing || event.altKey || !(event.ctrlKey || event.metaKey) || document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  const writesElsewhere = event.target.matches("input, textarea") && event.target !== find("target-field");
  if (key === "f" && !event.shiftKey) openSearch();
  else if (writesElsewhere) return;
  else if (key === "z") travel(event.shiftKey ? "redo" : "undo");
  else if (key === "y") travel("redo");
  else return;
  event.preventDefault();
});

/** Whether the document is at work in another window, whose changes would be lost. */
async function isElsewhere() {
  if (!navigator.locks) return false; // they are only where there is TLS, or on this machine
  const isHeld = await isLocked();
  if (isHeld) await new Promise((resolve) => setTimeout(resolve, LEAVING));
  return isHeld && isLocked();
}

function isLocked() {
  return new Promise((resolve) => {
    navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
      resolve(!lock);
      return lock && new Promise(() => {}); // until the window is closed
    });
  });
}

async function start() {
  try {
    translator ??= await createTranslator(showLoading);
    showLoading(null);
    const [found, ready] = await Promise.all([translator.languages(), translator.settings()]);
    settings = ready;
    languages = new LanguageChoice(found, { detects: false, first: { source: settings.language?.source.code, target: settings.language?.target.code }, changed: () => {} });
    showDone();
    find("key-form").hidden = !settings.keyRequired;
    if (await isElsewhere()) return tell(message("elsewhere"));
    store ??= await openStore();
    const before = await store?.load();
    if (before) show(before.facts, before.segments, before.pairs);
    else find("pasted").focus();
    if (!store) tell(message("noStore"));
    find("begin").disabled = false;
    document.body.dataset.ready = "";
  } catch (error) {
    showFailure(error, start);
    if (!(error instanceof TranslatorError)) throw error;
  }
}

preparePreferences(() => {
  languages?.rename();
  if (!work) return;
  work.rows.showAll();
  showProgress();
  reopen();
});
find("not-started").remove(); // all scripts are there
start();
