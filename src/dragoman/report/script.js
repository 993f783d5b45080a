"use strict";
const PAGE = 20; // sentences shown at a time
const EXTREMES = 3; // worst and best sentences
const CELL = 22; // side length of a heat map cell, in pixels

const isolated = (text) => `\u2068${text}\u2069`; // a right-to-left word must not reorder the text after it
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// Charts: the values of a hover column are shown below, and the arrow keys move between columns.

for (const chart of document.querySelectorAll(".chart")) {
  const columns = [...chart.querySelectorAll(".column")];
  const [picture, values] = [chart.querySelector("svg"), chart.querySelector("output")];
  if (!columns.length) continue;
  let current = -1;
  const point = (index) => {
    columns[current]?.classList.remove("pointed");
    current = index;
    columns[index]?.classList.add("pointed");
    values.textContent = index < 0 ? "" : columns[index].dataset.values;
  };
  columns.forEach((column, index) => {
    const title = column.querySelector("title");
    column.dataset.values = title.textContent;
    title.remove(); // otherwise the browser shows it as a tooltip, too
    column.addEventListener("pointerenter", () => point(index));
  });
  picture.addEventListener("pointerleave", () => point(-1));
  picture.tabIndex = 0;
  picture.addEventListener("blur", () => point(-1));
  picture.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const to = { Home: 0, End: columns.length - 1 }[event.key] ?? Math.max(0, current) + (steps[event.key] ?? NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    point(current < 0 && event.key in steps ? 0 : Math.min(columns.length - 1, Math.max(0, to)));
  });
}

// Sentences: stored as data, and turned into elements when they are shown.

/** Split a line into [{text, word: index or null}, ...]; `bounds` are those of its words, null for space-separated ones. */
const pieces = (line, bounds) => {
  const letters = [...line]; // bounds count code points, not UTF-16 units
  const ends = bounds ?? [...line.matchAll(/[^ ]+/gu)].flatMap((found) => {
    const start = [...line.slice(0, found.index)].length;
    return [start, start + [...found[0]].length];
  });
  const cut = [];
  let position = 0;
  for (let word = 0; word < ends.length / 2; word++) {
    const [start, end] = [ends[2 * word], ends[2 * word + 1]];
    if (start > position) cut.push({ text: letters.slice(position, start).join(""), word: null });
    cut.push({ text: letters.slice(start, end).join(""), word });
    position = end;
  }
  if (position < letters.length) cut.push({ text: letters.slice(position).join(""), word: null });
  return cut;
};

const words = (cut) => cut.filter((piece) => piece.word !== null).map((piece) => piece.text);

/** Decode base64 and decompress zlib. */
const unpack = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

/** Split every line into words, and give every translation its weights, [target word][source word]. */
const prepare = (sentences, bytes) => {
  let position = 0;
  for (const sentence of sentences) {
    sentence.source = pieces(sentence.s, sentence.i);
    const width = words(sentence.source).length;
    for (const translation of sentence.t) {
      translation.cut = pieces(translation.x, translation.j);
      translation.rows = [];
      if (!translation.a) continue;
      for (let row = 0; row < words(translation.cut).length; row++, position += width) {
        translation.rows.push(bytes.subarray(position, position + width));
      }
    }
  }
};

const heaviest = (row) => row.reduce((best, weight, index) => (weight > (row[best] ?? 0) ? index : best), -1);

/** Make a line whose words can be selected; `gloss` returns the text below a word. */
const makeLine = (kind, language, cut, differing, gloss) => {
  const line = make("p", { className: `line ${kind}`, dir: "auto" });
  if (language) line.lang = language;
  const spans = [];
  for (const [index, piece] of cut.entries()) {
    if (piece.word === null) {
      if (gloss && spans.length) spans.at(-1).classList.add("spaced");
      line.append(piece.text);
      continue;
    }
    const word = make("span", { className: "word" });
    if (gloss) {
      const below = make("span", { className: "gloss", textContent: gloss(piece.word) || "\u00a0", dir: "auto" });
      below.setAttribute("aria-hidden", "true");
      word.append(make("span", { textContent: piece.text }), below);
    } else word.textContent = piece.text;
    word.classList.toggle("differs", differing.has(piece.word));
    word.dataset.text = piece.text;
    spans.push(word);
    line.append(word);
  }
  line.classList.toggle("glossed", Boolean(gloss));
  return { line, spans };
};

class Page {
  constructor(data) {
    this.data = data;
    this.sentences = data.sentences;
    this.scale = data.scale;
    this.aligned = this.sentences.some((sentence) => sentence.t.some((translation) => translation.a));
  }

  // One sentence ----------------------------------------------------------------------------------------------------

  article(sentence) {
    const article = make("article", { className: "sample", ariaLabel: `Line ${sentence.n}` });
    const [sourceLanguage, targetLanguage] = this.data.languages;
    const source = makeLine("source", sourceLanguage, sentence.source, new Set(), null);
    const versions = make("div", { className: "versions" });
    const output = make("output", { className: "aligned" });
    const systems = sentence.t.map((translation, index) => {
      const made = this.version(sentence, translation, index, targetLanguage);
      versions.append(made.element);
      return { translation, ...made };
    });
    article.append(make("p", { className: "label", textContent: `Source, line ${sentence.n}` }), source.line, versions);
    if (sentence.r !== null) {
      const references = [sentence.r, ...(sentence.o ?? [])].map((text) => make("p", { className: "line reference", dir: "auto", textContent: text }));
      if (targetLanguage) for (const reference of references) reference.lang = targetLanguage;
      article.append(make("p", { className: "label", textContent: references.length > 1 ? "References" : "Reference" }), ...references);
    }
    this.highlight(source.spans, systems, output);
    if (systems.some(({ translation }) => translation.rows.length)) {
      const maps = make("div", { className: "maps", hidden: true });
      article.append(make("div", { className: "below" }, this.mapButton(sentence, systems, maps), output), maps);
    }
    return article;
  }

  version(sentence, translation, index, language) {
    const several = sentence.t.length > 1;
    const differing = new Set(translation.d ?? (sentence.t.length === 2 ? sentence.t[1].f : []));
    const sourceWords = words(sentence.source);
    const gloss = translation.rows.length ? (word) => sourceWords[heaviest(translation.rows[word])] : null;
    const { line, spans } = makeLine("target", language, translation.cut, differing, gloss);
    const label = make("p", { className: "label", textContent: several ? this.data.systems[index] : "Translation" });
    if (translation.c !== null) {
      label.append(make("span", { className: "score", textContent: `chrF ${translation.c.toFixed(0)}` }));
    }
    return { element: make("div", {}, label, line), spans };
  }

  /** Selecting a word highlights the words aligned with it; each line is one Tab stop. */
  highlight(source, systems, output) {
    const partners = new Map();
    for (const { translation, spans } of systems) {
      translation.rows.forEach((row, target) => {
        partners.set(spans[target], []);
        row.forEach((weight, index) => {
          if (!weight) return;
          partners.get(spans[target]).push([source[index], weight / 255]);
          if (!partners.has(source[index])) partners.set(source[index], []);
          partners.get(source[index]).push([spans[target], weight / 255]);
        });
      });
    }
    if (!partners.size) return;
    const lines = [source, ...systems.filter(({ translation }) => translation.rows.length).map(({ spans }) => spans)];
    const all = lines.flat();
    const clear = () => {
      for (const word of all) {
        word.classList.remove("pointed");
        word.style.removeProperty("--weight");
      }
      output.textContent = "";
    };
    const point = (word) => {
      clear();
      word.classList.add("pointed");
      const sorted = [...(partners.get(word) ?? [])].sort((a, b) => b[1] - a[1]);
      for (const [partner, weight] of sorted) partner.style.setProperty("--weight", weight.toFixed(3));
      const described = sorted.slice(0, 3).map(([partner, weight]) => `${isolated(partner.dataset.text)} ${weight.toFixed(2)}`);
      output.textContent = `${isolated(word.dataset.text)} – ${described.join(" · ") || "not aligned"}`;
    };
    for (const line of lines) for (const [index, word] of line.entries()) this.makePointable(line, index, word, point, clear);
  }

  makePointable(line, index, word, point, clear) {
    word.tabIndex = index ? -1 : 0;
    word.addEventListener("pointerenter", () => point(word));
    word.addEventListener("pointerleave", () => {
      const focused = word.closest(".sample").querySelector(".word:focus");
      if (focused) point(focused);
      else clear();
    });
    word.addEventListener("click", () => word.focus()); // a tap
    word.addEventListener("focus", () => point(word));
    word.addEventListener("blur", clear);
    word.addEventListener("keydown", (event) => {
      const forward = getComputedStyle(word).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
      const backward = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
      const next = { [forward]: line[index + 1], [backward]: line[index - 1], Home: line[0], End: line.at(-1) }[event.key];
      if (!next) return;
      event.preventDefault();
      word.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }

  // Heat maps -------------------------------------------------------------------------------------------------------

  mapButton(sentence, systems, maps) {
    const button = make("button", { type: "button", textContent: "Heat map" });
    button.setAttribute("aria-expanded", "false");
    const show = () => {
      maps.hidden = !maps.hidden;
      button.setAttribute("aria-expanded", String(!maps.hidden));
      if (!maps.hidden && !maps.childElementCount) maps.append(...this.maps(sentence, systems));
    };
    button.addEventListener("click", show);
    if (this.data.open) show();
    return button;
  }

  maps(sentence, systems) {
    return systems.flatMap(({ translation, spans }, index) => {
      if (!translation.rows.length) return [];
      const caption = sentence.t.length > 1 ? [make("figcaption", { textContent: this.data.systems[index] })] : [];
      const scroll = make("div", { className: "scroll" }, this.heatMap(sentence, translation, spans));
      const legend = translation.p ? [make("figcaption", { textContent: "Frame: the attention window of each row. Dot: its centre p_t." })] : [];
      return [make("figure", { className: "map" }, ...caption, scroll, ...legend)];
    });
  }

  heatMap(sentence, translation, spans) {
    const [source, target] = [words(sentence.source), words(translation.cut)];
    const { longest } = this.data; // characters of a label
    const short = (word) => (word.length > longest ? `${word.slice(0, longest - 1)}…` : word);
    const [left, top] = [widest(target.map(short)) + 8, widest(source.map(short)) + 8];
    const [width, height] = [source.length * CELL, target.length * CELL];
    const column = (index) => left + CELL * (sentence.rtl ? source.length - 1 - index : index);
    const svg = shape("svg", { class: "heat-map", role: "img", width: left + width + 2, height: top + height + 2,
      viewBox: `0 0 ${left + width + 2} ${top + height + 2}`, "font-size": 13,
      "aria-label": "Alignment weights: source words across, target words down" });
    svg.append(shape("rect", { class: "ground", x: left, y: top, width, height }));
    const across = source.map((word, index) =>
      svg.appendChild(named(shape("text", { transform: `translate(${column(index) + CELL / 2} ${top - 6}) rotate(-90)`, dy: ".35em" }), short(word))));
    const down = target.map((word, row) =>
      svg.appendChild(named(shape("text", { x: left - 6, y: top + (row + .5) * CELL, dy: ".35em", "text-anchor": "end" }), short(word))));
    translation.rows.forEach((weights, row) => weights.forEach((weight, index) => {
      if (!weight) return;
      svg.append(shape("rect", { class: "cell", x: column(index), y: top + row * CELL, width: CELL, height: CELL, "data-weight": weight }));
    }));
    svg.append(shape("rect", { class: "frame", x: left - .5, y: top - .5, width: width + 1, height: height + 1 }));
    (translation.p ?? []).forEach((window, row) => {
      if (!window) return;
      const [centre, first, last] = window.map((place) => left + CELL * (sentence.rtl ? source.length - .5 - place : place + .5));
      svg.append(shape("rect", { class: "window", x: Math.min(first, last), y: top + row * CELL, width: Math.abs(last - first), height: CELL }));
      svg.append(shape("circle", { class: "centre", cx: centre, cy: top + (row + .5) * CELL, r: 3 }));
    });
    this.paint(svg);
    this.crossHair(svg, { left, top, sentence, across, down, spans });
    return svg;
  }

  /** Colour the cells by the selected scale. */
  paint(svg) {
    const colour = (weight) => {
      const share = weight / 255;
      if (this.scale === "paper") return `rgb(${weight} ${weight} ${weight})`;
      const place = share * (this.data.modern.length - 1);
      const [low, high] = [this.data.modern[Math.floor(place)], this.data.modern[Math.ceil(place)]];
      return `rgb(${low.map((part, index) => Math.round(part + (high[index] - part) * (place % 1))).join(" ")})`;
    };
    svg.querySelector(".ground").setAttribute("fill", colour(0));
    for (const cell of svg.querySelectorAll(".cell")) cell.setAttribute("fill", colour(Number(cell.dataset.weight)));
  }

  /** Hovering over a cell emphasises its labels, and selects the target word in the line above. */
  crossHair(svg, { left, top, sentence, across, down, spans }) {
    const box = shape("rect", { class: "cross", width: CELL, height: CELL, visibility: "hidden" });
    svg.append(box);
    const clear = () => {
      box.setAttribute("visibility", "hidden");
      for (const label of [...across, ...down]) label.classList.remove("pointed");
    };
    svg.addEventListener("pointermove", (event) => {
      const bounds = svg.getBoundingClientRect();
      const place = Math.floor((event.clientX - bounds.left - left) / CELL);
      const row = Math.floor((event.clientY - bounds.top - top) / CELL);
      clear();
      if (place < 0 || row < 0 || place >= across.length || row >= down.length) return;
      const column = sentence.rtl ? across.length - 1 - place : place;
      box.setAttribute("x", left + place * CELL);
      box.setAttribute("y", top + row * CELL);
      box.setAttribute("visibility", "visible");
      across[column].classList.add("pointed");
      down[row].classList.add("pointed");
      if (!spans[row].classList.contains("pointed")) spans[row].dispatchEvent(new PointerEvent("pointerenter"));
    });
    svg.addEventListener("pointerleave", () => {
      clear();
      spans[0].dispatchEvent(new PointerEvent("pointerleave"));
    });
  }

  // Lists of sentences ----------------------------------------------------------------------------------------------

  orders() {
    const score = (sentence, system = 0) => sentence.t[system].c ?? 0;
    const orders = [["original order", null]];
    if (this.sentences.some((sentence) => sentence.t[0].c !== null)) {
      orders.push(["worst first", (a, b) => score(a) - score(b)], ["best first", (a, b) => score(b) - score(a)]);
      for (let other = 1; other < this.data.systems.length; other++) {
        const gain = (sentence) => score(sentence) - score(sentence, other);
        orders.push([`better than ${this.data.systems[other]} first`, (a, b) => gain(b) - gain(a)]);
        orders.push([`worse than ${this.data.systems[other]} first`, (a, b) => gain(a) - gain(b)]);
      }
    }
    orders.push(["longest first", (a, b) => b.s.length - a.s.length]);
    return orders;
  }

  showExtremes() {
    const scored = this.sentences.filter((sentence) => sentence.t[0].c !== null && sentence.s.trim());
    const section = document.getElementById("extremes-section");
    if (scored.length < 2 * EXTREMES) {
      document.querySelector('nav a[href="#extremes"]')?.closest("li").remove();
      return;
    }
    scored.sort((a, b) => a.t[0].c - b.t[0].c);
    section.hidden = false;
    document.getElementById("worst").append(...scored.slice(0, EXTREMES).map((sentence) => this.article(sentence)));
    document.getElementById("best").append(...scored.slice(-EXTREMES).reverse().map((sentence) => this.article(sentence)));
  }

  showList() {
    const [list, found, all] = ["list", "found", "all"].map((id) => document.getElementById(id));
    const [pager, previous, place, next] = ["pager", "previous", "place", "next"].map((id) => document.getElementById(id));
    const [order, find, scale] = ["order", "find", "scale"].map((id) => document.getElementById(id));
    const orders = this.orders();
    order.append(...orders.map(([name], index) => make("option", { value: index, textContent: name })));
    let chosen = null; // the sentences selected in a table of words, and its description
    let listed = []; // all sentences of the list, in its order
    let first = 0; // the first of them on this page
    const show = () => {
      const end = Math.min(first + PAGE, listed.length);
      list.replaceChildren(...listed.slice(first, end).map((sentence) => this.article(sentence)));
      pager.hidden = listed.length <= PAGE;
      previous.disabled = first === 0;
      next.disabled = end === listed.length;
      place.textContent = `${(first + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ${listed.length.toLocaleString("en")}`;
    };
    const turn = (step) => {
      first += step * PAGE;
      show();
      list.querySelector(".word, button")?.focus({ preventScroll: true });
      document.getElementById("samples").scrollIntoView();
    };
    const update = () => {
      const text = find.value.trim().toLowerCase();
      const kept = this.sentences.filter((sentence, index) => (!chosen || chosen.rows.has(index)) && (!text || matches(sentence, text)));
      const by = orders[Number(order.value)][1];
      listed = by ? kept.toSorted(by) : kept;
      first = 0;
      found.textContent = `${kept.length.toLocaleString("en")} sentence${kept.length === 1 ? "" : "s"}${chosen ? `: ${chosen.what}` : ""}`;
      all.hidden = !chosen && !text;
      show();
    };
    order.addEventListener("change", update);
    find.addEventListener("input", update);
    find.form.addEventListener("submit", (event) => event.preventDefault());
    find.form.hidden = false;
    scale.closest("label").hidden = !this.aligned;
    scale.value = this.scale;
    scale.addEventListener("change", () => {
      this.scale = scale.value;
      document.querySelectorAll(".heat-map").forEach((svg) => this.paint(svg));
    });
    all.addEventListener("click", () => {
      chosen = null;
      find.value = "";
      update();
    });
    previous.addEventListener("click", () => turn(-1));
    next.addEventListener("click", () => turn(1));
    for (const button of document.querySelectorAll(".shown-in")) {
      button.hidden = false;
      button.setAttribute("aria-label", `show the sentences: ${button.dataset.what}`);
      button.addEventListener("click", () => {
        chosen = { rows: new Set(button.dataset.sentences.split(" ").map(Number)), what: button.dataset.what };
        update();
        document.getElementById("samples").scrollIntoView();
      });
    }
    update();
  }
}

const matches = (sentence, text) =>
  [sentence.s, sentence.r ?? "", ...(sentence.o ?? []), ...sentence.t.map((translation) => translation.x)].some((line) => line.toLowerCase().includes(text));

const shape = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const named = (label, word) => {
  label.textContent = isolated(word);
  return label;
};

/** Width in pixels of the widest word in the font of heat maps. */
const widest = (texts) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
};

const texts = document.getElementById("texts");
if (texts && !("DecompressionStream" in window)) {
  document.getElementById("found").textContent = "This browser is too old to decompress the sentences; use one from 2023 or later.";
} else if (texts) {
  unpack(document.getElementById("weights").textContent).then((bytes) => {
    const data = JSON.parse(texts.textContent);
    prepare(data.sentences, bytes);
    const page = new Page(data);
    document.querySelector(".pointing").hidden = !page.aligned;
    page.showExtremes();
    page.showList();
    document.body.dataset.ready = "true";
  });
}
