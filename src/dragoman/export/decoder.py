"""The step graph: every row reads one word and says which words may follow.

    tokens, parents [N], layout [3], rows [R], time [1], targets [R], k [1], state.* [N', ..], memory.* [B, S, ..]
        ->  log_probabilities, words [R, k], target_log_probabilities [R], attention [R, S], next.* [N, ..]

The N cells are laid out as [B, Q], Q rows for each sentence of the memory, and the layout is (B, Q, -1); `parents` says
which row of the state each cell goes on from, and `rows` which cells are real and want an answer.

Several models go side by side and answer together; what is handed from step to step then has the number of the model
in its name: state.0.layer0.0. With a shortlist, part of the output layer is handed in (answering.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.shortlist import in_chunks
from dragoman.export.attention import look
from dragoman.export.cells import Array, apply, array, fills_its_range, parts, step_cell
from dragoman.export.graph import Graph, Value
from dragoman.export.output_layer import Asked, Mixture, answer, asked, logits_of
from dragoman.model.attention import Attention, FixedContext
from dragoman.model.decoder import Decoder
from dragoman.model.readout import AttentionalReadout, MaxoutReadout, Readout, StateReadout
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS

State = tuple[Value, ...]


class Held(NamedTuple):
    """The state of the cells, as `DecoderState`; the context is the one seen before (groundhog) or the fixed one."""

    layers: tuple[State, ...]
    feed: Value | None
    context: Value | None
    coverage: Value | None


class Moved(NamedTuple):
    """The next state of each layer, the hidden state that is read out, the context seen and its weights [N, S]."""

    layers: tuple[State, ...]
    hidden: Value
    context: Value | None
    weights: Value | None


class Cells(NamedTuple):
    """What is handed in for the N cells, the same for every model; time is int64 [1]."""

    tokens: Value
    parents: Value
    layout: Value
    time: Value


class Said(NamedTuple):
    """What a model says about R rows: logits [R, V], alignment weights of the N cells [N, S]."""

    logits: Value
    weights: Value | None


def member_names(models: Sequence[TranslationModel]) -> list[str]:
    """What each model is called in the names of inputs and outputs; one alone is not."""
    return [""] if len(models) == 1 else [str(number) for number in range(len(models))]


def step_graph(
    models: Sequence[TranslationModel],
    mixture: Mixture,
    *,
    int8: bool = False,
    always: NDArray[np.integer[Any]] | None = None,
) -> Graph:
    """The graph of `TranslationModel.step` and of the k best: of all words, or of those that are `always` listed and of
    those that a shortlist hands in."""
    g = Graph("step", int8=int8)
    tokens, parents = (g.input(name, "int64", ["N"]) for name in ("tokens", "parents"))
    cells = Cells(tokens, parents, g.input("layout", "int64", [3]), g.input("time", "int64", [1]))
    wanted = asked(g, always)
    said = []
    for name, model in zip(member_names(models), models, strict=True):
        with g.member(name):
            said.append(_step(g, model, cells, wanted))
    answer(g, [one.logits for one in said], mixture, wanted)
    weights = _attention(g, models, [one.weights for one in said], mixture, parents)
    if weights is not None:
        g.output("attention", g.gather(weights, wanted.rows), "float", ["R", "S"])
    return g


def _step(g: Graph, model: TranslationModel, cells: Cells, wanted: Asked) -> Said:
    """One model's step, its states declared as inputs and outputs."""
    decoder = model.decoder
    held = _held(g, decoder, cells.parents)
    matrix = in_chunks(array(model.output.weight), 0)
    vectors = _embed(g, model, cells.tokens, matrix)
    gates = apply(g, decoder.layers[0].inputs, vectors)
    moved = _advance(g, model, gates, held, cells)
    readout = _read(g, decoder.readout, moved.hidden, vectors, moved.context)
    logits = logits_of(g, model.output, matrix, g.gather(readout, wanted.rows), wanted.listing)
    for number, state in enumerate(moved.layers):
        for part, value in enumerate(state):
            g.output(f"next.layer{number}.{part}", value, "float", ["N", decoder.layers[number].cell.size])
    if held.feed is not None:
        g.output("next.feed", readout, "float", ["N", decoder.readout.size])
    if held.context is not None:
        kept = held.context if isinstance(decoder.attention, FixedContext) else moved.context
        assert kept is not None
        g.output("next.context", kept, "float", ["N", "W"])
    if held.coverage is not None:
        assert moved.weights is not None
        before = g.narrowed(held.coverage, g.size(moved.weights, 1))
        g.output("next.coverage", before + moved.weights, "float", ["N", "S"])
    return Said(logits, moved.weights)


def is_late(model: TranslationModel, models: Sequence[TranslationModel]) -> bool:
    """Whether its weights speak of a word one step sooner than another's, and so are handed out one step later."""
    attends = isinstance(model.decoder.attention, Attention)
    return attends and model.attention_shift < max(each.attention_shift for each in models)


def _attention(
    g: Graph,
    models: Sequence[TranslationModel],
    weights: Sequence[Value | None],
    mixture: Mixture,
    parents: Value,
) -> Value | None:
    """[N, S] the weighted mean over the models that attend."""
    if len(models) == 1:
        return weights[0]
    total = sum(share for share, own in zip(mixture.weights, weights, strict=True) if own is not None)
    mixed = []
    for name, model, share, own in zip(member_names(models), models, mixture.weights, weights, strict=True):
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


def _held(g: Graph, decoder: Decoder, parents: Value) -> Held:
    """The state that each cell goes on from; of the hypotheses of a beam many go on from the same one."""
    before = g.distinct(parents)

    def taken(name: str, size: int | str, *, bounded: bool) -> Value:
        return g.taken(g.input(f"state.{name}", "float", ["N'", size], bounded=bounded), before)

    layers = tuple(
        tuple(
            taken(f"layer{number}.{part}", layer.cell.size, bounded=fills_its_range(layer.cell))
            for part in range(parts(layer.cell))
        )
        for number, layer in enumerate(decoder.layers)
    )
    fixed = isinstance(decoder.attention, FixedContext)
    looks = isinstance(decoder.attention, Attention)
    return Held(
        layers,
        taken("feed", decoder.readout.size, bounded=_is_tanh(decoder.readout)) if decoder.feed is not None else None,
        taken("context", "W", bounded=fixed) if fixed or (looks and decoder.order == "groundhog") else None,
        taken("coverage", "S'", bounded=False) if looks and decoder.coverage else None,
    )


def _embed(g: Graph, model: TranslationModel, tokens: Value, matrix: Array) -> Value:
    """Vectors of previous words [N, E]; of BOS the symbol's own, or zero. A matrix that serves twice stands once."""
    tied = model.target.weight.data_ptr() == model.output.weight.data_ptr()
    words, places = g.distinct(tokens)
    there = g.node("Not", g.node("Equal", words, g.integers(BOS))) if model.zero_first else None
    return g.spread(g.look_up(matrix if tied else array(model.target.weight), words, there), places)


def _advance(g: Graph, model: TranslationModel, gates: Value, held: Held, cells: Cells) -> Moved:
    """Update and look once, in the decoder's order, as `Decoder._advance`."""
    decoder, layers = model.decoder, held.layers
    if decoder.attention is None:
        layers, hidden = _update(g, decoder, gates, held, None)
        return Moved(layers, hidden, None, None)
    fixed = isinstance(decoder.attention, FixedContext)
    bound = None if fixed else look(g, model, cells.layout, cells.time)

    def seen_from(query: Value) -> tuple[Value, Value | None]:
        if bound is None:
            assert held.context is not None
            return held.context, None
        return bound(query, held.coverage)

    if decoder.order == "look-then-update":
        before = layers[-1][0]
        context, weights = seen_from(before)
        layers, hidden = _update(g, decoder, gates, held, context)
        hidden = before if decoder.reads_previous else hidden
    elif decoder.order == "groundhog":
        updated, output = _update(g, decoder, gates, held, held.context)
        begun = g.node("Greater", cells.time, g.integers(0))  # nothing has been emitted before that could be taken in
        hidden = g.where(begun, output, layers[-1][0])
        layers = tuple(
            tuple(g.where(begun, new, old) for new, old in zip(*states, strict=True))
            for states in zip(updated, layers, strict=True)
        )
        context, weights = seen_from(hidden)
    else:
        layers, hidden = _update(g, decoder, gates, held, None)
        context, weights = seen_from(hidden)
        if decoder.second is not None:
            second = decoder.second
            layers = (step_cell(g, second.cell, apply(g, second.inputs, context), layers[0]),)
            hidden = layers[0][0]
    return Moved(layers, hidden, context, weights)


def _update(
    g: Graph, decoder: Decoder, gates: Value, held: Held, context: Value | None
) -> tuple[tuple[State, ...], Value]:
    """The next state of every layer, and the top layer's output, as `Decoder._update`."""
    bracket = None
    if decoder.context is not None and context is not None:
        if decoder.context_in_reset:
            size = decoder.layers[0].cell.size
            outside, bracket = g.split(apply(g, decoder.context, context), 2 * size, size)
            gate, candidate = g.split(gates, 2 * size, size)
            gates = g.concat(gate + outside, candidate, axis=-1)
        else:
            gates = apply(g, decoder.context, context, gates)
    if decoder.feed is not None:
        assert held.feed is not None
        gates = apply(g, decoder.feed, held.feed, gates)
    layers = [step_cell(g, decoder.layers[0].cell, gates, held.layers[0], bracket)]
    output = layers[0][0]
    for number, (layer, old) in enumerate(zip(list(decoder.layers)[1:], held.layers[1:], strict=True), 2):
        layers.append(step_cell(g, layer.cell, apply(g, layer.inputs, output), old))
        above = layers[-1][0]
        output = above + output if 0 < decoder.residual <= number else above
    return tuple(layers), output


def _read(g: Graph, readout: Readout, state: Value, words: Value, context: Value | None) -> Value:
    """The readout [N, O] of states, previous words [N, E] and contexts."""
    if isinstance(readout, StateReadout):
        return state
    if isinstance(readout, MaxoutReadout):
        pairs = apply(g, readout.state, state, apply(g, readout.word, words))
        if readout.context is not None:
            assert context is not None
            pairs = apply(g, readout.context, context, pairs)
        return g.node("ReduceMax", g.reshape(pairs, 0, readout.size, 2), g.integers(-1), keepdims=0)
    assert isinstance(readout, AttentionalReadout)
    assert context is not None
    bias = None if readout.bias is None else array(readout.bias)
    assert readout.combine.bias is None
    mixed = g.product(g.concat(context, state, axis=-1), array(readout.combine.weight), bias)
    return mixed if readout.affine else g.tanh(mixed)


def _is_tanh(readout: Readout) -> bool:
    """Whether it cannot leave [-1, 1]."""
    return isinstance(readout, AttentionalReadout) and not readout.affine
