"""The step graph: every row reads one word and says which words may follow.

    tokens, parents [N], rows [R], time [1], targets [R], k [1], state.* [N', ..], memory.* [B, S, ..]
        ->  log_probabilities, words [R, k], target_log_probabilities [R], attention [R, S], next.* [N, ..]

The N cells are laid out as [B, Q], Q rows for each sentence of the memory; `parents` says which row of the state each
cell goes on from, and `rows` which cells are real and want an answer.
"""

from __future__ import annotations

from typing import NamedTuple

from dragoman.export.cells import apply, array, parts, step_cell
from dragoman.export.graph import Graph, Value
from dragoman.export.looking import look
from dragoman.model.attention import Attention, FixedContext
from dragoman.model.decoder import Decoder
from dragoman.model.output import Output
from dragoman.model.readout import Attentional, Linear, Maxout, Readout
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


def step_graph(model: TranslationModel, *, int8: bool) -> Graph:
    """The graph of `TranslationModel.step` and of the k best."""
    g = Graph("step", int8=int8)
    decoder = model.decoder
    tokens, parents = (g.input(name, "int64", ["N"]) for name in ("tokens", "parents"))
    rows, time, targets = (
        g.input(name, "int64", [size]) for name, size in (("rows", "R"), ("time", 1), ("targets", "R"))
    )
    best = g.input("k", "int64", [1])
    held = _held(g, decoder, parents)
    vectors = _embed(g, model, tokens)
    gates = apply(g, decoder.layers[0].inputs, vectors)
    moved = _advance(g, decoder, gates, held, time)
    readout = _read(g, decoder.readout, moved.hidden, vectors, moved.context)
    _answer(g, model.output, g.gather(readout, rows), targets, best)
    if moved.weights is not None:
        g.output("attention", g.gather(moved.weights, rows), "float", ["R", "S"])
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
    return g


def _held(g: Graph, decoder: Decoder, parents: Value) -> Held:
    """The state that each cell goes on from."""

    def taken(name: str, size: int | str) -> Value:
        return g.gather(g.input(f"state.{name}", "float", ["N'", size]), parents)

    layers = tuple(
        tuple(taken(f"layer{number}.{part}", layer.cell.size) for part in range(parts(layer.cell)))
        for number, layer in enumerate(decoder.layers)
    )
    fixed = isinstance(decoder.attention, FixedContext)
    looks = isinstance(decoder.attention, Attention)
    return Held(
        layers,
        taken("feed", decoder.readout.size) if decoder.feed is not None else None,
        taken("context", "W") if fixed or (looks and decoder.order == "groundhog") else None,
        taken("coverage", "S'") if looks and decoder.coverage else None,
    )


def _embed(g: Graph, model: TranslationModel, tokens: Value) -> Value:
    """Vectors of previous words [N, E]; of BOS the symbol's own, or zero."""
    vectors = g.look_up(array(model.target.weight), tokens)
    if not model.zero_first:
        return vectors
    there = g.node("Not", g.node("Equal", tokens, g.integers(BOS)))
    return vectors * g.unsqueeze(g.to(there, "float"), 1)


def _advance(g: Graph, decoder: Decoder, gates: Value, held: Held, time: Value) -> Moved:
    """Update and look once, in the decoder's order, as `Decoder._advance`."""
    layers = held.layers
    if decoder.attention is None:
        layers, hidden = _update(g, decoder, gates, held, None)
        return Moved(layers, hidden, None, None)
    fixed = isinstance(decoder.attention, FixedContext)
    bound = None if fixed else look(g, decoder, time)

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
        begun = g.node("Greater", time, g.integers(0))  # nothing has been emitted before that could be taken in
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
    if isinstance(readout, Linear):
        return state
    if isinstance(readout, Maxout):
        pairs = apply(g, readout.state, state, apply(g, readout.word, words))
        if readout.context is not None:
            assert context is not None
            pairs = apply(g, readout.context, context, pairs)
        return g.node("ReduceMax", g.reshape(pairs, 0, readout.size, 2), g.integers(-1), keepdims=0)
    assert isinstance(readout, Attentional)
    assert context is not None
    bias = None if readout.bias is None else g.constant(array(readout.bias))
    mixed = apply(g, readout.combine, g.concat(context, state, axis=-1), bias)
    return mixed if readout.affine else g.tanh(mixed)


def _answer(g: Graph, output: Output, readout: Value, targets: Value, best: Value) -> None:
    """The k largest log p, and those of the targets.

    log sum exp is the largest logit less the logarithm of its probability, which is never small: the softmax is a
    fast operator, a sum of exponentials is not.
    """
    if output.narrow is not None:
        readout = apply(g, output.narrow, readout)
    bias = None if output.bias is None else g.constant(array(output.bias))
    logits = g.product(readout, array(output.weight), bias)
    values, words = g.nodes("TopK", 2, logits, best, axis=-1)
    first = [g.columns(part, 0, 1) for part in (values, words)]
    largest = g.node("GatherElements", g.node("Softmax", logits, axis=-1), first[1], axis=1)
    log_sum = first[0] - g.node("Log", largest)  # [R, 1]
    wanted = g.node("GatherElements", logits, g.unsqueeze(targets, 1), axis=1) - log_sum
    g.output("log_probabilities", values - log_sum, "float", ["R", "k"])
    g.output("words", words, "int64", ["R", "k"])
    g.output("target_log_probabilities", g.reshape(wanted, -1), "float", ["R"])
