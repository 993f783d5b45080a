// How the translator is doing: progress, problems, and further attempts.

import { find, make } from "./dom.js";
import { formatted, message } from "./messages.js";

const SHOWN_AFTER = 600; // milliseconds
const SLOW_AFTER = 8000;
const LONGEST_WAIT = 30; // seconds between two attempts

const problem = find("problem");
const progress = find("progress");
const keyForm = find("key-form");
let timers = [];
let attempts = 0;

/** A translation begins: progress is shown if it takes a while. */
export function showWorking() {
  clear();
  timers = [
    setTimeout(() => say("translating"), SHOWN_AFTER),
    setTimeout(() => say("slow"), SLOW_AFTER),
  ];
}

/** All is well. */
export function showDone() {
  clear();
  attempts = 0;
  problem.hidden = keyForm.hidden = true;
}

/** Show how much of the translator is loaded; null: all of it. */
export function showLoading(state) {
  progress.hidden = !state;
  if (state) progress.textContent = message("loading", formatted(state.total ? state.loaded / state.total : 0, { style: "percent" }));
}

/** Show a notice that is no failure. */
export function showNotice(text) {
  problem.replaceChildren(text);
  problem.hidden = false;
}

/** Show a failure, and try again where that may help. */
export function showFailure(error, again) {
  clear();
  const text = { unreachable: () => message("unreachable"), busy: () => message("busy", formatted(wait)) }[error.kind];
  const wait = error.kind === "busy" ? Math.min(error.retryAfter, 600) : Math.min(2 ** ++attempts, LONGEST_WAIT);
  keyForm.hidden = error.kind !== "key";
  if (error.kind === "key") find("key").focus();
  const button = make("button", { type: "button", textContent: message("tryAgain") });
  button.addEventListener("click", again);
  problem.replaceChildren(text ? text() : error.kind === "key" ? message("keyNeeded") : error.message, ...(text ? [button] : []));
  problem.hidden = false;
  if (text) timers = [setTimeout(again, wait * 1000)];
}

function say(name) {
  progress.textContent = message(name);
  progress.hidden = false;
}

function clear() {
  timers.forEach(clearTimeout);
  progress.hidden = true;
}
