// Files that are dropped onto the source or opened: text goes into the source, others to the translator.

const TEXT = ".txt";

/** What a file is: its text, or null where the translator has to read it. Throws a TypeError if it is no UTF-8. */
export async function textOf(file) {
  const suffix = suffixOf(file.name);
  if (suffix !== TEXT && !(file.type === "text/plain" || suffix === "")) return null;
  return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
}

/** The end of a file's name with its dot, or "". */
export const suffixOf = (name) => /\.[^.]*$/.exec(name)?.[0].toLowerCase() ?? "";

/** Let files be dropped onto an element. */
export function acceptDrops(element, opened) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  element.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    element.classList.add("receiving");
  });
  element.addEventListener("dragleave", () => element.classList.remove("receiving"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("receiving");
    if (!hasFiles(event)) return;
    event.preventDefault();
    opened(event.dataTransfer.files[0]);
  });
}
