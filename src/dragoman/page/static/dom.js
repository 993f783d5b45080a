// Elements of the page. Text is set as text only, never as markup.

/** The element with an id. */
export const find = (id) => document.getElementById(id);

/** A new element with properties and children; strings become text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { role, ...others } = properties;
  if (role) element.setAttribute("role", role);
  Object.assign(element, others);
  element.append(...children);
  return element;
}

/** "ltr" or "rtl", by the first letter of a text that has a direction; `otherwise` where there is none. */
export function directionOf(text, otherwise = "ltr") {
  const letter = /\p{L}/u.exec(text)?.[0];
  if (!letter) return otherwise;
  return RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** "rtl" for a language that is written from right to left. */
export function languageDirection(code) {
  try {
    const locale = new Intl.Locale(code);
    return (locale.getTextInfo?.() ?? locale.textInfo).direction;
  } catch {
    return "ltr";
  }
}
