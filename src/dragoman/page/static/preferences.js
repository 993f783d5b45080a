// What a visitor prefers on all pages: the language of the page and its colours.

import { find, make } from "./dom.js";
import { pageLanguages, preferredLanguage, setPageLanguage } from "./messages.js";
import { keep, kept } from "./storage.js";

const language = find("page-language");
const theme = find("theme");

/** Apply what was chosen before, and let it be changed; `renamed` is called after a change of the language. */
export function preparePreferences(renamed) {
  setTheme(kept("theme", "auto"));
  theme.addEventListener("change", () => {
    setTheme(theme.value);
    keep("theme", theme.value);
  });
  language.replaceChildren(...pageLanguages().map(([value, name]) => make("option", { value, textContent: name, lang: value })));
  setPageLanguage(kept("pageLanguage", preferredLanguage(navigator.languages)));
  language.value = document.documentElement.lang;
  language.addEventListener("change", () => {
    keep("pageLanguage", language.value);
    setPageLanguage(language.value);
    renamed();
  });
}

function setTheme(chosen) {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.value = chosen;
}
