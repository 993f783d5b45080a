"""Scores, as `model/scores.py` states them: keys in the encoder graph, energies in the step graph.

Letters: B sentences, Q queries of a sentence, N = B*Q, S positions, H units of a query, W units of an annotation,
A alignment size.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.export.graph import Graph, Value
from dragoman.export.linear import GroupRows, apply, apply_to_sequences, array
from dragoman.model.scores import Additive, AttentionScore, Dot, General, Location

# Keys ----------------------------------------------------------------------------------------------------------------


def attention_keys(g: Graph, score: AttentionScore, annotations: Value, mask: Value) -> Value | None:
    """Keys, as `AttentionScore.keys`: annotations [B, S, W] and mask [B, S] -> [B, S, A], for a location score [B, S].

    None for a score whose keys are the annotations themselves.
    """
    return None if score.keys_are_annotations else _KEYS[score.kind](g, score, annotations, mask)


def _scaled_keys(g: Graph, score: Dot, annotations: Value, mask: Value) -> Value:
    return annotations * g.number(score.scale)


def _projected_keys(g: Graph, score: Additive | General, annotations: Value, mask: Value) -> Value:
    assert score.annotation is not None
    if g.int8:
        return apply_to_sequences(g, score.annotation, annotations)
    return g.matmul(annotations, g.constant(array(score.annotation.weight).T))  # [B, S, W] -> [B, S, A]


def _slots(g: Graph, score: Location, annotations: Value, mask: Value) -> Value:
    """The slot of each position, int64 [B, S]; -1 for a position without a slot."""
    position, slots = g.positions(mask, 1), g.integers(score.slots)
    length = g.node("Min", g.total(g.to(mask, "int64"), 1), slots)  # [B, S] -> [B, 1]
    first = g.integers(score.slots - 1) if score.reads_backwards else slots - length
    slot = first - position if score.reads_backwards else first + position  # [B, S]
    return g.where(g.node("Less", position, length), slot, g.integers(-1))


_KEYS: dict[str, Callable[..., Value]] = {
    "additive": _projected_keys,
    "dot": _scaled_keys,
    "general": _projected_keys,
    "location": _slots,
}

# Energies ------------------------------------------------------------------------------------------------------------


def energies_of(
    g: Graph, score: AttentionScore, keys: Value, queries: Value, group: GroupRows, coverage: Value | None
) -> Value:
    """Energies [B, Q, S] of queries [N, H] against keys [B, S, A], as `Energies`; coverage is [B, Q, S]."""
    return _ENERGIES[score.kind](g, score, keys, queries, group, coverage)


def _dot_energies(g: Graph, score: Dot, keys: Value, queries: Value, group: GroupRows, coverage: Value | None) -> Value:
    return g.matmul(group(queries), g.transpose(keys, 0, 2, 1))  # [B, Q, A], [B, A, S] -> [B, Q, S]


def _location_energies(
    g: Graph, score: Location, keys: Value, queries: Value, group: GroupRows, coverage: Value | None
) -> Value:
    """-inf at positions without a slot; keys are slots, int64 [B, S]."""
    by_slot = group(apply(g, score.query, queries))  # [N, H] -> [B, Q, slots]
    if not score.masked:
        by_slot = g.node("LogSoftmax", by_slot, axis=-1)
    slot = g.unsqueeze(g.node("Max", keys, g.integers(0)), 1)  # [B, S] -> [B, 1, S]
    shape = g.concat(g.size(by_slot, 0), g.size(by_slot, 1), g.size(keys, 1), axis=0)
    energies = g.node("GatherElements", by_slot, g.node("Expand", slot, shape), axis=2)  # [B, Q, slots] -> [B, Q, S]
    without_slot = g.node("Less", g.unsqueeze(keys, 1), g.integers(0))  # [B, 1, S]
    return g.where(without_slot, g.number(float("-inf")), energies)


def _additive_energies(
    g: Graph, score: Additive, keys: Value, queries: Value, group: GroupRows, coverage: Value | None
) -> Value:
    q = g.unsqueeze(group(apply(g, score.query, queries)), 2)  # [N, H] -> [B, Q, A] -> [B, Q, 1, A]
    inner = g.unsqueeze(keys, 1) + q  # [B, 1, S, A] + [B, Q, 1, A] -> [B, Q, S, A]
    if coverage is not None:
        assert score.coverage is not None
        inner = inner + g.unsqueeze(coverage, 3) * g.constant(array(score.coverage))  # [B, Q, S, 1] * [A]
    v = array(score.v)
    if score.length is not None:
        v = v * (array(score.length) / ((v * v).sum() ** 0.5))
    rows = g.flatten(g.tanh(inner), 3)  # [B, Q, S, A] -> [B*Q*S, A]
    # v is a row on the left: as a column on the right, onnxruntime takes three times as long
    return group(g.node("Gemm", g.constant(v[None]), rows, transB=1))  # [1, B*Q*S] -> [B, Q, S]


_ENERGIES: dict[str, Callable[..., Value]] = {
    "additive": _additive_energies,
    "dot": _dot_energies,
    "general": _dot_energies,  # its keys are W_a h_s
    "location": _location_energies,
}
