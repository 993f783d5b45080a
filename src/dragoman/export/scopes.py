"""Scopes in the step graph, as `model/scopes.py` states them: from energies to alignment weights.

Letters: B sentences, Q queries of a sentence, N = B*Q, S positions, H units of a query.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.export.graph import Graph, Value
from dragoman.export.linear import GroupRows, apply, array
from dragoman.model.scopes import AttentionScope, Global, Monotonic, Predictive


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
