"""The step graph: one decoder step of all rows, from previous words to log-probabilities of the next.

    tokens, parents [N], layout [3], rows [R], time [1], targets [R], k [1], state.* [N', ..], memory.* [B, S, ..]
        ->  log_probabilities, words [R, k], target_log_probabilities [R], attention [R, S], next.* [N, ..]

The N cells have the layout [B, Q], Q rows for each source sentence, given as (B, Q, -1); `parents` are the rows of the
previous state that the cells continue, `rows` the cells that are real rows of the output.

Several models are combined in one graph; their states then have the number of the model in their names:
state.0.layer0.0. With a shortlist, part of the output layer is an input (output_layer.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.shortlist import in_chunks
from dragoman.export.attention import prepare_attention
from dragoman.export.cells import CellValues, apply, array, fills_its_range, step_cell
from dragoman.export.graph import Array, Graph, Value
from dragoman.export.output_layer import EnsembleCombination, StepQuery, declare_outputs, declare_query, logits_of
from dragoman.export.readout import read_out
from dragoman.model.decoder import Decoder
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS


class DecoderInputs(NamedTuple):
    """The previous state of the cells, as in `DecoderState`; `context` is the previous (groundhog) or fixed one."""

    layers: tuple[CellValues, ...]
    feed: Value | None
    context: Value | None
    coverage: Value | None


class AdvancedCells(NamedTuple):
    """The next state of each layer, the hidden state for the readout, the context, and alignment weights [N, S]."""

    layers: tuple[CellValues, ...]
    hidden: Value
    context: Value | None
    weights: Value | None


class Cells(NamedTuple):
    """The inputs of the N cells that all models share; time is int64 [1]."""

    tokens: Value
    parents: Value
    layout: Value
    time: Value


class StepOutput(NamedTuple):
    """The outputs of one model: logits of R rows [R, V], alignment weights of the N cells [N, S]."""

    logits: Value
    weights: Value | None


def member_names(models: Sequence[TranslationModel]) -> list[str]:
    """The models' names in those of inputs and outputs; a single model has none."""
    return [""] if len(models) == 1 else [str(number) for number in range(len(models))]


def step_graph(
    models: Sequence[TranslationModel],
    ensemble: EnsembleCombination,
    *,
    int8: bool = False,
    always: NDArray[np.integer[Any]] | None = None,
) -> Graph:
    """The graph of `TranslationModel.step` with the k best words, from the whole vocabulary or, with `always`, from a
    shortlist that contains these words."""
    g = Graph("step", int8=int8)
    tokens, parents = (g.input(name, "int64", ["N"]) for name in ("tokens", "parents"))
    cells = Cells(tokens, parents, g.input("layout", "int64", [3]), g.input("time", "int64", [1]))
    query = declare_query(g, always)
    outputs = []
    for name, model in zip(member_names(models), models, strict=True):
        with g.member(name):
            outputs.append(_step(g, model, cells, query))
    declare_outputs(g, [one.logits for one in outputs], ensemble, query)
    weights = _attention(g, models, [one.weights for one in outputs], ensemble, parents)
    if weights is not None:
        g.output("attention", g.gather(weights, query.rows), "float", ["R", "S"])
    return g


def _step(g: Graph, model: TranslationModel, cells: Cells, query: StepQuery) -> StepOutput:
    """The step of one model, with its states as inputs and outputs."""
    decoder = model.decoder
    previous = _previous_state(g, decoder, cells.parents)
    matrix = in_chunks(array(model.output.weight), 0)
    vectors = _embed(g, model, cells.tokens, matrix)
    gates = apply(g, decoder.layers[0].inputs, vectors)
    advanced = _advance(g, model, gates, previous, cells)
    readout = read_out(g, decoder.readout, advanced.hidden, vectors, advanced.context)
    logits = logits_of(g, model.output, matrix, g.gather(readout, query.rows), query.shortlist)
    for number, state in enumerate(advanced.layers):
        for part, value in enumerate(state):
            g.output(f"next.layer{number}.{part}", value, "float", ["N", decoder.layers[number].cell.size])
    if previous.feed is not None:
        g.output("next.feed", readout, "float", ["N", decoder.readout.size])
    if previous.context is not None:
        kept = previous.context if decoder.has_fixed_context else advanced.context
        assert kept is not None
        g.output("next.context", kept, "float", ["N", "W"])
    if previous.coverage is not None:
        assert advanced.weights is not None
        before = g.narrowed(previous.coverage, g.size(advanced.weights, 1))
        g.output("next.coverage", before + advanced.weights, "float", ["N", "S"])
    return StepOutput(logits, advanced.weights)


def is_late(model: TranslationModel, models: Sequence[TranslationModel]) -> bool:
    """Whether a model aligns a word one step before another does, so that its weights are returned one step later."""
    attends = model.decoder.alignment is not None
    return attends and model.attention_shift < max(each.attention_shift for each in models)


def _attention(
    g: Graph,
    models: Sequence[TranslationModel],
    weights: Sequence[Value | None],
    ensemble: EnsembleCombination,
    parents: Value,
) -> Value | None:
    """[N, S] the weighted mean over the models that attend."""
    if len(models) == 1:
        return weights[0]
    total = sum(share for share, own in zip(ensemble.weights, weights, strict=True) if own is not None)
    mixed = []
    for name, model, share, own in zip(member_names(models), models, ensemble.weights, weights, strict=True):
        if own is None:
            continue
        now = own
        if is_late(model, models):
            with g.member(name):
                before = g.gather(g.input("state.attention", "float", ["N'", "S'"]), parents)
                now = g.narrowed(before, g.size(own, 1))
                g.output("next.attention", own, "float", ["N", "S"])
        mixed.append(now * g.number(share / total))
    return g.node("Sum", *mixed) if mixed else None


def _previous_state(g: Graph, decoder: Decoder, parents: Value) -> DecoderInputs:
    """The previous state of each cell; many hypotheses of a beam share theirs."""
    before = g.distinct(parents)

    def taken(name: str, size: int | str, *, bounded: bool) -> Value:
        return g.taken(g.input(f"state.{name}", "float", ["N'", size], bounded=bounded), before)

    layers = tuple(
        tuple(
            taken(f"layer{number}.{part}", layer.cell.size, bounded=fills_its_range(layer.cell))
            for part in range(layer.cell.parts)
        )
        for number, layer in enumerate(decoder.layers)
    )
    fixed = decoder.has_fixed_context
    looks = decoder.alignment is not None
    return DecoderInputs(
        layers,
        taken("feed", decoder.readout.size, bounded=decoder.readout.bounded) if decoder.feed is not None else None,
        taken("context", "W", bounded=fixed) if fixed or (looks and decoder.order == "groundhog") else None,
        taken("coverage", "S'", bounded=False) if looks and decoder.coverage else None,
    )


def _embed(g: Graph, model: TranslationModel, tokens: Value, matrix: Array) -> Value:
    """Embeddings of previous words [N, E]; that of BOS is its own or zero. A tied matrix is stored once."""
    tied = model.target.weight.data_ptr() == model.output.weight.data_ptr()
    words, places = g.distinct(tokens)
    there = g.node("Not", g.node("Equal", words, g.integers(BOS))) if model.zero_first else None
    return g.spread(g.look_up(matrix if tied else array(model.target.weight), words, there), places)


def _advance(g: Graph, model: TranslationModel, gates: Value, previous: DecoderInputs, cells: Cells) -> AdvancedCells:
    """Update and attention in the decoder's order, as in `Decoder._advance`."""
    decoder, layers = model.decoder, previous.layers
    if decoder.attention is None:
        layers, hidden = _update(g, decoder, gates, previous, None)
        return AdvancedCells(layers, hidden, None, None)
    fixed = decoder.has_fixed_context
    bound = None if fixed else prepare_attention(g, model, cells.layout, cells.time)

    def attend(query: Value) -> tuple[Value, Value | None]:
        if bound is None:
            assert previous.context is not None
            return previous.context, None
        return bound(query, previous.coverage)

    if decoder.order == "look-then-update":
        before = layers[-1][0]
        context, weights = attend(before)
        layers, hidden = _update(g, decoder, gates, previous, context)
        hidden = before if decoder.reads_previous else hidden
    elif decoder.order == "groundhog":
        updated, output = _update(g, decoder, gates, previous, previous.context)
        started = g.node("Greater", cells.time, g.integers(0))  # at the first step no word has been emitted
        hidden = g.where(started, output, layers[-1][0])
        layers = tuple(
            tuple(g.where(started, new, old) for new, old in zip(*states, strict=True))
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
    return AdvancedCells(layers, hidden, context, weights)


def _update(
    g: Graph, decoder: Decoder, gates: Value, previous: DecoderInputs, context: Value | None
) -> tuple[tuple[CellValues, ...], Value]:
    """The next state of every layer, and the top layer's output, as `Decoder._update`."""
    reset_gated_input = None
    if decoder.context is not None and context is not None:
        if decoder.context_in_reset:
            size = decoder.layers[0].cell.size
            outside, reset_gated_input = g.split(apply(g, decoder.context, context), 2 * size, size)
            gate, candidate = g.split(gates, 2 * size, size)
            gates = g.concat(gate + outside, candidate, axis=-1)
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
