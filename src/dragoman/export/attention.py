"""Attention in the step graph, as `model/attention.py` states it: energies, weights and contexts of N queries.

Letters: B sentences, Q queries of a sentence, N = B*Q, S positions, H units of a query, W units of an annotation,
A alignment size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.export.cells import fits_fixed_scale
from dragoman.export.graph import Graph, Value
from dragoman.export.scopes import weights_of
from dragoman.export.scores import energies_of
from dragoman.model.scores import AttentionScore
from dragoman.model.translation import TranslationModel

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
        context = g.flatten(g.matmul(weights, memory.vectors), 2)  # [B, Q, S], [B, S, W] -> [B, Q, W] -> [N, W]
        return g.bound(context) if g.is_bounded(memory.vectors) else context, g.flatten(weights, 2)

    return attend


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
