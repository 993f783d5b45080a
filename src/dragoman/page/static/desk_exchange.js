// Files of other tools: translation memories (TMX 1.4) are read and written, XLIFF 1.2 is written.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';

/** The pairs of a .tmx file between two languages: [{source, target}]. */
export function readTmx(text, source, target) {
  const pairs = [];
  // The page's policy allows no parser of documents, so that tags are found here.
  for (const [, unit] of text.replace(/<!--.*?-->/gsu, "").matchAll(/<tu(?:\s[^>]*)?>(.*?)<\/tu>/gsu)) {
    const texts = new Map();
    for (const [, attributes, content] of unit.matchAll(/<tuv\s([^>]*)>(.*?)<\/tuv>/gsu)) {
      const language = /(?:xml:)?lang\s*=\s*["']([^"']*)["']/u.exec(attributes)?.[1] ?? "";
      const segment = /<seg(?:\s[^>]*)?>(.*?)<\/seg>/su.exec(content)?.[1];
      if (segment !== undefined) texts.set(baseOf(language), plain(segment));
    }
    const pair = { source: texts.get(baseOf(source)), target: texts.get(baseOf(target)) };
    if (pair.source && pair.target) pairs.push(pair);
  }
  return pairs;
}

/** A .tmx file of what has been confirmed. */
export function writeTmx({ source, target }, segments) {
  const side = (language, text) => `<tuv xml:lang="${escaped(language)}"><seg>${escaped(text)}</seg></tuv>`;
  const given = segments.filter((one) => one.confirmed && one.target);
  return [
    DECLARATION,
    '<tmx version="1.4">',
    ' <header creationtool="Dragoman" creationtoolversion="1" segtype="sentence" o-tmf="Dragoman" adminlang="en"',
    `  srclang="${escaped(source)}" datatype="plaintext"/>`,
    " <body>",
    ...given.map((one) => `  <tu>${side(source, one.source)}${side(target, one.target)}</tu>`),
    " </body>",
    "</tmx>\n",
  ].join("\n");
}

/** A .xlf file of all segments; the state says which of them have been confirmed. */
export function writeXliff({ name, source, target }, segments) {
  const units = segments.map((one, place) => {
    const state = one.confirmed ? "final" : "needs-review-translation";
    const translation = one.target ? `<target state="${state}">${escaped(one.target)}</target>` : "";
    const approved = one.confirmed ? ' approved="yes"' : "";
    return `   <trans-unit id="${place + 1}"${approved}><source>${escaped(one.source)}</source>${translation}</trans-unit>`;
  });
  return [
    DECLARATION,
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">',
    ` <file original="${escaped(name)}" datatype="plaintext"`,
    `  source-language="${escaped(source)}" target-language="${escaped(target)}">`,
    "  <body>",
    ...units,
    "  </body>",
    " </file>",
    "</xliff>\n",
  ].join("\n");
}

const baseOf = (language) => language.toLowerCase().split(/[-_]/u)[0];

/** The text of a segment without the codes of its format. */
function plain(markup) {
  const text = markup.replace(/<(bpt|ept|ph|it|ut)\b[^>]*?(?:\/>|>.*?<\/\1>)/gsu, "").replace(/<[^>]*>/gu, "");
  return text.replace(/&(?:#x([0-9a-f]+)|#([0-9]+)|(\w+));/giu, (whole, hex, decimal, name) => {
    const code = hex ? parseInt(hex, 16) : Number(decimal);
    if (name) return NAMED[name] ?? whole;
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Text in XML, without the control characters that XML forbids. */
const escaped = (text) => text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/gu, "").replace(/[&<>"]/gu, (one) => ESCAPES[one]);
