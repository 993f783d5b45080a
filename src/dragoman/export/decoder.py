"""One step of the decoder in the step graph, as `model/decoder.py` states it, with its state as inputs and outputs.

Letters: B sentences, Q cells of a sentence, N = B*Q cells of the layout, N' rows of the previous state, S positions,
H units of a layer, W units of a context, O size of the readout, G gate inputs.
"""

from __future__ import annotations

from typing import NamedTuple

from dragoman.export.attention import prepare_attention
from dragoman.export.cells import CellValues, fits_fixed_scale, step_cell
from dragoman.export.encoder import AnnotationValues, InitialValues
from dragoman.export.graph import Graph, Value
from dragoman.export.linear import apply
from dragoman.model.decoder import Decoder
from dragoman.model.translation import TranslationModel


class DecoderInputs(NamedTuple):
    """The previous state of each of the N cells, as `DecoderState`.

    `context` is the previous one (order groundhog) or the fixed one.
    """

    layers: tuple[CellValues, ...]
    feed: Value | None
    context: Value | None
    coverage: Value | None


class AdvancedValues(NamedTuple):
    """As `AdvancedState`: the next state of each layer, hidden state and context for the readout, weights [N, S]."""

    layers: tuple[CellValues, ...]
    hidden: Value
    context: Value | None
    weights: Value | None


def declare_initial_state(
    g: Graph, model: TranslationModel, source: Value, annotations: AnnotationValues, initial: InitialValues
) -> None:
    """Declare the initial state as outputs of the encoder graph, as `Decoder.initial_state`; source is [B, S]."""
    decoder = model.decoder
    for number, state in enumerate(initial.layers):
        for part, value in enumerate(state):
            g.output(f"state.layer{number}.{part}", value, "float", ["B", decoder.layers[number].cell.size])
    if decoder.feed is not None:
        g.output("state.feed", g.zeros(source, decoder.readout.size), "float", ["B", decoder.readout.size])
    if decoder.has_fixed_context:
        g.output("state.context", initial.summary, "float", ["B", "W"])
    if decoder.alignment is not None and decoder.order == "groundhog":
        width = model.encoder.layers[-1].cell.size * (2 if model.encoder.direction == "both" else 1)
        g.output("state.context", g.zeros(source, width), "float", ["B", "W"])
    if decoder.alignment is not None and decoder.coverage:
        g.output("state.coverage", g.to(annotations.mask, "float") * g.number(0.0), "float", ["B", "S"])


def previous_state(g: Graph, decoder: Decoder, parents: Value) -> DecoderInputs:
    """Declare the previous state as inputs, and gather the rows that the cells continue: [N', n] -> [N, n].

    Many hypotheses of a beam continue the same row; products of it are computed once.
    """
    rows = g.distinct(parents)

    def gathered(name: str, size: int | str, *, bounded: bool) -> Value:
        return g.gather_distinct(g.input(f"state.{name}", "float", ["N'", size], bounded=bounded), rows)

    layers = tuple(
        tuple(
            gathered(f"layer{number}.{part}", layer.cell.size, bounded=fits_fixed_scale(layer.cell))
            for part in range(layer.cell.parts)
        )
        for number, layer in enumerate(decoder.layers)
    )
    fixed = decoder.has_fixed_context
    attends = decoder.alignment is not None
    return DecoderInputs(
        layers,
        gathered("feed", decoder.readout.size, bounded=decoder.readout.bounded) if decoder.feed is not None else None,
        gathered("context", "W", bounded=fixed) if fixed or (attends and decoder.order == "groundhog") else None,
        gathered("coverage", "S'", bounded=False) if attends and decoder.coverage else None,
    )


def declare_next_state(
    g: Graph, decoder: Decoder, previous: DecoderInputs, advanced: AdvancedValues, readout: Value
) -> None:
    """Declare the next state of the N cells as outputs."""
    for number, state in enumerate(advanced.layers):
        for part, value in enumerate(state):
            g.output(f"next.layer{number}.{part}", value, "float", ["N", decoder.layers[number].cell.size])
    if previous.feed is not None:
        g.output("next.feed", readout, "float", ["N", decoder.readout.size])
    if previous.context is not None:
        context = previous.context if decoder.has_fixed_context else advanced.context
        assert context is not None
        g.output("next.context", context, "float", ["N", "W"])
    if previous.coverage is not None:
        assert advanced.weights is not None
        before = g.narrowed(previous.coverage, g.size(advanced.weights, 1))  # [N, S'] -> [N, S]
        g.output("next.coverage", before + advanced.weights, "float", ["N", "S"])


def advance(
    g: Graph, model: TranslationModel, gates: Value, previous: DecoderInputs, layout: Value, time: Value
) -> AdvancedValues:
    """Update and attention in the decoder's order, as `Decoder._advance`.

    Args:
        gates: gate inputs of the first layer from the previous words, [N, G].
        layout: int64 [3]: (B, Q, -1).
        time: int64 [1].
    """
    decoder, layers = model.decoder, previous.layers
    if decoder.attention is None:
        layers, hidden = _update(g, decoder, gates, previous, None)
        return AdvancedValues(layers, hidden, None, None)
    fixed = decoder.has_fixed_context
    attend_memory = None if fixed else prepare_attention(g, model, layout, time)

    def attend(query: Value) -> tuple[Value, Value | None]:
        if attend_memory is None:
            assert previous.context is not None
            return previous.context, None
        return attend_memory(query, previous.coverage)

    if decoder.order == "look-then-update":
        before = layers[-1][0]
        context, weights = attend(before)
        layers, hidden = _update(g, decoder, gates, previous, context)
        hidden = before if decoder.reads_previous else hidden
    elif decoder.order == "groundhog":
        updated, output = _update(g, decoder, gates, previous, previous.context)
        has_previous = g.node("Greater", time, g.integers(0))  # no word has been emitted before the first step
        hidden = g.where(has_previous, output, layers[-1][0])
        layers = tuple(
            tuple(g.where(has_previous, new, old) for new, old in zip(*states, strict=True))
            for states in zip(updated, layers, strict=True)
        )
        context, weights = attend(hidden)
    else:
        layers, hidden = _update(g, decoder, gates, previous, None)
        context, weights = attend(hidden)
        if decoder.second is not None:
            second = decoder.second
            layers = (step_cell(g, second.cell, apply(g, second.inputs, context), layers[0]),)
            hidden = layers[0][0]
    return AdvancedValues(layers, hidden, context, weights)


def _update(
    g: Graph, decoder: Decoder, gates: Value, previous: DecoderInputs, context: Value | None
) -> tuple[tuple[CellValues, ...], Value]:
    """The next state of every layer, and the output of the top layer [N, H], as `Decoder._update`."""
    reset_gated_input = None
    if decoder.context is not None and context is not None:
        if decoder.context_in_reset:
            size = decoder.layers[0].cell.size
            gate_context, reset_gated_input = g.split(apply(g, decoder.context, context), 2 * size, size)
            gate, candidate = g.split(gates, 2 * size, size)  # [N, 3H] -> [N, 2H], [N, H]
            gates = g.concat(gate + gate_context, candidate, axis=-1)
        else:
            gates = apply(g, decoder.context, context, gates)
    if decoder.feed is not None:
        assert previous.feed is not None
        gates = apply(g, decoder.feed, previous.feed, gates)
    layers = [step_cell(g, decoder.layers[0].cell, gates, previous.layers[0], reset_gated_input)]
    output = layers[0][0]
    for number, (layer, old) in enumerate(zip(list(decoder.layers)[1:], previous.layers[1:], strict=True), 2):
        layers.append(step_cell(g, layer.cell, apply(g, layer.inputs, output), old))
        above = layers[-1][0]
        output = above + output if 0 < decoder.residual <= number else above
    return tuple(layers), output
