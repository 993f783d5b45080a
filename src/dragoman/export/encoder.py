"""The encoder and the bridge in the encoder graph, as `model/encoder.py` states them.

In float32 a layer is one operator (LSTM, GRU, RNN). The operators take the lengths of the sentences: a sentence that
has ended keeps its state, and the backward direction begins at its last symbol. Their GRU keeps the old state with z;
where ours writes with z, the gate is computed from the negated sum, since 1 - sigmoid(a) = sigmoid(-a).

The operators exist in float32 only. In int8 a layer is a loop over `step_cell`; the projection of the inputs of all
steps is one product before the loop.

Letters: B sentences, S positions, E embedding, H units of one direction (in the bridge of a decoder layer), W units of
an annotation, D directions side by side, G gate inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.export.cells import CellValues, fits_fixed_scale, step_cell
from dragoman.export.graph import Array, Graph, Value
from dragoman.export.linear import apply, apply_to_sequences, array, bias_of
from dragoman.model.cells import GRU, LSTM, TanhCell
from dragoman.model.encoder import Bridge, Encoder, RecurrentLayer
from dragoman.model.linear import Linear


class AnnotationValues(NamedTuple):
    """As `Annotations`: vectors [B, S, W], mask [B, S], the last state of each layer, the backward one at the top."""

    vectors: Value
    mask: Value
    last: tuple[CellValues, ...]
    backward_first: Value


class LayerValues(NamedTuple):
    """The results of a layer.

    outputs: [S, B, W], directions side by side, each in the order of the layer's input
    last:    for each direction the state after the last symbol read of each sentence, [B, H] each
    """

    outputs: Value
    last: tuple[CellValues, ...]


def annotate(g: Graph, encoder: Encoder, embeddings: Array, source: Value, lengths: Value) -> AnnotationValues:
    """Annotations of a batch, as `Encoder.forward`.

    Where the encoder reads backwards, words are reversed before the first layer, and annotations after the last.

    Args:
        embeddings: [V, E].
        source: int64 [B, S].
        lengths: int64 [B].
    """
    both = encoder.direction == "both"
    words = _reverse(g, encoder, g.transpose(source, 1, 0), lengths)  # [B, S] -> [S, B]
    vectors = g.look_up(embeddings, words)  # [S, B] -> [S, B, E]
    counts = g.to(lengths, "int32")
    mask = g.node("Less", g.positions(source, 1), g.unsqueeze(lengths, 1))  # [S], [B, 1] -> [B, S]
    real = g.unsqueeze(g.transpose(mask, 1, 0), 2)  # [B, S] -> [S, B, 1]
    last = []
    for number, layer in enumerate(encoder.layers, 1):
        outputs, states = run_layer(g, layer, vectors, counts, real)
        vectors = vectors + outputs if 0 < encoder.residual <= number else outputs
        last.append(
            tuple(
                directions[0] if not both else g.concat(*directions, axis=-1)  # D of [B, H] -> [B, W]
                for directions in zip(*states, strict=True)
            )
        )
    backward_first = states[-1][0]
    vectors = _reverse(g, encoder, vectors, lengths)
    return AnnotationValues(g.transpose(vectors, 1, 0, 2), mask, tuple(last), backward_first)  # [S, B, W] -> [B, S, W]


def _reverse(g: Graph, encoder: Encoder, steps: Value, lengths: Value) -> Value:
    """[S, B, ..] with the words of each sentence reversed if the encoder reads them backwards; its own inverse."""
    if encoder.direction != "reversed":
        return steps
    one = g.integers(1)
    count = g.node("Max", lengths - one, one) if encoder.eos_stays_last else lengths
    return g.node("ReverseSequence", steps, count, batch_axis=1, time_axis=0)


def run_layer(g: Graph, layer: RecurrentLayer, inputs: Value, lengths: Value, real: Value) -> LayerValues:
    """One layer from the zero state over all steps.

    Args:
        inputs: [S, B, n], in the reading order of a forward layer.
        lengths: int32 [B].
        real: bool [S, B, 1], True on real positions.
    """
    if g.int8:
        return _run_loop(g, layer, inputs, real)
    hidden, *states = _run_operator(g, layer, inputs, lengths)
    outputs = g.reshape(g.transpose(hidden, 0, 2, 1, 3), 0, 0, -1)  # [S, D, B, H] -> [S, B, D, H] -> [S, B, W]
    directions = range(2 if layer.inputs.weight.dim() > 2 else 1)
    last = tuple(tuple(g.gather(state, g.index(direction)) for state in states) for direction in directions)
    return LayerValues(outputs, last)


# In int8: a loop -----------------------------------------------------------------------------------------------------


def _run_loop(g: Graph, layer: RecurrentLayer, inputs: Value, real: Value) -> LayerValues:
    cell = layer.cell
    outputs, last = [], []
    for direction in (0, 1) if layer.inputs.weight.dim() > 2 else (None,):
        gates = apply_to_sequences(g, layer.inputs, inputs, direction=direction)  # [S, B, n] -> [S, B, G]

        def step(
            inner: Graph, state: Sequence[Value], entries: Sequence[Value], direction: int | None = direction
        ) -> Sequence[Value]:
            gate_inputs, is_real = entries  # [B, G], [B, 1]
            following = step_cell(inner, cell, gate_inputs, tuple(state), direction=direction)
            return [inner.where(is_real, new, old) for new, old in zip(following, state, strict=True)]

        zeros = g.zeros(g.gather(real, g.index(0)), cell.size)  # [B, H]
        zeros = g.bound(zeros) if fits_fixed_scale(cell) else zeros
        states, hidden = g.scan(step, [zeros] * cell.parts, {gates: "float", real: "bool"}, backward=direction == 1)
        outputs.append(hidden)
        last.append(tuple(states))
    return LayerValues(outputs[0] if len(outputs) == 1 else g.concat(*outputs, axis=-1), tuple(last))


# In float32: an operator ---------------------------------------------------------------------------------------------


def _run_operator(g: Graph, layer: RecurrentLayer, inputs: Value, lengths: Value) -> tuple[Value, ...]:
    """Hidden states [S, D, B, H], both directions in the order of the input, and the last states [D, B, H]."""
    cell = layer.cell
    w = _with_directions(array(layer.inputs.weight), 2)
    bias = bias_of(layer.inputs)
    b = np.zeros(w.shape[:2], np.float32) if bias is None else _with_directions(bias, 1)
    attributes: dict[str, Any] = {
        "hidden_size": cell.size,
        "direction": "bidirectional" if len(w) > 1 else "forward",
    }
    return _OPERATORS[cell.kind](g, cell, _Operands(inputs, lengths, w, b), attributes)


class _Operands(NamedTuple):
    """The operands of every operator: inputs [S, B, n], lengths [B], input weights [D, G, n] and biases [D, G].

    Gates are in the order of our cells.
    """

    inputs: Value
    lengths: Value
    w: Array
    b: Array


def _lstm_operator(g: Graph, cell: LSTM, x: _Operands, attributes: dict[str, Any]) -> tuple[Value, ...]:
    order = _order(cell.size, (0, 2, 1, 3))  # ours: i, f, o, g; the operator's: i, o, f, g
    u, zero = _with_directions(array(cell.recurrent_gates.weight), 2), np.zeros_like(x.b)
    peepholes = None
    if cell.peepholes is not None:
        p = array(cell.peepholes).reshape(len(x.w), 3 * cell.size)[:, _order(cell.size, (0, 2, 1))]
        peepholes = g.constant(p)
    weights = [g.constant(part[:, order]) for part in (x.w, u)]
    biases = g.constant(np.concatenate((x.b[:, order], zero), axis=1))
    return g.nodes("LSTM", 3, x.inputs, *weights, biases, x.lengths, None, None, peepholes, **attributes)


def _gru_operator(g: Graph, cell: GRU, x: _Operands, attributes: dict[str, Any]) -> tuple[Value, ...]:
    order = _order(cell.size, (1, 0, 2))  # ours: r, z, candidate; the operator's: z, r, candidate
    u = _with_directions(np.concatenate((array(cell.recurrent_gates.weight), array(cell.recurrent.weight)), axis=-2), 2)
    inner_bias = np.zeros_like(x.b)
    if cell.recurrent.bias is not None:
        inner_bias[:, 2 * cell.size :] = array(cell.recurrent.bias)
    sign = np.ones(3 * cell.size, np.float32)
    sign[: cell.size] = 1 if cell.update == "keep" else -1
    weights = [g.constant(part[:, order] * sign[:, None]) for part in (x.w, u)]
    biases = g.constant(np.concatenate((x.b[:, order] * sign, inner_bias[:, order] * sign), axis=1))
    attributes["linear_before_reset"] = int(cell.reset == "after")
    return g.nodes("GRU", 2, x.inputs, *weights, biases, x.lengths, **attributes)


def _tanh_operator(g: Graph, cell: TanhCell, x: _Operands, attributes: dict[str, Any]) -> tuple[Value, ...]:
    u = _with_directions(array(cell.recurrent.weight), 2)
    biases = g.constant(np.concatenate((x.b, np.zeros_like(x.b)), axis=1))
    if attributes["direction"] == "bidirectional":
        attributes["activations"] = ["Tanh", "Tanh"]
    return g.nodes("RNN", 2, x.inputs, g.constant(x.w), g.constant(u), biases, x.lengths, **attributes)


_OPERATORS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "gru": _gru_operator,
    "lstm": _lstm_operator,
    "tanh": _tanh_operator,
}
"""The operator of each kind of cell."""


def _with_directions(part: Array, dimensions: int) -> Array:
    """[.., n] -> [D, .., n] with `dimensions` after the axis of directions, which a single direction lacks."""
    return part if part.ndim > dimensions else part[None]


def _order(size: int, gates: tuple[int, ...]) -> NDArray[np.int64]:
    """Row indices [len(gates) * size] that put blocks of `size` rows into the given order."""
    return np.concatenate([np.arange(size) + gate * size for gate in gates])


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
