// The page: translates while one types, and lets one look into the translation and change it.

import { showDone, showFailure, showLoading, showNotice, showWorking } from "./condition.js";
import { find, make } from "./dom.js";
import { acceptDrops, suffixOf, textOf } from "./files.js";
import { heatMap } from "./heat_map.js";
import { beginNew, prepareHistory, remember } from "./history.js";
import { LanguageChoice } from "./language_choice.js";
import { formatted, message } from "./messages.js";
import { describeCertainty, describePoint, listAlternatives, listConstraints } from "./notes.js";
import { markActive, onPoint, placeOf, showDocument, shownSentences, showTyping } from "./panes.js";
import { preparePreferences } from "./preferences.js";
import { AUTO, Session } from "./session.js";
import { createTranslator } from "./translator.js";
import { TranslatorError } from "./translator_error.js";
import { bareWord, closeWordDialog, openWordDialog } from "./word_dialog.js";
import { openWordMenu } from "./word_menu.js";

const PAUSE = 250; // milliseconds without a key after which the text is translated
const REST = 1200; // milliseconds after which a translation is announced and kept in the history
const LARGEST_FILE = 10e6; // bytes of a text file

const source = find("source");
const target = find("target");

let translator, settings, session, languages;
let running = new AbortController();
let pause, rest;
let shown = null; // the document on the page
let active = 0; // the sentence whose alternatives are listed

// Translating

function schedule() {
  running.abort();
  closeWordDialog();
  clearTimeout(pause);
  clearTimeout(rest);
  showTyping();
  count();
  pause = setTimeout(update, PAUSE);
}

/** Translate the text as it is now; `mend(error)` is called for a request that is refused. */
async function update(mend) {
  running.abort();
  clearTimeout(pause);
  clearTimeout(rest);
  if (!session) return;
  running = new AbortController();
  const { signal } = running;
  const text = source.value;
  const part = fitting(text);
  [session.source, session.target] = languages.pair;
  [source.lang, target.lang] = [session.source === AUTO ? "" : session.source, session.target];
  if (text.trim()) showWorking();
  await attempt(signal, async () => {
    await session.translate(part.toWellFormed(), signal, (document) => show({ ...document, text }));
    showDone();
    if (part.length < text.length) showNotice(message("tooLong", formatted(part.length), formatted(text.length)));
    rest = setTimeout(rested, REST);
  }, mend);
}

/** Make a choice and translate by it; one that the translator refuses is taken back. */
function change(make) {
  make();
  return update(async ({ message: reason }) => {
    session.undo();
    await update();
    showNotice(reason);
  });
}

/** Run a function; its failure is shown, and leads to another `update` where that may help. */
async function attempt(signal, run, mend) {
  try {
    await run();
  } catch (error) {
    if (signal.aborted) return;
    if (mend && error.kind === "refused") return mend(error);
    showFailure(error, () => update(mend));
    if (!(error instanceof TranslatorError)) throw error;
  }
}

/** The beginning of a text that the translator takes, up to the end of a line or at least of a word. */
function fitting(text) {
  const most = settings.charLimit > 0 ? settings.charLimit : Infinity;
  if (text.length <= most) return text;
  const part = text.slice(0, most);
  const end = part.search(/\n[^\n]*$/);
  return end > most / 2 ? part.slice(0, end) : part.replace(/\S*$/, "") || part;
}

function count() {
  const limit = settings?.charLimit > 0 ? settings.charLimit : null;
  const length = source.value.length;
  find("count").textContent = limit && length ? message("count", formatted(length), formatted(limit)) : "";
  find("count").classList.toggle("over", limit !== null && length > limit);
  find("clear").hidden = !length;
}

function show(document) {
  shown = document;
  if (session.source === AUTO) {
    languages.detected(document.detected);
    source.lang = document.detected ?? "";
  }
  showDocument(document);
  const sentences = shownSentences();
  active = Math.min(active, Math.max(0, sentences.length - 1));
  find("copy").disabled = !target.textContent;
  find("show-map").disabled = !sentences.length;
  find("undo").hidden = !session.changed;
  if (document.complete) describeCertainty(sentences);
  else find("certainty").hidden = true;
  listConstraints(constraints(sentences));
  showActive();
}

/** The text has come to rest: say it to those who cannot see it, and keep it. */
function rested() {
  const translation = target.textContent;
  find("announcement").textContent = translation.trim() ? message("translationIs", translation.slice(0, 500)) : "";
  const from = shown.detected ?? session.source;
  if (translation.trim()) remember({ source: from, target: session.target, text: source.value, translation });
}

// One sentence

const activeSentence = () => shownSentences()[active];

function showActive() {
  const sentence = activeSentence();
  markActive(active);
  listAlternatives(sentence, session.target, (version) => change(() => session.pick(sentence, version)));
  if (!find("map").hidden) drawMap();
}

function activate(number) {
  if (number === active) return;
  active = number;
  showActive();
}

async function drawMap() {
  const figure = find("map");
  const sentence = activeSentence();
  if (!sentence) return figure.replaceChildren();
  const { signal } = running;
  await attempt(signal, async () => {
    const attention = await session.attention(sentence, signal);
    if (signal.aborted) return;
    figure.replaceChildren(...(attention ? heatMap(attention) : [make("figcaption", { textContent: message("noAttention") })]));
  });
}

function constraints(sentences) {
  const kept = sentences.flatMap((sentence) =>
    session.choice(sentence).kept.map((word) => ({
      text: message("kept", word),
      remove: () => change(() => session.release(sentence, word)),
    })),
  );
  const banned = session.bans.map((word) => ({
    text: message("banned", word),
    remove: () => change(() => session.allow(word)),
  }));
  return [...kept, ...banned];
}

function actionsFor(sentence) {
  return {
    completions: (prefix, signal) => session.completions(sentence, prefix, signal),
    choose: (prefix) => {
      running.abort();
      running = new AbortController();
      const { signal } = running;
      showWorking();
      attempt(signal, async () => {
        await session.begin(sentence, prefix, signal);
        await update();
      });
    },
    keep: (word) => change(() => session.keep(sentence, word)),
    ban: (word) => change(() => session.ban(word)),
  };
}

function openDialog(element, typed = "") {
  const place = placeOf(element);
  const sentence = shownSentences()[place.sentence];
  if (!sentence) return;
  activate(place.sentence);
  openWordDialog(element, { sentence, unit: place.unit, actions: actionsFor(sentence), typed });
}

function openMenu(element, at) {
  const { sentence: number } = placeOf(element);
  const sentence = shownSentences()[number];
  const word = bareWord(element.textContent);
  if (!sentence || !word) return;
  activate(number);
  const actions = actionsFor(sentence);
  openWordMenu(element, at, [
    [message("keepWord", word), () => actions.keep(word)],
    [message("banWord", word), () => actions.ban(word)],
    [message("showOthers"), () => openDialog(element)],
  ]);
}

target.addEventListener("click", (event) => {
  const word = event.target.closest(".word");
  if (word && document.getSelection().isCollapsed) openDialog(word);
});
target.addEventListener("contextmenu", (event) => {
  const word = event.target.closest(".word");
  if (!word || !shownSentences().length) return;
  event.preventDefault();
  const box = word.getBoundingClientRect();
  const byKey = event.button !== 2 || (event.clientX === 0 && event.clientY === 0);
  openMenu(word, byKey ? { x: box.left, y: box.bottom } : { x: event.clientX, y: event.clientY });
});
target.addEventListener("focusin", (event) => event.target.matches(".word") && activate(placeOf(event.target).sentence));
target.addEventListener("keydown", (event) => {
  if (!event.target.matches(".word") || event.ctrlKey || event.metaKey || event.altKey) return;
  const types = /^[\p{L}\p{N}]$/u.test(event.key);
  if (!types && event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  openDialog(event.target, types ? event.key : "");
});
onPoint((pointed) => {
  describePoint(pointed);
  if (pointed?.side === "source") activate(pointed.sentence);
});

// Tools

function setText(text) {
  source.value = text;
  beginNew();
  schedule();
  update();
}

async function copy() {
  const text = target.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS there is no clipboard of that kind.
    const field = make("textarea", { value: text, className: "unseen" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  find("copy").textContent = message("copied");
  setTimeout(() => (find("copy").textContent = message("copy")), 1500);
}

async function openFile(file) {
  find("download").hidden = true;
  const formats = settings.supportedFilesFormat ?? [];
  let text = null;
  try {
    text = file.size <= LARGEST_FILE ? await textOf(file) : null;
  } catch {
    return showNotice(message("notText", file.name));
  }
  if (text !== null) return setText(text);
  if (!translator.translateFile || !formats.includes(suffixOf(file.name))) {
    return showNotice(message("notSupported", file.name, ["." + "txt", ...formats.filter((one) => one !== ".txt")].join(" ")));
  }
  running.abort();
  running = new AbortController();
  const { signal } = running;
  showWorking();
  await attempt(signal, async () => {
    const { name, url, note } = await translator.translateFile(file, ...languages.pair, signal);
    showDone();
    if (note) showNotice(note);
    Object.assign(find("download"), { href: url, download: name, textContent: message("download", name), hidden: false });
  });
}

source.addEventListener("input", schedule);
find("clear").addEventListener("click", () => {
  session?.reset();
  setText("");
  source.focus();
});
find("copy").addEventListener("click", copy);
find("undo").addEventListener("click", () => {
  session.undo();
  update();
});
find("swap").addEventListener("click", () => {
  const swapped = languages.swapped;
  if (!swapped) return;
  const text = target.textContent;
  languages.choose(...swapped);
  setText(text);
});
find("show-map").addEventListener("click", () => {
  const open = find("map").hidden;
  find("map").hidden = !open;
  find("show-map").ariaExpanded = String(open);
  if (open) drawMap();
});
find("open-file").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => {
  const [file] = find("file").files;
  if (file) openFile(file);
  find("file").value = "";
});
acceptDrops(find("source-pane"), openFile);
prepareHistory((entry) => {
  languages?.choose(entry.source, entry.target);
  setText(entry.text);
});
find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  translator.setKey?.(find("key").value.trim());
  update();
});
addEventListener("online", () => update());

async function begin() {
  try {
    translator ??= await createTranslator(showLoading);
    showLoading(null);
    const [found, ready] = await Promise.all([translator.languages(), translator.settings()]);
    settings = ready;
    session = new Session(translator);
    languages = new LanguageChoice(found, { detects: translator.detects, first: { source: settings.language?.source.code, target: settings.language?.target.code }, changed: () => (beginNew(), schedule()) });
    find("key-form").hidden = !settings.keyRequired;
    showDone();
    find("key-form").hidden = !settings.keyRequired;
    document.body.dataset.ready = "";
    count();
    if (source.value) schedule();
  } catch (error) {
    showFailure(error, begin);
    if (!(error instanceof TranslatorError)) throw error;
  }
}

preparePreferences(() => {
  languages?.rename();
  count();
  if (shown) show(shown);
});
showTyping();
find("not-started").remove(); // all scripts are there
begin();
