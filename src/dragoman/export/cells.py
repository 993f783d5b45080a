"""The recurrent cells in ONNX: a whole encoder layer as one operator or in int8 as a loop, a decoder step as nodes.

The operators are in float32 only; of the loop the inputs' products are done before it, for all words at once. The
operators know the lengths of the sentences: one that has ended keeps its state, and the backward direction
begins at its last symbol. Their GRU keeps the old state with z; where ours writes with z, its gate is computed from
the negated sum, since 1 - sigmoid(a) = sigmoid(-a).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.export.graph import Array, Graph, Value
from dragoman.model.cells import GRU, LSTM, Cell, TanhCell
from dragoman.model.encoder import RecurrentLayer
from dragoman.model.linear import Linear

CellValues = tuple[Value, ...]


def array(parameter: torch.Tensor) -> Array:
    """The numbers of a parameter in float32; the same memory where they are in float32 already."""
    numbers: Array = parameter.detach().cpu().float().numpy()
    return numbers


def bias_of(linear: Linear) -> Array | None:
    """The bias of every output, [n_out] or [D, n_out]: zero where it has none, None where none has one."""
    if linear.bias is None:
        return None
    bias = array(linear.bias)
    return np.concatenate((np.zeros((*bias.shape[:-1], linear.unbiased), np.float32), bias), axis=-1)


def apply(g: Graph, linear: Linear, x: Value, plus: Value | None = None, *, direction: int | None = None) -> Value:
    """W x + b + plus for rows x [N, n_in]; of a layer for two directions one must be named."""
    weight, bias = array(linear.weight), bias_of(linear)
    if direction is not None:
        weight, bias = weight[direction], None if bias is None else bias[direction]
    return g.product(x, weight, bias, plus)


def over_words(g: Graph, linear: Linear, x: Value, *, direction: int | None = None) -> Value:
    """`apply` for x of three dimensions, in int8."""
    if g.is_bounded(x) or g.is_quantised(x):
        return apply(g, linear, x, direction=direction)
    rows = apply(g, linear, g.flatten(x, 2), direction=direction)
    return g.reshape(rows, g.size(x, 0), g.size(x, 1), -1)


def fills_its_range(cell: Cell) -> bool:
    """Whether hidden states lie in [-1, 1], and nearly up to its ends: those of an LSTM, products of two, do not."""
    return cell.kind != "lstm"


# A whole layer -------------------------------------------------------------------------------------------------------


class Layered(NamedTuple):
    """What a layer has read.

    outputs: [S, B, W], the directions side by side, those of the backward one in source order too
    last:    for each direction the state after the last symbol of each sentence that it read, [B, H] each
    """

    outputs: Value
    last: tuple[CellValues, ...]


def run_layer(g: Graph, layer: RecurrentLayer, read: Value, lengths: Value, real: Value) -> Layered:
    """One layer from the zero state over all steps.

    Args:
        read: [S, B, n] in reading order of a forward layer.
        lengths: int32 [B].
        real: bool [S, B, 1].
    """
    if g.int8:
        return _run_loop(g, layer, read, real)
    hidden, *states = _run_operator(g, layer, read, lengths)
    outputs = g.reshape(g.transpose(hidden, 0, 2, 1, 3), 0, 0, -1)  # [S, D, B, H] -> [S, B, W]
    directions = range(2 if layer.inputs.weight.dim() > 2 else 1)
    last = tuple(tuple(g.gather(state, g.index(direction)) for state in states) for direction in directions)
    return Layered(outputs, last)


def _run_loop(g: Graph, layer: RecurrentLayer, read: Value, real: Value) -> Layered:
    cell = layer.cell
    outputs, last = [], []
    for direction in (0, 1) if layer.inputs.weight.dim() > 2 else (None,):
        gates = over_words(g, layer.inputs, read, direction=direction)  # [S, B, G]

        def step(
            inner: Graph, held: Sequence[Value], step_inputs: Sequence[Value], direction: int | None = direction
        ) -> Sequence[Value]:
            inputs, there = step_inputs
            after = step_cell(inner, cell, inputs, tuple(held), direction=direction)
            return [inner.where(there, new, old) for new, old in zip(after, held, strict=True)]

        zeros = g.zeros(g.gather(real, g.index(0)), cell.size)
        zeros = g.bound(zeros) if fills_its_range(cell) else zeros
        states, seen = g.scan(step, [zeros] * cell.parts, {gates: "float", real: "bool"}, backward=direction == 1)
        outputs.append(seen)
        last.append(tuple(states))
    return Layered(outputs[0] if len(outputs) == 1 else g.concat(*outputs, axis=-1), tuple(last))


def _run_operator(g: Graph, layer: RecurrentLayer, read: Value, lengths: Value) -> tuple[Value, ...]:
    """Hidden states [S, D, B, H], those of the backward direction in source order too, and the last ones [D, B, H]."""
    cell = layer.cell
    w = _directed(array(layer.inputs.weight), 2)
    bias = bias_of(layer.inputs)
    b = np.zeros(w.shape[:2], np.float32) if bias is None else _directed(bias, 1)
    settings: dict[str, Any] = {
        "hidden_size": cell.size,
        "direction": "bidirectional" if len(w) > 1 else "forward",
    }
    return _OPERATORS[cell.kind](g, cell, _Operands(read, lengths, w, b), settings)


class _Operands(NamedTuple):
    """What every operator reads: inputs [S, B, n], lengths [B], input weights [D, G, n] and biases [D, G] as ours."""

    read: Value
    lengths: Value
    w: Array
    b: Array


def _lstm_operator(g: Graph, cell: LSTM, x: _Operands, settings: dict[str, Any]) -> tuple[Value, ...]:
    order = _order(cell.size, (0, 2, 1, 3))  # ours: i, f, o, g; the operator's: i, o, f, g
    u, zero = _directed(array(cell.recurrent_gates.weight), 2), np.zeros_like(x.b)
    peepholes = None
    if cell.peepholes is not None:
        p = array(cell.peepholes).reshape(len(x.w), 3 * cell.size)[:, _order(cell.size, (0, 2, 1))]
        peepholes = g.constant(p)
    weights = [g.constant(part[:, order]) for part in (x.w, u)]
    both = g.constant(np.concatenate((x.b[:, order], zero), axis=1))
    return g.nodes("LSTM", 3, x.read, *weights, both, x.lengths, None, None, peepholes, **settings)


def _gru_operator(g: Graph, cell: GRU, x: _Operands, settings: dict[str, Any]) -> tuple[Value, ...]:
    order = _order(cell.size, (1, 0, 2))  # ours: r, z, candidate; the operator's: z, r, candidate
    u = _directed(np.concatenate((array(cell.recurrent_gates.weight), array(cell.recurrent.weight)), axis=-2), 2)
    inner = np.zeros_like(x.b)
    if cell.recurrent.bias is not None:
        inner[:, 2 * cell.size :] = array(cell.recurrent.bias)
    sign = np.ones(3 * cell.size, np.float32)
    sign[: cell.size] = 1 if cell.update == "keep" else -1
    weights = [g.constant(part[:, order] * sign[:, None]) for part in (x.w, u)]
    both = g.constant(np.concatenate((x.b[:, order] * sign, inner[:, order] * sign), axis=1))
    settings["linear_before_reset"] = int(cell.reset == "after")
    return g.nodes("GRU", 2, x.read, *weights, both, x.lengths, **settings)


def _tanh_operator(g: Graph, cell: TanhCell, x: _Operands, settings: dict[str, Any]) -> tuple[Value, ...]:
    u = _directed(array(cell.recurrent.weight), 2)
    both = g.constant(np.concatenate((x.b, np.zeros_like(x.b)), axis=1))
    if settings["direction"] == "bidirectional":
        settings["activations"] = ["Tanh", "Tanh"]
    return g.nodes("RNN", 2, x.read, g.constant(x.w), g.constant(u), both, x.lengths, **settings)


_OPERATORS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "gru": _gru_operator,
    "lstm": _lstm_operator,
    "tanh": _tanh_operator,
}
"""By the kind of the cell."""


def _directed(part: Array, dimensions: int) -> Array:
    """With a first axis for the directions, also where there is one only."""
    return part if part.ndim > dimensions else part[None]


def _order(size: int, gates: tuple[int, ...]) -> NDArray[np.int64]:
    """Rows of blocks of `size`, the blocks in the order given."""
    return np.concatenate([np.arange(size) + gate * size for gate in gates])


# One step ------------------------------------------------------------------------------------------------------------


def step_cell(
    g: Graph,
    cell: Cell,
    inputs: Value,
    state: CellValues,
    reset_gated_input: Value | None = None,
    *,
    direction: int | None = None,
) -> CellValues:
    """Gate inputs [N, G] and state -> next state, as `CellStep`; of a cell for two directions one must be named."""
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
    gates, below = g.split(inputs, 2 * size, size)
    r, z = g.split(g.sigmoid(apply(g, cell.recurrent_gates, h, gates, direction=direction)), size, size)
    if cell.reset == "before":
        new = g.tanh(apply(g, cell.recurrent, r * h, below, direction=direction))
    else:
        new = g.tanh(below + r * apply(g, cell.recurrent, h, reset_gated_input, direction=direction))
    return (g.bound(new + z * (h - new) if cell.update == "keep" else h + z * (new - h)),)


def _step_lstm(
    g: Graph, cell: LSTM, inputs: Value, state: CellValues, _: Value | None, direction: int | None
) -> CellValues:
    h, c = state
    gates = apply(g, cell.recurrent_gates, h, inputs, direction=direction)
    a_i, a_f, a_o, a_g = g.split(gates, *[cell.size] * 4)
    if cell.peepholes is None:
        c = g.sigmoid(a_f) * c + g.sigmoid(a_i) * g.tanh(a_g)
        return g.sigmoid(a_o) * g.tanh(c), c
    peepholes = array(cell.peepholes) if direction is None else array(cell.peepholes)[direction]
    p_i, p_f, p_o = (g.constant(p) for p in peepholes)
    c = g.sigmoid(a_f + p_f * c) * c + g.sigmoid(a_i + p_i * c) * g.tanh(a_g)
    return g.sigmoid(a_o + p_o * c) * g.tanh(c), c


_STEPS: dict[str, Callable[..., CellValues]] = {"gru": _step_gru, "lstm": _step_lstm, "tanh": _step_tanh}
"""By the kind of the cell."""
