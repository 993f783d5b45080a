"use strict";
const isolated = (word) => `\u2068${word.textContent}\u2069`; // keeps a right-to-left word from turning what follows

// Pointing at a word lights up the words it is aligned with. Each line is one stop of the Tab key; arrows move within.
for (const sample of document.querySelectorAll(".sample")) {
  const source = [...sample.querySelectorAll(".source .word")];
  const target = [...sample.querySelectorAll(".target .word")];
  if (!target.length) continue;
  document.querySelector(".pointing").hidden = false;
  const aligned = sample.querySelector(".aligned");
  const partners = new Map([...source, ...target].map((word) => [word, []]));
  for (const word of target) {
    for (const link of word.dataset.links.split(" ").filter(Boolean)) {
      const [index, weight] = link.split(":").map(Number);
      partners.get(word).push([source[index], weight]);
      partners.get(source[index]).push([word, weight]);
    }
  }

  const clear = () => {
    for (const word of partners.keys()) {
      word.classList.remove("pointed");
      word.style.removeProperty("--weight");
    }
    aligned.textContent = "";
  };
  const point = (word) => {
    clear();
    word.classList.add("pointed");
    const heaviest = [...partners.get(word)].sort((a, b) => b[1] - a[1]);
    for (const [partner, weight] of heaviest) partner.style.setProperty("--weight", weight);
    const said = heaviest.slice(0, 3).map(([partner, weight]) => `${isolated(partner)} ${weight.toFixed(2)}`);
    aligned.textContent = `${isolated(word)} – ${said.join(" · ") || "aligned with nothing"}`;
  };
  const leave = () => {
    const focused = sample.querySelector(".word:focus");
    if (focused) point(focused);
    else clear();
  };

  for (const line of [source, target]) {
    line.forEach((word, index) => {
      word.tabIndex = index ? -1 : 0;
      word.addEventListener("pointerenter", () => point(word));
      word.addEventListener("pointerleave", leave);
      word.addEventListener("focus", () => point(word));
      word.addEventListener("blur", clear);
      word.addEventListener("keydown", (event) => {
        const rightToLeft = getComputedStyle(word).direction === "rtl";
        const steps = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1, Home: -index, End: line.length - 1 - index };
        const next = line[index + (steps[event.key] ?? NaN)];
        if (!next) return;
        event.preventDefault();
        word.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
    });
  }
}
