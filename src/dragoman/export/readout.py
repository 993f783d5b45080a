"""The readout in the step graph, as `model/readout.py` states it.

Letters: N rows, H units of the state, E embedding, W units of a context, O size of the readout.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.export.graph import Graph, Value
from dragoman.export.linear import apply, array
from dragoman.model.readout import AttentionalReadout, MaxoutReadout, Readout, StateReadout


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
