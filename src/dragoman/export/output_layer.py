"""The end of a step in the graph: logits of one model or of several, the words that are most probable together.

    log_probabilities, words [R, k], target_log_probabilities [R]

Several models are combined as in `engines/ensemble_engine.py`. log sum exp is the largest logit less the logarithm of
its probability, which is never small: the softmax is a fast operator, a sum of exponentials is not.

The k best are looked for in two rounds, because the operator for that is slow on long rows: they lie in the k chunks of
`CHUNK` words whose best words are best. So logits are made for whole chunks; those that fill up are -inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.ensemble_engine import Combination
from dragoman.engines.shortlist import CHUNK, in_chunks
from dragoman.export.cells import Array, apply, array
from dragoman.export.graph import Graph, Value
from dragoman.model.output_layer import OutputLayer

LEAST = -3e38
"""Below every logarithm, and still a number: -inf less -inf is none."""
NOTHING = -80.0
"""A logit so far below the largest adds nothing. Of those farther below the softmax makes denormal numbers, with which
processors are slow, and of words that are not listed there are many."""


class Mixture(NamedTuple):
    """How models choose together; the weights sum to 1."""

    combination: Combination
    weights: Sequence[float]


class Listing(NamedTuple):
    """Which words may follow, where not all of the vocabulary may.

    always: those that may follow always, whose part of the output layer lies in the graph
    owners: int64 [R], whose row each is
    """

    always: NDArray[np.integer[Any]]
    owners: Value


class Asked(NamedTuple):
    """What is wanted of the cells.

    rows:    int64 [R], which cells want an answer
    targets: int64 [R], words whose probability is wanted
    best:    int64 [1], k
    listing: None where all words may follow
    """

    rows: Value
    targets: Value
    best: Value
    listing: Listing | None


def asked(g: Graph, always: NDArray[np.integer[Any]] | None) -> Asked:
    """Declared as inputs; `always` of the listing, if there is to be one."""
    rows, targets = (g.input(name, "int64", ["R"]) for name in ("rows", "targets"))
    best = g.input("k", "int64", [1])
    listing = None if always is None else Listing(always, g.input("owners", "int64", ["R"]))
    return Asked(rows, targets, best, listing)


def logits_of(g: Graph, output: OutputLayer, matrix: Array, readout: Value, listing: Listing | None) -> Value:
    """Of rows [R, O], in whole chunks: [R, V], or [R, A + U] of the words that are always listed, then of those whose
    part of the output layer is handed in.

    limit.weight [O, U], in int8 with limit.scale [U]; limit.bias [B, U], -inf at words that are not for the sentence.

    Args:
        matrix: W of the output in whole chunks.
    """
    if output.narrow is not None:
        readout = apply(g, output.narrow, readout)
    bias = None if output.bias is None else array(output.bias)
    if listing is None:
        return g.product(readout, matrix, _bias_in_chunks(bias, len(output.weight)))
    always = listing.always
    of_some = None if bias is None else bias[always]
    usual = g.product(readout, in_chunks(matrix[always], 0), _bias_in_chunks(of_some, len(always)))
    return g.concat(usual, _handed_in(g, readout, matrix.shape[1], listing.owners), axis=-1)


def _handed_in(g: Graph, readout: Value, size: int, owners: Value) -> Value:
    """The logits [R, U] of words whose part of the output layer is handed in."""
    bias = g.gather(g.input("limit.bias", "float", ["B", "U"]), owners)
    if not g.int8:
        return g.matmul(readout, g.input("limit.weight", "float", [size, "U"])) + bias
    weight = g.input("limit.weight", "int8", [size, "U"])
    return g.int8_product(g.rounded(readout), weight, g.input("limit.scale", "float", ["U"])) + bias


def _bias_in_chunks(bias: Array | None, words: int) -> Array | None:
    """The bias of so many words filled up to whole chunks, -inf where no word is; None where nothing is to be added."""
    if bias is None and words % CHUNK == 0:
        return None
    return in_chunks(np.zeros(words, np.float32) if bias is None else bias, -np.inf)


def answer(g: Graph, logits: Sequence[Value], mixture: Mixture, asked: Asked) -> None:
    """Declare the outputs."""
    targets = g.unsqueeze(asked.targets, 1)
    if len(logits) == 1 or mixture.combination == "logits":
        values, words, wanted = _of_one(g, _weighted(g, logits, mixture), targets, asked)
    elif mixture.combination == "log-probabilities":
        values, words, wanted = _of_logarithms(g, logits, mixture, targets, asked.best)
    else:
        values, words, wanted = _of_probabilities(g, logits, mixture, targets, asked.best)
    g.output("log_probabilities", values, "float", ["R", "k"])
    g.output("words", words, "int64", ["R", "k"])
    g.output("target_log_probabilities", g.reshape(wanted, -1), "float", ["R"])


Answer = tuple[Value, Value, Value]
"""log p of the k best [R, k], these words [R, k], and log p of the targets [R, 1]."""


def _of_one(g: Graph, logits: Value, targets: Value, asked: Asked) -> Answer:
    values, words = _best(g, logits, asked.best)
    first = [g.columns(part, 0, 1) for part in (values, words)]
    heard = logits if asked.listing is None else g.node("Max", logits, first[0] + g.number(NOTHING))
    largest = g.node("GatherElements", g.node("Softmax", heard, axis=-1), first[1], axis=1)
    log_sum = first[0] - g.node("Log", largest)  # [R, 1]
    return values - log_sum, words, _at(g, logits, targets) - log_sum


def _of_logarithms(g: Graph, logits: Sequence[Value], mixture: Mixture, targets: Value, best: Value) -> Answer:
    log_sum = _weighted(g, [_log_sum(g, own, g.node("Softmax", own, axis=-1)) for own in logits], mixture)
    total = _weighted(g, logits, mixture)
    values, words = _best(g, total, best)
    return values - log_sum, words, _at(g, total, targets) - log_sum


def _of_probabilities(g: Graph, logits: Sequence[Value], mixture: Mixture, targets: Value, best: Value) -> Answer:
    """The best by their probabilities; what these are is taken from logarithms, which do not underflow."""
    shares = [g.node("Softmax", own, axis=-1) for own in logits]
    sums = [_log_sum(g, own, share) for own, share in zip(logits, shares, strict=True)]
    _, found = _best(g, _weighted(g, shares, mixture), best)

    def log_mean(words: Value) -> Value:
        own = [
            _at(g, of_one, words) - log_sum + g.number(math.log(weight))
            for of_one, log_sum, weight in zip(logits, sums, mixture.weights, strict=True)
        ]
        largest = g.node("Max", *own, g.number(LEAST))
        return largest + g.node("Log", g.node("Sum", *(g.node("Exp", part - largest) for part in own)))

    values, order = g.nodes("TopK", 2, log_mean(found), best, axis=-1)  # equal probabilities may have been rounded
    return values, g.node("GatherElements", found, order, axis=1), log_mean(targets)


def _best(g: Graph, x: Value, best: Value) -> tuple[Value, Value]:
    """The k largest of each row [R, V] and where they are, both [R, k], largest first."""
    chunks = g.reshape(x, 0, -1, CHUNK)  # [R, V] -> [R, C, CHUNK]
    count = g.size(chunks, 1)
    largest = g.node("ReduceMax", chunks, g.integers(-1), keepdims=0)
    _, chosen = g.nodes("TopK", 2, largest, g.node("Min", best, count), axis=-1)  # [R, c]
    begin = g.unsqueeze(g.positions(x, 0) * count, 1)  # of each row, counted in chunks of all rows
    inside = g.flatten(g.gather(g.flatten(chunks, 2), chosen + begin), 1)  # [R, c * CHUNK]
    values, places = g.nodes("TopK", 2, inside, best, axis=-1)
    size = g.integers(CHUNK)
    chunk = places / size
    return values, g.node("GatherElements", chosen, chunk, axis=1) * size + places - chunk * size


def _at(g: Graph, x: Value, words: Value) -> Value:
    return g.node("GatherElements", x, words, axis=1)


def _log_sum(g: Graph, logits: Value, probabilities: Value) -> Value:
    """[R, 1]"""
    largest = (g.node("ReduceMax", x, g.integers(-1), keepdims=1) for x in (logits, probabilities))
    return next(largest) - g.node("Log", next(largest))


def _weighted(g: Graph, parts: Sequence[Value], mixture: Mixture) -> Value:
    if len(parts) == 1:
        return parts[0]
    weighted = [part * g.number(weight) for part, weight in zip(parts, mixture.weights, strict=True)]
    return g.node("Sum", *weighted)
