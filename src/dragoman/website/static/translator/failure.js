// What went wrong in the worker, for the page: kinds are those of a TranslatorError.

export class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}
