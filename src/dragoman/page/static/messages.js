// The texts of the page in the language that was chosen, and their way into the page.

import { ENGLISH } from "./messages_en.js";
import { GERMAN } from "./messages_de.js";
import { KOREAN } from "./messages_ko.js";

const LANGUAGES = { en: ENGLISH, de: GERMAN, ko: KOREAN };

let code = "en";

/** The codes and names of the page's languages. */
export const pageLanguages = () => Object.entries(LANGUAGES).map(([key, messages]) => [key, messages.name]);

/** A text in the page's language; texts with gaps are functions of what fills them. */
export function message(name, ...values) {
  const found = LANGUAGES[code][name];
  return typeof found === "function" ? found(...values) : found;
}

/** The name of a language in the page's language; `otherwise` where the browser knows none. */
export function languageName(language, otherwise) {
  try {
    return new Intl.DisplayNames([code], { type: "language", fallback: "none" }).of(language) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** A number as the page's language writes it. */
export const formatted = (number, options) => new Intl.NumberFormat(code, options).format(number);

/** The first of the preferred languages that the page has. */
export const preferredLanguage = (preferred) =>
  preferred.map((one) => one.split("-")[0]).find((one) => Object.hasOwn(LANGUAGES, one)) ?? "en";

/** Write the page in a language. */
export function setPageLanguage(chosen) {
  code = Object.hasOwn(LANGUAGES, chosen) ? chosen : "en";
  document.documentElement.lang = code;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = message(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) {
    element.ariaLabel = element.title = message(element.dataset.label);
  }
  for (const element of document.querySelectorAll("[data-placeholder]")) {
    element.placeholder = message(element.dataset.placeholder);
  }
}
