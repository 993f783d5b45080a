// Find and replace in all segments.

import { isOpen } from "./desk_project.js";
import { find } from "./dom.js";
import { formatted, message } from "./messages.js";

const form = find("search");
const wanted = find("search-text");
const replacement = find("search-replacement");
const exact = find("search-case");

/**
 * Let texts be found. `desk`: project() with the segments, place() of the one at work, open(place, start, end) with a part
 * of its target to select, or without where the text is in its source.
 */
export function prepareSearch(desk) {
  find("open-search").addEventListener("click", () => (form.hidden ? open() : close()));
  find("close-search").addEventListener("click", close);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    next(desk);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  });
  for (const element of [wanted, exact]) element.addEventListener("input", () => count(desk));
  find("replace").addEventListener("click", () => replaceIn(desk, [desk.place()]));
  find("replace-all").addEventListener("click", () => replaceIn(desk, [...desk.project().segments.keys()]));
}

/** Count anew: segments have changed. */
export function recount(desk) {
  if (!form.hidden) count(desk);
}

/** Open the form. */
export function open() {
  form.hidden = false;
  find("open-search").ariaExpanded = "true";
  wanted.select();
  wanted.focus();
}

function close() {
  form.hidden = true;
  find("open-search").ariaExpanded = "false";
  find("target-field").focus({ preventScroll: true }); // where one works, and who uses keys alone goes on
}

function pattern() {
  const escaped = wanted.value.replace(/[.*+?^${}()|[\]\\/-]/gu, "\\$&");
  return wanted.value ? new RegExp(escaped, exact.checked ? "gu" : "giu") : null;
}

function count({ project }) {
  const text = pattern();
  const places = (one) => (text ? [...one.matchAll(text)].length : 0);
  const sum = project().segments.reduce((all, { source, target }) => all + places(source) + places(target), 0);
  find("search-count").textContent = text ? message("found", formatted(sum)) : "";
}

function next({ project, place, open: show }) {
  const text = pattern();
  if (!text) return;
  const { segments } = project();
  const order = [...segments.keys()];
  const after = [...order.slice(place() + 1), ...order.slice(0, place() + 1)].filter((one) => isOpen(segments[one]));
  for (const one of after) {
    const [hit] = segments[one].target.matchAll(text);
    if (hit) return show(one, hit.index, hit.index + hit[0].length);
    if (segments[one].source.search(text) >= 0) return show(one);
  }
}

/** Replace the text in the targets at some places, as one step. */
function replaceIn(desk, places) {
  const text = pattern();
  if (!text) return;
  const { segments } = desk.project();
  const changes = places
    .filter((place) => isOpen(segments[place]) && segments[place].target.search(text) >= 0)
    .map((place) => [place, { target: segments[place].target.replace(text, () => replacement.value), origin: "person", confirmed: false }]);
  if (changes.length) desk.project().edit(changes);
}
