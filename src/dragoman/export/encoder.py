"""The encoder graph: from source ids to the attention memory and the initial decoder state.

    source [B, S], lengths [B]  ->  memory.* [B, S, ..], state.* [B, ..]

A context that is fixed is part of the state: it moves with its row. Several models read the same source side by side;
the names then have the number of the model: memory.0.vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from dragoman.export.cells import CellValues, apply, array, over_words, parts, run_layer
from dragoman.export.decoder import is_late, member_names
from dragoman.export.graph import Graph, Value
from dragoman.model.attention import Attention, FixedContext
from dragoman.model.bridge import Bridge
from dragoman.model.encoder import Encoder
from dragoman.model.linear import Linear
from dragoman.model.scores import Additive, AttentionScore, Dot, General, Location
from dragoman.model.translation import TranslationModel


class Annotated(NamedTuple):
    """As `Annotations`: vectors [B, S, W], mask [B, S], the last state of each layer, the backward one at the top."""

    vectors: Value
    mask: Value
    last: tuple[CellValues, ...]
    backward_first: Value


def encoder_graph(models: Sequence[TranslationModel], *, int8: bool = False) -> Graph:
    """The graph of `TranslationModel.start`."""
    g = Graph("encoder", int8=int8)
    source, lengths = g.input("source", "int64", ["B", "S"]), g.input("lengths", "int64", ["B"])
    for name, model in zip(member_names(models), models, strict=True):
        with g.member(name):
            mask = _start(g, model, source, lengths)
            if is_late(model, models):
                g.output("state.attention", g.to(mask, "float") * g.number(0.0), "float", ["B", "S"])
    return g


def _start(g: Graph, model: TranslationModel, source: Value, lengths: Value) -> Value:
    """Declare what one model hands out; the mask of real positions [B, S]."""
    seen = _encode(g, model, source, lengths)
    summary = seen.last[-1][0]
    if model.bridge.compressed is not None:
        summary = g.tanh(apply(g, model.bridge.compressed, summary))
    decoder = model.decoder
    for number, state in enumerate(_first_states(g, model.bridge, seen, summary)):
        for part, value in enumerate(state):
            g.output(f"state.layer{number}.{part}", value, "float", ["B", decoder.layers[number].cell.size])
    if decoder.feed is not None:
        g.output("state.feed", g.zeros(source, decoder.readout.size), "float", ["B", decoder.readout.size])
    if isinstance(decoder.attention, FixedContext):
        g.output("state.context", summary, "float", ["B", "W"])
    if isinstance(decoder.attention, Attention):
        g.output("memory.vectors", seen.vectors, "float", ["B", "S", "W"])
        g.output("memory.mask", seen.mask, "bool", ["B", "S"])
        keys = _keys(g, decoder.attention.score, seen)
        if keys is not None:
            located = isinstance(decoder.attention.score, Location)
            g.output("memory.keys", keys, "int64" if located else "float", ["B", "S"] if located else ["B", "S", "A"])
        if decoder.order == "groundhog":
            annotation = model.encoder.layers[-1].cell.size * (2 if model.encoder.direction == "both" else 1)
            g.output("state.context", g.zeros(source, annotation), "float", ["B", "W"])
        if decoder.coverage:
            g.output("state.coverage", g.to(seen.mask, "float") * g.number(0.0), "float", ["B", "S"])
    return seen.mask


def _encode(g: Graph, model: TranslationModel, source: Value, lengths: Value) -> Annotated:
    """In the order of reading: words are reversed before the first layer, annotations turned back after the last."""
    encoder = model.encoder
    both = encoder.direction == "both"
    steps = g.transpose(source, 1, 0)  # [S, B]
    read = _reversed(g, encoder, steps, lengths)
    vectors = g.look_up(array(model.source.weight), read)  # [S, B, E]
    counts = g.to(lengths, "int32")
    mask = g.node("Less", g.positions(source, 1), g.unsqueeze(lengths, 1))
    real = g.unsqueeze(g.transpose(mask, 1, 0), 2)  # [S, B, 1]
    last = []
    for number, layer in enumerate(encoder.layers, 1):
        outputs, states = run_layer(g, layer, vectors, counts, real)
        vectors = vectors + outputs if 0 < encoder.residual <= number else outputs
        last.append(
            tuple(
                side_by_side[0] if not both else g.concat(*side_by_side, axis=-1)
                for side_by_side in zip(*states, strict=True)
            )
        )
    top = states[-1][0]
    vectors = _reversed(g, encoder, vectors, lengths)
    return Annotated(g.transpose(vectors, 1, 0, 2), mask, tuple(last), top)


def _reversed(g: Graph, encoder: Encoder, steps: Value, lengths: Value) -> Value:
    """[S, B, ..] with the words of each sentence turned round if the encoder reads them so; its own inverse."""
    if encoder.direction != "reversed":
        return steps
    one = g.integers(1)
    count = g.node("Max", lengths - one, one) if encoder.eos_stays_last else lengths
    return g.node("ReverseSequence", steps, count, batch_axis=1, time_axis=0)


def _first_states(g: Graph, bridge: Bridge, seen: Annotated, summary: Value) -> tuple[CellValues, ...]:
    """The initial state, as in `Bridge`."""
    cells = bridge.cells
    if bridge.kind == "copy":
        return seen.last
    if bridge.kind == "zero":
        return tuple((g.zeros(summary, cell.size),) * parts(cell) for cell in cells)
    if bridge.kind == "last":
        top = seen.last[-1][0]
        hidden = [g.columns(top, 0, cell.size) for cell in cells]
    else:
        seed = _seed(g, bridge, seen, summary)
        hidden = [g.tanh(apply(g, linear, seed)) for linear in cast("list[Linear]", list(bridge.maps))]
    return tuple(
        (h,) if parts(cell) == 1 else (h, h if bridge.copy_to_cell_state else g.zeros(h, cell.size))
        for cell, h in zip(cells, hidden, strict=True)
    )


def _seed(g: Graph, bridge: Bridge, seen: Annotated, summary: Value) -> Value:
    if bridge.kind == "tanh-last":
        return summary
    if bridge.kind == "tanh-backward":
        return seen.backward_first
    real = g.to(seen.mask, "float")
    shares = g.unsqueeze(real / g.total(real, 1), 1)  # [B, 1, S]
    return g.node("Squeeze", g.matmul(shares, seen.vectors), g.integers(1))


def _keys(g: Graph, score: AttentionScore, seen: Annotated) -> Value | None:
    """What `Score.keys` makes of the annotations, or None where it is the annotations themselves."""
    if isinstance(score, Dot):
        return None if score.scale == 1.0 else seen.vectors * g.number(score.scale)
    if isinstance(score, Location):
        return _slots(g, score, seen.mask)
    assert isinstance(score, Additive | General)
    if score.annotation is None:
        return None
    if g.int8:
        return over_words(g, score.annotation, seen.vectors)
    return g.matmul(seen.vectors, g.constant(array(score.annotation.weight).T))


def _slots(g: Graph, score: Location, mask: Value) -> Value:
    """The slot of each position, int64 [B, S]; -1 where there is none."""
    position, slots = g.positions(mask, 1), g.integers(score.slots)
    length = g.node("Min", g.total(g.to(mask, "int64"), 1), slots)
    first = g.integers(score.slots - 1) if score.reads_backwards else slots - length
    slot = first - position if score.reads_backwards else first + position
    return g.where(g.node("Less", position, length), slot, g.integers(-1))
