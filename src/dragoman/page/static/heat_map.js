// The attention of a sentence as a table: a row for each segment of the translation, a column for each of the source.

import { directionOf, make } from "./dom.js";
import { message } from "./messages.js";

const SPACE = "▁"; // what SentencePiece writes for a space
const END = "</s>";

/** A table of `rows`, [target][source] from 0 to 1, with the segments as labels; the ends of sentences have "⏎". */
export function heatMap({ rows, source, target }) {
  const labels = (segments, count) => [...segments, END].slice(0, count).map(label);
  const [columns, lines] = [labels(source, rows[0].length), labels(target, rows.length)];
  const head = make(
    "tr",
    {},
    make("td"),
    ...columns.map((text) => make("th", { scope: "col" }, make("bdi", { textContent: text }))),
  );
  const body = rows.map((weights, row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("bdi", { textContent: lines[row] })),
      ...weights.map((weight, column) => cell(weight, `${lines[row]} – ${columns[column]} ${weight.toFixed(2)}`)),
    ),
  );
  const table = make("table", { className: "heat-map", dir: directionOf(source.join("")) }, make("thead", {}, head), make("tbody", {}, ...body));
  return [make("figcaption", { textContent: message("heatMapCaption") }), make("div", { className: "scroll-x", tabIndex: 0, role: "group", ariaLabel: message("heatMap") }, table)];
}

function cell(weight, title) {
  const made = make("td", { title });
  made.style.setProperty("--weight", weight.toFixed(3));
  made.append(make("span", { className: "unseen", textContent: weight.toFixed(2) }));
  return made;
}

const label = (segment) => (segment === END ? "⏎" : segment.replaceAll(SPACE, " ").trim() || "␣");
