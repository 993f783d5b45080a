"""Attention in the step graph: energies, weights and context of the cells against the memory of their sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.export.cells import apply, array, fills_its_range, over_words
from dragoman.export.graph import Graph, Value
from dragoman.model.scopes import AttentionScope, Global, Monotonic, Predictive
from dragoman.model.scores import Additive, AttentionScore, Dot, General, Location
from dragoman.model.translation import TranslationModel

AttendCells = Callable[[Value, Value | None], tuple[Value, Value]]
"""Queries [N, H] and coverage [N, S'] or None -> contexts [N, W] and alignment weights [N, S]."""


Group = Callable[[Value], Value]
"""Rows of all sentences by sentence, [B*Q, ..] -> [B, Q, n]."""


class SourceInputs(NamedTuple):
    """As the model's `AttentionMemory`: annotations [B, S, W], mask [B, S], keys; counts of words int64 [B, 1]."""

    vectors: Value
    mask: Value
    keys: Value
    counts: Value


def prepare_attention(g: Graph, model: TranslationModel, layout: Value, time: Value) -> AttendCells:
    """Attention as in `Attention.prepare`, with its memory as inputs.

    Args:
        layout: int64 [3]: (B, Q, -1).
        time: int64 [1].
    """
    attention = model.decoder.alignment
    assert attention is not None
    score, scope = attention.score, attention.scope
    encoder = model.encoder  # sums of two layers may leave [-1, 1]; means of what lies in it do not
    memory = _memory(g, score, bounded=fills_its_range(encoder.layers[-1].cell) and not encoder.residual)

    def grouped(x: Value) -> Value:
        return g.node("Reshape", x, layout)  # [B*Q, ..] -> [B, Q, n]

    def attend(queries: Value, coverage: Value | None) -> tuple[Value, Value]:
        if coverage is not None:
            # the memory may have become narrower since: the longest sentence may have finished
            coverage = grouped(g.narrowed(coverage, g.size(memory.mask, 1)))
        energies = _energies(g, score, memory, queries, grouped, coverage)
        weights = _weigh(g, scope, memory, energies, queries, grouped, time)
        context = g.flatten(g.matmul(weights, memory.vectors), 2)
        return g.bound(context) if g.is_bounded(memory.vectors) else context, g.flatten(weights, 2)

    return attend


def _memory(g: Graph, score: AttentionScore, *, bounded: bool) -> SourceInputs:
    vectors = g.input("memory.vectors", "float", ["B", "S", "W"], bounded=bounded)
    mask = g.input("memory.mask", "bool", ["B", "S"])
    if score.kind == "location":
        keys = g.input("memory.keys", "int64", ["B", "S"])
    elif score.keys_are_annotations:
        keys = vectors
    else:
        keys = g.input("memory.keys", "float", ["B", "S", "A"])
    return SourceInputs(vectors, mask, keys, g.total(g.to(mask, "int64"), 1))


def _energies(
    g: Graph,
    score: AttentionScore,
    memory: SourceInputs,
    queries: Value,
    grouped: Group,
    coverage: Value | None,
) -> Value:
    """[B, Q, S], by the kind of the score."""
    return _ENERGIES[score.kind](g, score, memory, queries, grouped, coverage)


def _dot_energies(
    g: Graph, score: Dot, memory: SourceInputs, queries: Value, grouped: Group, coverage: Value | None
) -> Value:
    return g.matmul(grouped(queries), g.transpose(memory.keys, 0, 2, 1))  # [B, Q, A], [B, A, S] -> [B, Q, S]


def _location_energies(
    g: Graph, score: Location, memory: SourceInputs, queries: Value, grouped: Group, coverage: Value | None
) -> Value:
    return _by_position(g, score, memory, grouped(apply(g, score.query, queries)))


def _additive_energies(
    g: Graph, score: Additive, memory: SourceInputs, queries: Value, grouped: Group, coverage: Value | None
) -> Value:
    q = g.unsqueeze(grouped(apply(g, score.query, queries)), 2)  # [B*Q, A] -> [B, Q, 1, A]
    inner = g.unsqueeze(memory.keys, 1) + q  # [B, Q, S, A]
    if coverage is not None:
        assert score.coverage is not None
        inner = inner + g.unsqueeze(coverage, 3) * g.constant(array(score.coverage))
    v = array(score.v)
    if score.length is not None:
        v = v * (array(score.length) / ((v * v).sum() ** 0.5))
    # v as the row on the left: as a column on the right it takes onnxruntime three times as long
    return grouped(g.node("Gemm", g.constant(v[None]), g.flatten(g.tanh(inner), 3), transB=1))


_ENERGIES: dict[str, Callable[..., Value]] = {
    "additive": _additive_energies,
    "dot": _dot_energies,
    "general": _dot_energies,  # its keys hold W_a already
    "location": _location_energies,
}


def _by_position(g: Graph, score: Location, memory: SourceInputs, by_slot: Value) -> Value:
    """[B, Q, slots] -> [B, Q, S], -inf where a position has no slot."""
    if not score.masked:
        by_slot = g.node("LogSoftmax", by_slot, axis=-1)
    slot = g.unsqueeze(g.node("Max", memory.keys, g.integers(0)), 1)  # [B, 1, S]
    shape = g.concat(g.size(by_slot, 0), g.size(by_slot, 1), g.size(memory.keys, 1), axis=0)
    energies = g.node("GatherElements", by_slot, g.node("Expand", slot, shape), axis=2)
    nowhere = g.node("Less", g.unsqueeze(memory.keys, 1), g.integers(0))
    return g.where(nowhere, g.number(float("-inf")), energies)


def _weigh(
    g: Graph,
    scope: AttentionScope,
    memory: SourceInputs,
    energies: Value,
    queries: Value,
    grouped: Group,
    time: Value,
) -> Value:
    """Alignment weights [B, Q, S], by the kind of the scope."""
    return _WEIGHTS[scope.kind](g, scope, memory, energies, queries, grouped, time)


def _global_weights(
    g: Graph, scope: Global, memory: SourceInputs, energies: Value, queries: Value, grouped: Group, time: Value
) -> Value:
    return _weights_inside(g, energies, _real(g, memory), normalised=scope.normalised)


def _monotonic_weights(
    g: Graph, scope: Monotonic, memory: SourceInputs, energies: Value, queries: Value, grouped: Group, time: Value
) -> Value:
    positions, last = g.positions(memory.mask, 1), memory.counts - g.integers(1)  # [S], [B, 1]
    centres = g.unsqueeze(g.node("Min", time, last), 2)  # [B, 1, 1]
    return _weights_inside(g, energies, _window(g, positions, centres, scope.window, _real(g, memory)))


def _predictive_weights(
    g: Graph, scope: Predictive, memory: SourceInputs, energies: Value, queries: Value, grouped: Group, time: Value
) -> Value:
    positions, last = g.positions(memory.mask, 1), memory.counts - g.integers(1)  # [S], [B, 1]
    bent = g.tanh(apply(g, scope.position, queries))
    share = g.sigmoid(g.matmul(bent, g.constant(array(scope.v)[:, None])))  # [N, H] -> [N, 1]
    centres = g.unsqueeze(g.to(memory.counts, "float"), 2) * grouped(share)  # [B, Q, 1]
    whole = g.node("Min", g.to(g.node("Floor", centres), "int64"), g.unsqueeze(last, 2))
    weights = _weights_inside(g, energies, _window(g, positions, whole, scope.window, _real(g, memory)))
    distances = (g.to(positions, "float") - centres) / g.number(scope.window)  # [B, Q, S]
    return weights * g.node("Exp", distances * distances * g.number(-2.0))


_WEIGHTS: dict[str, Callable[..., Value]] = {
    "global": _global_weights,
    "monotonic": _monotonic_weights,
    "predictive": _predictive_weights,
}


def _real(g: Graph, memory: SourceInputs) -> Value:
    return g.unsqueeze(memory.mask, 1)  # [B, S] -> [B, 1, S]


def _window(g: Graph, positions: Value, centres: Value, reach: int, real: Value) -> Value:
    """True on real positions at most `reach` away from integer centres [B, Q, 1]."""
    near = g.node("LessOrEqual", g.node("Abs", positions - centres), g.integers(reach))
    return g.node("And", near, real)


def _weights_inside(g: Graph, energies: Value, inside: Value, *, normalised: bool = False) -> Value:
    """Softmax over the positions inside, zero elsewhere; with `normalised`, energies are already log-probabilities."""
    open_energies = g.where(inside, energies, g.number(float("-inf")))
    weights = g.node("Exp", open_energies) if normalised else g.node("Softmax", open_energies, axis=-1)
    return g.where(inside, weights, g.number(0.0))  # exp(-inf) is only approximately zero in onnxruntime


def attention_keys(g: Graph, score: AttentionScore, vectors: Value, mask: Value) -> Value | None:
    """What `Score.keys` makes of the annotations, or None where it is the annotations themselves."""
    return None if score.keys_are_annotations else _KEYS[score.kind](g, score, vectors, mask)


def _scaled_keys(g: Graph, score: Dot, vectors: Value, mask: Value) -> Value:
    return vectors * g.number(score.scale)


def _projected_keys(g: Graph, score: Additive | General, vectors: Value, mask: Value) -> Value:
    assert score.annotation is not None
    if g.int8:
        return over_words(g, score.annotation, vectors)
    return g.matmul(vectors, g.constant(array(score.annotation.weight).T))  # [B, S, W] -> [B, S, A]


def _slots(g: Graph, score: Location, vectors: Value, mask: Value) -> Value:
    """The slot of each position, int64 [B, S]; -1 where there is none."""
    position, slots = g.positions(mask, 1), g.integers(score.slots)
    length = g.node("Min", g.total(g.to(mask, "int64"), 1), slots)
    first = g.integers(score.slots - 1) if score.reads_backwards else slots - length
    slot = first - position if score.reads_backwards else first + position
    return g.where(g.node("Less", position, length), slot, g.integers(-1))


_KEYS: dict[str, Callable[..., Value]] = {
    "additive": _projected_keys,
    "dot": _scaled_keys,
    "general": _projected_keys,
    "location": _slots,
}
