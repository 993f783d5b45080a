"""One step of the recurrent cells in ONNX graphs, as `model/cells.py` states it.

Letters: N rows, H units, G gate inputs.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.export.graph import Graph, Value
from dragoman.export.linear import apply, array
from dragoman.model.cells import GRU, LSTM, Cell, TanhCell

CellValues = tuple[Value, ...]
"""The state of a cell, as `CellState`: (h,) for GRU and tanh, (h, c) for LSTM; each [N, H]."""


def fits_fixed_scale(cell: Cell) -> bool:
    """Whether hidden states lie in [-1, 1] and use most of it, as the fixed scale of quantisation requires.

    Those of an LSTM, products of two values in [-1, 1], are too small.
    """
    return cell.kind != "lstm"


def step_cell(
    g: Graph,
    cell: Cell,
    inputs: Value,
    state: CellValues,
    reset_gated_input: Value | None = None,
    *,
    direction: int | None = None,
) -> CellValues:
    """Compute the next state from gate inputs [N, G], as `CellStep`; `direction` selects one of two parallel cells."""
    return _STEPS[cell.kind](g, cell, inputs, state, reset_gated_input, direction)


def _step_tanh(
    g: Graph, cell: TanhCell, inputs: Value, state: CellValues, _: Value | None, direction: int | None
) -> CellValues:
    (h,) = state
    return (g.tanh(apply(g, cell.recurrent, h, inputs, direction=direction)),)


def _step_gru(
    g: Graph, cell: GRU, inputs: Value, state: CellValues, reset_gated_input: Value | None, direction: int | None
) -> CellValues:
    (h,) = state
    size = cell.size
    to_gates, to_candidate = g.split(inputs, 2 * size, size)  # [N, 3H] -> [N, 2H], [N, H]
    gates = g.sigmoid(apply(g, cell.recurrent_gates, h, to_gates, direction=direction))
    r, z = g.split(gates, size, size)  # [N, 2H] -> [N, H] each
    if cell.reset == "before":
        candidate = g.tanh(apply(g, cell.recurrent, r * h, to_candidate, direction=direction))
    else:
        candidate = g.tanh(to_candidate + r * apply(g, cell.recurrent, h, reset_gated_input, direction=direction))
    return (g.bound(candidate + z * (h - candidate) if cell.update == "keep" else h + z * (candidate - h)),)


def _step_lstm(
    g: Graph, cell: LSTM, inputs: Value, state: CellValues, _: Value | None, direction: int | None
) -> CellValues:
    h, c = state
    gates = apply(g, cell.recurrent_gates, h, inputs, direction=direction)
    a_i, a_f, a_o, a_g = g.split(gates, *[cell.size] * 4)  # [N, 4H] -> [N, H] each
    if cell.peepholes is None:
        c = g.sigmoid(a_f) * c + g.sigmoid(a_i) * g.tanh(a_g)
        return g.sigmoid(a_o) * g.tanh(c), c
    peepholes = array(cell.peepholes) if direction is None else array(cell.peepholes)[direction]
    p_i, p_f, p_o = (g.constant(p) for p in peepholes)
    c = g.sigmoid(a_f + p_f * c) * c + g.sigmoid(a_i + p_i * c) * g.tanh(a_g)
    return g.sigmoid(a_o + p_o * c) * g.tanh(c), c


_STEPS: dict[str, Callable[..., CellValues]] = {"gru": _step_gru, "lstm": _step_lstm, "tanh": _step_tanh}
"""The step of each kind of cell."""
