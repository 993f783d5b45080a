"""The encoder graph: from source ids to the attention memory and the initial decoder state.

    source [B, S], lengths [B]  ->  memory.* [B, S, ..], state.* [B, ..]

A context that is fixed is part of the state: it moves with its row. Several models read the same source side by side;
the names then have the number of the model: memory.0.vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.export.attention import attention_keys
from dragoman.export.bridge import Annotated, initial_states
from dragoman.export.cells import apply, array, run_layer
from dragoman.export.decoder import is_late, member_names
from dragoman.export.graph import Graph, Value
from dragoman.model.encoder import Encoder
from dragoman.model.translation import TranslationModel


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
    for number, state in enumerate(initial_states(g, model.bridge, seen, summary)):
        for part, value in enumerate(state):
            g.output(f"state.layer{number}.{part}", value, "float", ["B", decoder.layers[number].cell.size])
    if decoder.feed is not None:
        g.output("state.feed", g.zeros(source, decoder.readout.size), "float", ["B", decoder.readout.size])
    if decoder.has_fixed_context:
        g.output("state.context", summary, "float", ["B", "W"])
    if decoder.alignment is not None:
        g.output("memory.vectors", seen.vectors, "float", ["B", "S", "W"])
        g.output("memory.mask", seen.mask, "bool", ["B", "S"])
        keys = attention_keys(g, decoder.alignment.score, seen.vectors, seen.mask)
        if keys is not None:
            located = decoder.alignment.score.kind == "location"
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
