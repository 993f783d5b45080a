"""The bridge in the encoder graph, as `model/bridge.py` states it.

Letters: B sentences, S positions, W units of an annotation, H units of a decoder layer.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from dragoman.export.cells import CellValues
from dragoman.export.encoder import AnnotationValues
from dragoman.export.graph import Graph, Value
from dragoman.export.linear import apply
from dragoman.model.bridge import Bridge
from dragoman.model.linear import Linear


class InitialValues(NamedTuple):
    """As `InitialState`: the state of each decoder layer, [B, H] each, and the summary c of the source [B, W]."""

    layers: tuple[CellValues, ...]
    summary: Value


def initial_values(g: Graph, bridge: Bridge, annotations: AnnotationValues) -> InitialValues:
    """Compute the initial state and the summary, as `Bridge.forward`."""
    summary = annotations.last[-1][0]
    if bridge.compressed is not None:
        summary = g.tanh(apply(g, bridge.compressed, summary))
    return InitialValues(_layers(g, bridge, annotations, summary), summary)


def _layers(g: Graph, bridge: Bridge, annotations: AnnotationValues, summary: Value) -> tuple[CellValues, ...]:
    cells = bridge.cells
    if bridge.kind == "copy":
        return annotations.last
    if bridge.kind == "zero":
        return tuple((g.zeros(summary, cell.size),) * cell.parts for cell in cells)
    if bridge.kind == "last":
        top = annotations.last[-1][0]
        hidden = [g.columns(top, 0, cell.size) for cell in cells]  # [B, W] -> [B, H]
    else:
        origin = _origin(g, bridge, annotations, summary)
        hidden = [g.tanh(apply(g, linear, origin)) for linear in cast("list[Linear]", list(bridge.maps))]
    return tuple(
        (h,) if cell.parts == 1 else (h, h if bridge.copy_to_cell_state else g.zeros(h, cell.size))
        for cell, h in zip(cells, hidden, strict=True)
    )


def _origin(g: Graph, bridge: Bridge, annotations: AnnotationValues, summary: Value) -> Value:
    """The vector of each sentence from which the tanh forms compute the initial state."""
    if bridge.kind == "tanh-last":
        return summary
    if bridge.kind == "tanh-backward":
        return annotations.backward_first
    real = g.to(annotations.mask, "float")
    shares = g.unsqueeze(real / g.total(real, 1), 1)  # [B, S] -> [B, 1, S]
    mean = g.matmul(shares, annotations.vectors)  # [B, 1, S], [B, S, W] -> [B, 1, W]
    return g.node("Squeeze", mean, g.integers(1))  # [B, 1, W] -> [B, W]
