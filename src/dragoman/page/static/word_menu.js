// The menu of a word of the translation, by the right button, a long press or the menu key: constraints and bans.

import { find, make } from "./dom.js";
import { message } from "./messages.js";
import { holdPoint } from "./panes.js";

const menu = find("word-menu");
let opened = null; // the element of the word

/** Open the menu of a word at a place of the window; `entries`: [text, function]. */
export function openWordMenu(element, { x, y }, entries) {
  closeWordMenu();
  opened = element;
  menu.replaceChildren(
    ...entries.map(([text, run]) => {
      const item = make("li", { role: "menuitem", tabIndex: -1, textContent: text });
      item.addEventListener("click", () => {
        closeWordMenu({ back: true });
        run();
      });
      return item;
    }),
  );
  menu.ariaLabel = message("constraintsOf", element.textContent);
  menu.hidden = false;
  const around = menu.parentElement.getBoundingClientRect();
  menu.style.setProperty("left", `${Math.max(8, Math.min(x - around.left, around.width - menu.offsetWidth - 8))}px`);
  menu.style.setProperty("top", `${y - around.top}px`);
  holdPoint(true);
  menu.firstElementChild.focus({ preventScroll: true });
}

function closeWordMenu({ back = false } = {}) {
  if (!opened) return;
  const element = opened;
  opened = null;
  menu.hidden = true;
  holdPoint(false);
  if (back) element.focus({ preventScroll: true });
}

menu.addEventListener("keydown", (event) => {
  const items = [...menu.children];
  const here = items.indexOf(event.target);
  const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) items.at(to % items.length).focus();
  else if (event.key === "Enter" || event.key === " ") event.target.click();
  else if (event.key === "Escape" || event.key === "Tab") closeWordMenu({ back: true });
  else return;
  event.preventDefault();
});
document.addEventListener("pointerdown", (event) => {
  if (!menu.contains(event.target)) closeWordMenu();
});
