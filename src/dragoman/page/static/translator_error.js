// The failures of a translator.

/**
 * `kind` decides what the page says and does:
 *   "unreachable"  nothing answers; the page tries again
 *   "busy"         too much to do; the page tries again after `retryAfter` seconds
 *   "key"          a key is missing or wrong; the page asks for one
 *   "refused"      the request cannot be answered; `message` says why
 *   "failed"       an error of the translator; `message` says which
 */
export class TranslatorError extends Error {
  constructor(kind, message, retryAfter = 0) {
    super(message);
    this.name = "TranslatorError";
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}
