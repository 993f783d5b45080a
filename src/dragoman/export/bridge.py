"""The bridge in the encoder graph, as `model/bridge.py` states it."""

from __future__ import annotations

from typing import NamedTuple, cast

from dragoman.export.cells import CellValues, apply
from dragoman.export.graph import Graph, Value
from dragoman.model.bridge import Bridge
from dragoman.model.linear import Linear


class Annotated(NamedTuple):
    """As `Annotations`: vectors [B, S, W], mask [B, S], the last state of each layer, the backward one at the top."""

    vectors: Value
    mask: Value
    last: tuple[CellValues, ...]
    backward_first: Value


def initial_states(g: Graph, bridge: Bridge, seen: Annotated, summary: Value) -> tuple[CellValues, ...]:
    """The initial state, as in `Bridge`."""
    cells = bridge.cells
    if bridge.kind == "copy":
        return seen.last
    if bridge.kind == "zero":
        return tuple((g.zeros(summary, cell.size),) * cell.parts for cell in cells)
    if bridge.kind == "last":
        top = seen.last[-1][0]
        hidden = [g.columns(top, 0, cell.size) for cell in cells]
    else:
        origin = _origin(g, bridge, seen, summary)
        hidden = [g.tanh(apply(g, linear, origin)) for linear in cast("list[Linear]", list(bridge.maps))]
    return tuple(
        (h,) if cell.parts == 1 else (h, h if bridge.copy_to_cell_state else g.zeros(h, cell.size))
        for cell, h in zip(cells, hidden, strict=True)
    )


def _origin(g: Graph, bridge: Bridge, seen: Annotated, summary: Value) -> Value:
    if bridge.kind == "tanh-last":
        return summary
    if bridge.kind == "tanh-backward":
        return seen.backward_first
    real = g.to(seen.mask, "float")
    shares = g.unsqueeze(real / g.total(real, 1), 1)  # [B, 1, S]
    return g.node("Squeeze", g.matmul(shares, seen.vectors), g.integers(1))
