// The two languages: what can be chosen, what is chosen.

import { find, make } from "./dom.js";
import { languageName, message } from "./messages.js";
import { AUTO } from "./session.js";
import { keep, kept } from "./storage.js";

const source = find("source-language");
const target = find("target-language");
const swapping = find("swap");

export class LanguageChoice {
  #names;
  #targets; // Map: the targets of each source
  #auto;
  #detected = null;

  /** `languages` is the JSON of GET /languages; `changed` is called when the user chooses. */
  constructor(languages, { detects, first, changed }) {
    this.#names = new Map(languages.map(({ code, name }) => [code, name]));
    this.#targets = new Map(
      languages.map(({ code, targets }) => [code, targets.filter((one) => one !== code)]).filter(([, targets]) => targets.length),
    );
    this.#auto = detects && this.#targets.size > 1;
    const before = kept("pair", null) ?? [this.#auto ? AUTO : first?.source, first?.target];
    this.rename();
    this.#set(before);
    source.addEventListener("change", () => (this.#set([source.value, target.value]), this.#keep(), changed()));
    target.addEventListener("change", () => (this.#keep(), this.#enable(), changed()));
  }

  /** The codes of the languages; the source may be "auto". */
  get pair() {
    return [source.value, target.value];
  }

  /** Choose languages, where they can be translated. */
  choose(from, into) {
    this.#set([from, into]);
    this.#keep();
  }

  /** Show the language that was detected, or null. */
  detected(code) {
    this.#detected = source.value === AUTO ? code : null;
    const first = source.options[0];
    if (first?.value === AUTO) {
      first.textContent = this.#detected ? message("detected", this.#name(this.#detected)) : message("detect");
    }
    this.#enable();
  }

  /** The languages after a swap, or null where there is no model for them. */
  get swapped() {
    const from = source.value === AUTO ? this.#detected : source.value;
    return from && this.#targets.get(target.value)?.includes(from) ? [target.value, from] : null;
  }

  /** Write the names in the page's language. */
  rename() {
    const chosen = source.value ? this.pair : null;
    const auto = this.#auto ? [option(AUTO, message("detect"))] : [];
    source.replaceChildren(...auto, ...this.#options(this.#targets.keys()));
    if (chosen) this.#set(chosen);
    this.detected(this.#detected);
  }

  #set([from, into]) {
    source.value = this.#targets.has(from) || (from === AUTO && this.#auto) ? from : source.options[0].value;
    const all = source.value === AUTO ? new Set([...this.#targets.values()].flat()) : this.#targets.get(source.value);
    target.replaceChildren(...this.#options(all));
    if ([...all].includes(into)) target.value = into;
    this.#detected = null;
    this.detected(null);
  }

  #options(codes) {
    return [...codes]
      .map((code) => option(code, this.#name(code)))
      .sort((one, other) => one.textContent.localeCompare(other.textContent, document.documentElement.lang));
  }

  #name(code) {
    return languageName(code, this.#names.get(code) ?? code);
  }

  #keep() {
    keep("pair", this.pair);
  }

  #enable() {
    swapping.disabled = !this.swapped;
  }
}

const option = (value, textContent) => make("option", { value, textContent });
