"""The readout and the output layer in the step graph: logits of one or several models, and the k most probable words.

    log_probabilities, words [R, k], target_log_probabilities [R], and logits or probabilities [R, V]

The last is computed anyway; it is for ensembles of exported models, which combine whole distributions. Several models
in one graph are combined as in `engines/ensemble_engine.py`. log sum exp is computed as the largest logit minus the
logarithm of its probability, which is never small: softmax is a fast operator, a sum of exponentials is not.

The k best words are found in two rounds, because TopK is slow on long rows: they are in the k chunks of `CHUNK` words
with the largest maxima. Logits are computed for whole chunks; padding has -inf.

Letters of the readout: N rows, H units of the state, E embedding, W units of a context, O size of the readout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import Combination
from dragoman.engines.shortlist import CHUNK, in_chunks
from dragoman.export.graph import Array, Graph, Value
from dragoman.export.linear import apply, array
from dragoman.model.output_layer import AttentionalReadout, MaxoutReadout, OutputLayer, Readout, StateReadout


def read_out(g: Graph, readout: Readout, state: Value, words: Value, context: Value | None) -> Value:
    """Compute the readout [N, O] of states [N, H], previous words [N, E] and contexts [N, W]."""
    return _READOUTS[readout.kind](g, readout, state, words, context)


def _state(g: Graph, readout: StateReadout, state: Value, words: Value, context: Value | None) -> Value:
    return state


def _maxout(g: Graph, readout: MaxoutReadout, state: Value, words: Value, context: Value | None) -> Value:
    pairs = apply(g, readout.state, state, apply(g, readout.word, words))  # [N, 2O]
    if readout.context is not None:
        assert context is not None
        pairs = apply(g, readout.context, context, pairs)
    # [N, 2O] -> [N, O, 2] -> [N, O]
    return g.node("ReduceMax", g.reshape(pairs, 0, readout.size, 2), g.integers(-1), keepdims=0)


def _attentional(g: Graph, readout: AttentionalReadout, state: Value, words: Value, context: Value | None) -> Value:
    assert context is not None
    bias = None if readout.bias is None else array(readout.bias)
    assert readout.combine.bias is None
    mixed = g.linear(g.concat(context, state, axis=-1), array(readout.combine.weight), bias)  # [N, W + H] -> [N, O]
    return mixed if readout.affine else g.tanh(mixed)


_READOUTS: dict[str, Callable[..., Value]] = {"state": _state, "maxout": _maxout, "attentional": _attentional}
"""The function of each kind of readout."""


LOWEST = -3e38
"""A finite value below every logarithm; -inf would give -inf - -inf, which is NaN."""
NEGLIGIBLE = -80.0
"""A logit this far below the largest does not change the sum. Lower ones give denormal numbers in the softmax, which
are slow to process; words outside the shortlist would give many of them."""


class EnsembleCombination(NamedTuple):
    """How the distributions of models are combined; the weights sum to 1."""

    combination: Combination
    weights: Sequence[float]


class ShortlistInputs(NamedTuple):
    """The words of a shortlist.

    always: words of every shortlist, whose part of the output layer is in the graph
    owners: int64 [R], the sentence of each row
    """

    always: NDArray[np.integer[Any]]
    owners: Value


class StepQuery(NamedTuple):
    """The requested outputs of a step.

    rows:      int64 [R], the cells that are rows of the output
    targets:   int64 [R], words whose log-probability is requested
    best:      int64 [1], k
    shortlist: None for the whole vocabulary
    """

    rows: Value
    targets: Value
    best: Value
    shortlist: ShortlistInputs | None


def declare_query(g: Graph, always: NDArray[np.integer[Any]] | None) -> StepQuery:
    """Declare the inputs of a query; `always` has the words of every shortlist, None without shortlists."""
    rows, targets = (g.input(name, "int64", ["R"]) for name in ("rows", "targets"))
    best = g.input("k", "int64", [1])
    shortlist = None if always is None else ShortlistInputs(always, g.input("owners", "int64", ["R"]))
    return StepQuery(rows, targets, best, shortlist)


def logits_of(g: Graph, output: OutputLayer, matrix: Array, readout: Value, shortlist: ShortlistInputs | None) -> Value:
    """Logits of readouts [R, O], in whole chunks: [R, V], or with a shortlist [R, A + U]: the words of every shortlist,
    then those whose part of the output layer is an input.

    The inputs are limit.weight [O, U], in int8 with limit.scale [U], and limit.bias [B, U], which is -inf for words
    outside the shortlist of a sentence.

    Args:
        matrix: the output matrix W in whole chunks.
    """
    if output.narrow is not None:
        readout = apply(g, output.narrow, readout)
    bias = None if output.bias is None else array(output.bias)
    if shortlist is None:
        return g.linear(readout, matrix, _bias_in_chunks(bias, len(output.weight)))
    always = shortlist.always
    some_biases = None if bias is None else bias[always]
    listed = g.linear(readout, in_chunks(matrix[always], 0), _bias_in_chunks(some_biases, len(always)))
    limit_bias = g.gather(g.input("limit.bias", "float", ["B", "U"]), shortlist.owners)
    weight = g.input("limit.weight", "int8" if g.int8 else "float", [matrix.shape[1], "U"])
    if g.int8:
        limited = g.quantised_matmul(g.quantise(readout), weight, g.input("limit.scale", "float", ["U"]))
    else:
        limited = g.matmul(readout, weight)
    return g.concat(listed, limited + limit_bias, axis=-1)


def _bias_in_chunks(bias: Array | None, words: int) -> Array | None:
    """The bias [words] padded to whole chunks with -inf; None if there is nothing to add."""
    if bias is None and words % CHUNK == 0:
        return None
    return in_chunks(np.zeros(words, np.float32) if bias is None else bias, -np.inf)


def declare_outputs(g: Graph, logits: Sequence[Value], ensemble: EnsembleCombination, query: StepQuery) -> None:
    """Declare the outputs for logits [R, V] of each model."""
    targets = g.unsqueeze(query.targets, 1)
    if len(logits) == 1 or ensemble.combination == "logits":
        values, words, target_values = _of_one(g, _logits_output(g, logits, ensemble), targets, query)
    elif ensemble.combination == "log-probabilities":
        values, words, target_values = _of_logarithms(g, logits, ensemble, targets, query.best)
    else:
        values, words, target_values = _of_probabilities(g, logits, ensemble, targets, query.best)
    g.output("log_probabilities", values, "float", ["R", "k"])
    g.output("words", words, "int64", ["R", "k"])
    g.output("target_log_probabilities", g.reshape(target_values, -1), "float", ["R"])


def _logits_output(g: Graph, logits: Sequence[Value], ensemble: EnsembleCombination) -> Value:
    """The weighted sum of logits [R, V], declared as an output."""
    total = _weighted(g, logits, ensemble)
    g.output("logits", total, "float", ["R", "V"])
    return total


BestWords = tuple[Value, Value, Value]
"""Log-probabilities of the k best words [R, k], these words [R, k], log-probabilities of the targets [R, 1]."""


def _of_one(g: Graph, logits: Value, targets: Value, query: StepQuery) -> BestWords:
    values, words = _best(g, logits, query.best)
    first = [g.columns(part, 0, 1) for part in (values, words)]
    limited = logits if query.shortlist is None else g.node("Max", logits, first[0] + g.number(NEGLIGIBLE))
    largest = g.node("GatherElements", g.node("Softmax", limited, axis=-1), first[1], axis=1)
    log_sum = first[0] - g.node("Log", largest)  # [R, 1]
    return values - log_sum, words, _at(g, logits, targets) - log_sum


def _of_logarithms(
    g: Graph, logits: Sequence[Value], ensemble: EnsembleCombination, targets: Value, best: Value
) -> BestWords:
    log_sum = _weighted(g, [_log_sum(g, own, g.node("Softmax", own, axis=-1)) for own in logits], ensemble)
    total = _logits_output(g, logits, ensemble)
    values, words = _best(g, total, best)
    return values - log_sum, words, _at(g, total, targets) - log_sum


def _of_probabilities(
    g: Graph, logits: Sequence[Value], ensemble: EnsembleCombination, targets: Value, best: Value
) -> BestWords:
    """The best words by probability; their values are computed from logarithms, which do not underflow."""
    distributions = [g.node("Softmax", own, axis=-1) for own in logits]
    sums = [_log_sum(g, own, p) for own, p in zip(logits, distributions, strict=True)]
    mixture = _weighted(g, distributions, ensemble)
    g.output("probabilities", mixture, "float", ["R", "V"])
    _, words = _best(g, mixture, best)

    def log_mean(some: Value) -> Value:
        own = [
            _at(g, of_one, some) - log_sum + g.number(math.log(weight))
            for of_one, log_sum, weight in zip(logits, sums, ensemble.weights, strict=True)
        ]
        largest = g.node("Max", *own, g.number(LOWEST))
        return largest + g.node("Log", g.node("Sum", *(g.node("Exp", part - largest) for part in own)))

    values, order = g.nodes("TopK", 2, log_mean(words), best, axis=-1)  # rounding may have changed their order
    return values, g.node("GatherElements", words, order, axis=1), log_mean(targets)


def _best(g: Graph, x: Value, best: Value) -> tuple[Value, Value]:
    """The k largest values of each row [R, V] and their positions, both [R, k], in descending order."""
    chunks = g.reshape(x, 0, -1, CHUNK)  # [R, V] -> [R, C, CHUNK]
    count = g.size(chunks, 1)
    largest = g.node("ReduceMax", chunks, g.integers(-1), keepdims=0)
    _, chosen = g.nodes("TopK", 2, largest, g.node("Min", best, count), axis=-1)  # [R, c]
    begin = g.unsqueeze(g.positions(x, 0) * count, 1)  # index of each row's first chunk
    inside = g.flatten(g.gather(g.flatten(chunks, 2), chosen + begin), 1)  # [R, c * CHUNK]
    values, positions = g.nodes("TopK", 2, inside, best, axis=-1)
    size = g.integers(CHUNK)
    chunk = positions / size
    return values, g.node("GatherElements", chosen, chunk, axis=1) * size + positions - chunk * size


def _at(g: Graph, x: Value, words: Value) -> Value:
    return g.node("GatherElements", x, words, axis=1)


def _log_sum(g: Graph, logits: Value, probabilities: Value) -> Value:
    """log sum exp of the logits, [R, V] -> [R, 1]."""
    largest = (g.node("ReduceMax", x, g.integers(-1), keepdims=1) for x in (logits, probabilities))
    return next(largest) - g.node("Log", next(largest))


def _weighted(g: Graph, parts: Sequence[Value], ensemble: EnsembleCombination) -> Value:
    if len(parts) == 1:
        return parts[0]
    weighted = [part * g.number(weight) for part, weight in zip(parts, ensemble.weights, strict=True)]
    return g.node("Sum", *weighted)
