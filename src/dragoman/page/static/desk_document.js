// Documents: divided into segments, and written with translations in their place. The server does both for files of all
// kinds; where the translator is in the browser, this module does so for plain text.

import { spaceBetween } from "./aligned_text.js";
import { writeTmx, writeXliff } from "./desk_exchange.js";
import { suffixOf, textOf } from "./files.js";

/** The forms in which a document can be finished, and the ends of their names; "" stands for the document's own. */
export const FORMS = { document: "", xliff: ".xlf", tmx: ".tmx" };

/**
 * Divide a file: {facts, found}. `facts` are kept, and what `finish` needs; `found` has {source, paragraph, target?, fuzzy?} for
 * each segment. Throws a TypeError for a file that is neither text in UTF-8 nor of a kind that the translator reads.
 */
export async function divide(translator, file, source, target, signal) {
  const facts = { name: file.name, source, target, file };
  if (translator.openDocument) {
    const { segments, ...answer } = await translator.openDocument(file, source, target, signal);
    return { facts: { ...facts, source: answer.source, digest: answer.digest }, found: segments };
  }
  const text = await textOf(file);
  if (text === null) throw new TypeError(`${file.name} is no text`);
  return { facts, found: sentences(text, source).map(({ text: one, paragraph }) => ({ source: one, paragraph })) };
}

/** The finished document in one of `FORMS`: {name, blob, note?}. */
export async function finish(translator, facts, segments, form, signal) {
  if (translator.finishDocument) return translator.finishDocument(facts, segments, form, signal);
  const suffix = suffixOf(facts.name);
  const stem = suffix ? facts.name.slice(0, -suffix.length) : facts.name;
  const writers = {
    document: async () => inPlace(await textOf(facts.file), facts.source, segments),
    xliff: () => writeXliff(facts, segments),
    tmx: () => writeTmx(facts, segments),
  };
  const content = await writers[form]();
  return { name: `${stem}_${facts.target}${FORMS[form] || suffix}`, blob: new Blob([content]) };
}

/** The sentences of a text that have a letter: [{text, start, paragraph}]; a paragraph is a line. */
function sentences(text, language) {
  // Without what follows the language: browsers refuse some variants that a run may name, such as de-x1.
  const segmenter = new Intl.Segmenter(language.split("-")[0], { granularity: "sentence" });
  return [...text.matchAll(/[^\r\n]+/gu)].flatMap((line, paragraph) =>
    [...segmenter.segment(line[0])]
      .filter(({ segment }) => /\p{L}/u.test(segment))
      .map(({ segment, index }) => {
        const start = line.index + index + (segment.length - segment.trimStart().length);
        return { text: segment.trim(), start, paragraph };
      }),
  );
}

/** The text with translations in the place of its sentences; one without a translation stays. */
function inPlace(text, language, segments) {
  let [result, place, before] = ["", 0, ""];
  sentences(text, language).forEach(({ text: sentence, start }, number) => {
    const translation = segments[number].target || sentence;
    const between = text.slice(place, start);
    result += (before ? spaceBetween(before, between, translation) : between) + translation;
    [place, before] = [start + sentence.length, translation];
  });
  return result + text.slice(place);
}
