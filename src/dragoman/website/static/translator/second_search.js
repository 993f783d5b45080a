// A second search for translations that loop or run to the maximum length, as translation/second_search.py states it.

import { codePoints } from "./code_points.js";
import { hasLoop } from "./loops.js";

const ORDERS = [3, 2];
const ORDERS_OF_CHARACTERS = [6, 4];
const COVERAGE = 0.2;
const LONGER = 0.1; // share of the pieces of a vocabulary of characters that may have more than one

/** n of the n-grams that further searches never write twice, search by search. */
export function repetitionOrders(pieces) {
  const longer = pieces.filter((piece) => codePoints(piece).length > 1).length;
  return longer <= LONGER * pieces.length ? ORDERS_OF_CHARACTERS : ORDERS;
}

/** The options of a further search. */
export function searchWithoutRepetition(search, order, attends) {
  const blocked = search.no_repeat_ngram ? Math.min(order, search.no_repeat_ngram) : order;
  return { ...search, no_repeat_ngram: blocked, coverage_penalty: search.coverage_penalty || (attends ? COVERAGE : 0) };
}

/** A number that is greater the worse the best of some translations is: 0, 1 if truncated, 2 or 3 if it loops. */
export function faults([{ source, text, finished }]) {
  return 2 * Number(hasLoop(source, text)) + Number(!finished);
}
