// What translates for the page: the server that it came from. A page with a translator of its own replaces this file.

export { createTranslator } from "./http_translator.js";
