"""Attention in the step graph, as `model/attention.py` states it: energies, weights by scope, contexts of N queries.

Letters: B sentences, Q queries of a sentence, N = B*Q, S positions, H units of a query, W units of an annotation,
A alignment size, K heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.export.cells import fits_fixed_scale
from dragoman.export.graph import Graph, Value
from dragoman.export.linear import GroupRows, apply, array
from dragoman.export.scores import energies_of
from dragoman.model.attention import AttentionScope, Global, Monotonic, Predictive
from dragoman.model.scores import AttentionScore
from dragoman.model.translation import TranslationModel


def weights_of(
    g: Graph, scope: AttentionScope, mask: Value, energies: Value, queries: Value, group: GroupRows, time: Value
) -> Value:
    """Compute alignment weights [B, Q, S], as `Weigh`.

    Args:
        mask: bool [B, S], True on real positions.
        energies: [B, Q, S].
        queries: [N, H].
        time: int64 [1], the target position of the queries, from 0.
    """
    return _WEIGHTS[scope.kind](g, scope, mask, energies, queries, group, time)


def _global_weights(
    g: Graph, scope: Global, mask: Value, energies: Value, queries: Value, group: GroupRows, time: Value
) -> Value:
    return _softmax_inside(g, energies, g.unsqueeze(mask, 1), normalised=scope.normalised)


def _monotonic_weights(
    g: Graph, scope: Monotonic, mask: Value, energies: Value, queries: Value, group: GroupRows, time: Value
) -> Value:
    positions, last = g.positions(mask, 1), _lengths(g, mask) - g.integers(1)  # [S], [B, 1]
    centres = g.unsqueeze(g.node("Min", time, last), 2)  # [B, 1] -> [B, 1, 1]
    return _softmax_inside(g, energies, _window(g, mask, positions, centres, scope.window))


def _predictive_weights(
    g: Graph, scope: Predictive, mask: Value, energies: Value, queries: Value, group: GroupRows, time: Value
) -> Value:
    positions, lengths = g.positions(mask, 1), _lengths(g, mask)  # [S], [B, 1]
    hidden = g.tanh(apply(g, scope.position, queries))
    share = g.sigmoid(g.matmul(hidden, g.constant(array(scope.v)[:, None])))  # [N, H] -> [N, 1]
    centres = g.unsqueeze(g.to(lengths, "float"), 2) * group(share)  # [B, 1, 1] * [B, Q, 1] -> [B, Q, 1]
    last = g.unsqueeze(lengths - g.integers(1), 2)  # [B, 1, 1]
    rounded = g.node("Min", g.to(g.node("Floor", centres), "int64"), last)
    weights = _softmax_inside(g, energies, _window(g, mask, positions, rounded, scope.window))
    distances = (g.to(positions, "float") - centres) / g.number(scope.window)  # [S] - [B, Q, 1] -> [B, Q, S]
    return weights * g.node("Exp", distances * distances * g.number(-2.0))


_WEIGHTS: dict[str, Callable[..., Value]] = {
    "global": _global_weights,
    "monotonic": _monotonic_weights,
    "predictive": _predictive_weights,
}


def _lengths(g: Graph, mask: Value) -> Value:
    """The number of real positions of each sentence, int64 [B, 1]."""
    return g.total(g.to(mask, "int64"), 1)


def _window(g: Graph, mask: Value, positions: Value, centres: Value, width: int) -> Value:
    """True on real positions [S] at most `width` away from integer centres [B, Q, 1] or [B, 1, 1]."""
    near = g.node("LessOrEqual", g.node("Abs", positions - centres), g.integers(width))
    return g.node("And", near, g.unsqueeze(mask, 1))


def _softmax_inside(g: Graph, energies: Value, inside: Value, *, normalised: bool = False) -> Value:
    """Softmax over the positions inside, zero elsewhere; `normalised`: the energies are already log-probabilities."""
    masked = g.where(inside, energies, g.number(float("-inf")))
    weights = g.node("Exp", masked) if normalised else g.node("Softmax", masked, axis=-1)
    return g.where(inside, weights, g.number(0.0))  # exp(-inf) is only approximately zero in onnxruntime


AttendRows = Callable[[Value, Value | None], tuple[Value, Value]]
"""Queries [N, H] and coverage [N, S'] or None -> contexts [N, W] and alignment weights [N, S]."""


class MemoryInputs(NamedTuple):
    """The inputs memory.*, the fields of `AttentionMemory`: vectors [B, S, W], mask bool [B, S], keys [B, S, A].

    The keys of a location score are slots, int64 [B, S].
    """

    vectors: Value
    mask: Value
    keys: Value


def prepare_attention(g: Graph, model: TranslationModel, layout: Value, time: Value) -> AttendRows:
    """Declare the attention memory as inputs, and return attention to it, as `Attention.prepare`.

    Args:
        layout: int64 [3]: (B, Q, -1).
        time: int64 [1].
    """
    attention = model.decoder.alignment
    assert attention is not None
    encoder = model.encoder  # averages of states in [-1, 1] stay there; sums of two layers may leave it
    memory = _memory(g, attention.score, bounded=fits_fixed_scale(encoder.layers[-1].cell) and not encoder.residual)

    def group(x: Value) -> Value:
        return g.node("Reshape", x, layout)  # [B*Q, n] -> [B, Q, n]

    def attend(queries: Value, coverage: Value | None) -> tuple[Value, Value]:
        if coverage is not None:
            # the memory may be narrower than the coverage: a longest sentence may have left the batch
            coverage = group(g.narrowed(coverage, g.size(memory.mask, 1)))  # [N, S'] -> [B, Q, S]
        energies = energies_of(g, attention.score, memory.keys, queries, group, coverage)
        weights = weights_of(g, attention.scope, memory.mask, energies, queries, group, time)
        return g.matmul(weights, memory.vectors), weights  # [B, Q, S], [B, S, W] -> [B, Q, W]

    def attend_with_heads(queries: Value) -> tuple[Value, Value]:
        heads = attention.heads
        # [B, K, Q, A/K], [B, K, A/K, S] -> [B, K, Q, S]
        products = g.matmul(_divide(g, group(queries), heads), g.transpose(_divide(g, memory.keys, heads), 0, 1, 3, 2))
        # as if the heads of a query were queries of their own: [B, K, Q, S] -> [B, K*Q, S]
        energies = g.reshape(products, 0, -1, g.size(memory.mask, 1))
        flat = weights_of(g, attention.scope, memory.mask, energies, queries, group, time)
        weights = g.node("Reshape", flat, g.node("Shape", products))  # [B, K*Q, S] -> [B, K, Q, S]
        contexts = g.matmul(weights, _divide(g, memory.vectors, heads))  # [B, K, S, W/K] -> [B, K, Q, W/K]
        context = g.reshape(g.transpose(contexts, 0, 2, 1, 3), 0, 0, -1)  # -> [B, Q, K, W/K] -> [B, Q, W]
        mean = g.node("Squeeze", g.total(weights, 1), g.integers(1)) / g.number(heads)  # [B, 1, Q, S] -> [B, Q, S]
        return context, mean

    def attend_rows(queries: Value, coverage: Value | None) -> tuple[Value, Value]:
        context, weights = attend(queries, coverage) if attention.heads == 1 else attend_with_heads(queries)
        rows = g.flatten(context, 2)  # [B, Q, W] -> [N, W]
        return g.bound(rows) if g.is_bounded(memory.vectors) else rows, g.flatten(weights, 2)

    return attend_rows


def _divide(g: Graph, x: Value, heads: int) -> Value:
    """The slices of K heads: [B, n, A] -> [B, n, K, A/K] -> [B, K, n, A/K]."""
    return g.transpose(g.reshape(x, 0, 0, heads, -1), 0, 2, 1, 3)


def _memory(g: Graph, score: AttentionScore, *, bounded: bool) -> MemoryInputs:
    vectors = g.input("memory.vectors", "float", ["B", "S", "W"], bounded=bounded)
    mask = g.input("memory.mask", "bool", ["B", "S"])
    if score.kind == "location":
        keys = g.input("memory.keys", "int64", ["B", "S"])
    elif score.keys_are_annotations:
        keys = vectors
    else:
        keys = g.input("memory.keys", "float", ["B", "S", "A"])
    return MemoryInputs(vectors, mask, keys)
