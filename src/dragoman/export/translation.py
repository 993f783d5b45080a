"""The two graphs of exported models, as `model/translation.py` states them: `start` and `step` of a translation model.

The encoder graph, from source ids to the attention memory and the initial decoder state:

    source [B, S], lengths [B]  ->  memory.* [B, S, ..], state.* [B, ..]

The step graph, one decoder step of all rows, from previous words to log-probabilities of the next words:

    tokens, parents [N], layout [3], rows [R], time [1], targets [R], k [1], state.* [N', ..], memory.* [B, S, ..]
        ->  log_probabilities, words [R, k], target_log_probabilities [R], logits or probabilities [R, V],
            attention [R, S], next.* [N, ..]

The N cells have the layout [B, Q], Q cells for each source sentence, given as (B, Q, -1). `parents` are the rows of the
previous state that the cells continue, `rows` the cells that are rows of the output. A fixed context is part of the
state, and moves with its row.

Several models are combined in one graph. They read the same source; the names of states and memories then contain the
number of the model: state.0.layer0.0. With a shortlist, part of the output layer is an input (output_layer.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.shortlist import in_chunks
from dragoman.export.decoder import advance, declare_initial_state, declare_next_state, previous_state
from dragoman.export.encoder import annotate, initial_values
from dragoman.export.graph import Array, Graph, Value
from dragoman.export.linear import apply, array
from dragoman.export.output_layer import (
    EnsembleCombination,
    StepQuery,
    declare_outputs,
    declare_query,
    logits_of,
    read_out,
)
from dragoman.export.scores import attention_keys
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS


class CellInputs(NamedTuple):
    """The inputs that all models share: tokens and parents int64 [N], layout int64 [3], time int64 [1]."""

    tokens: Value
    parents: Value
    layout: Value
    time: Value


class StepOutput(NamedTuple):
    """The results of one model: logits of R rows [R, V], alignment weights of the N cells [N, S]."""

    logits: Value
    weights: Value | None


def _member_names(models: Sequence[TranslationModel]) -> list[str]:
    """The part of the names of inputs and outputs that stands for each model; empty for a single model."""
    return [""] if len(models) == 1 else [str(number) for number in range(len(models))]


def _is_late(model: TranslationModel, models: Sequence[TranslationModel]) -> bool:
    """Whether a model aligns a word one step before another model does: its weights then wait for one step."""
    attends = model.decoder.alignment is not None
    return attends and model.attention_shift < max(each.attention_shift for each in models)


# The encoder graph ---------------------------------------------------------------------------------------------------


def encoder_graph(models: Sequence[TranslationModel], *, int8: bool = False) -> Graph:
    """Build the graph of `TranslationModel.start`."""
    g = Graph("encoder", int8=int8)
    source, lengths = g.input("source", "int64", ["B", "S"]), g.input("lengths", "int64", ["B"])
    for name, model in zip(_member_names(models), models, strict=True):
        with g.member(name):
            mask = _start(g, model, source, lengths)
            if _is_late(model, models):
                g.output("state.attention", g.to(mask, "float") * g.number(0.0), "float", ["B", "S"])
    return g


def _start(g: Graph, model: TranslationModel, source: Value, lengths: Value) -> Value:
    """Declare the outputs of one model, and return the mask of real positions [B, S]."""
    annotations = annotate(g, model.encoder, array(model.source.weight), source, lengths)
    initial = initial_values(g, model.bridge, annotations)
    declare_initial_state(g, model, source, annotations, initial)
    if model.decoder.alignment is None:
        return annotations.mask
    score = model.decoder.alignment.score  # the attention memory, as `Attention.precompute`
    g.output("memory.vectors", annotations.vectors, "float", ["B", "S", "W"])
    g.output("memory.mask", annotations.mask, "bool", ["B", "S"])
    keys = attention_keys(g, score, annotations.vectors, annotations.mask)
    if keys is not None and score.kind == "location":
        g.output("memory.keys", keys, "int64", ["B", "S"])
    elif keys is not None:
        g.output("memory.keys", keys, "float", ["B", "S", "A"])
    return annotations.mask


# The step graph ------------------------------------------------------------------------------------------------------


def step_graph(
    models: Sequence[TranslationModel],
    ensemble: EnsembleCombination,
    *,
    int8: bool = False,
    always: NDArray[np.integer[Any]] | None = None,
) -> Graph:
    """Build the graph of `TranslationModel.step` and of the k best words.

    Args:
        always: the words that are on every shortlist; None to choose from the whole vocabulary.
    """
    g = Graph("step", int8=int8)
    tokens, parents = (g.input(name, "int64", ["N"]) for name in ("tokens", "parents"))
    cells = CellInputs(tokens, parents, g.input("layout", "int64", [3]), g.input("time", "int64", [1]))
    query = declare_query(g, always)
    outputs = []
    for name, model in zip(_member_names(models), models, strict=True):
        with g.member(name):
            outputs.append(_step(g, model, cells, query))
    declare_outputs(g, [output.logits for output in outputs], ensemble, query)
    weights = _mean_weights(g, models, [output.weights for output in outputs], ensemble, parents)
    if weights is not None:
        g.output("attention", g.gather(weights, query.rows), "float", ["R", "S"])  # [N, S] -> [R, S]
    return g


def _step(g: Graph, model: TranslationModel, cells: CellInputs, query: StepQuery) -> StepOutput:
    """The step of one model, with its states as inputs and outputs."""
    decoder = model.decoder
    previous = previous_state(g, decoder, cells.parents)
    matrix = in_chunks(array(model.output.weight), 0)
    vectors = _embed(g, model, cells.tokens, matrix)
    gates = apply(g, decoder.layers[0].inputs, vectors)  # [N, E] -> [N, G]
    advanced = advance(g, model, gates, previous, cells.layout, cells.time)
    readout = read_out(g, decoder.readout, advanced.hidden, vectors, advanced.context)  # [N, O]
    logits = logits_of(g, model.output, matrix, g.gather(readout, query.rows), query.shortlist)  # [R, O] -> [R, V]
    declare_next_state(g, decoder, previous, advanced, readout)
    return StepOutput(logits, advanced.weights)


def _embed(g: Graph, model: TranslationModel, tokens: Value, matrix: Array) -> Value:
    """Embeddings of previous words, [N] -> [N, E]; BOS has its own or zeros. A matrix tied to the output's occurs once.

    Args:
        matrix: the output matrix.
    """
    tied = model.target.weight.data_ptr() == model.output.weight.data_ptr()
    words = g.distinct(tokens)
    is_word = g.node("Not", g.node("Equal", words.values, g.integers(BOS))) if model.zero_first else None
    table = matrix if tied else array(model.target.weight)
    return g.repeat_rows(g.look_up(table, words.values, is_word), words.indices)


def _mean_weights(
    g: Graph,
    models: Sequence[TranslationModel],
    weights: Sequence[Value | None],
    ensemble: EnsembleCombination,
    parents: Value,
) -> Value | None:
    """Alignment weights [N, S], the weighted mean over the models that have an attention; None if none has one."""
    if len(models) == 1:
        return weights[0]
    total = sum(share for share, own in zip(ensemble.weights, weights, strict=True) if own is not None)
    parts = []
    for name, model, share, own in zip(_member_names(models), models, ensemble.weights, weights, strict=True):
        if own is None:
            continue
        aligned = own
        if _is_late(model, models):
            with g.member(name):
                before = g.gather(g.input("state.attention", "float", ["N'", "S'"]), parents)
                aligned = g.narrowed(before, g.size(own, 1))  # [N, S'] -> [N, S]
                g.output("next.attention", own, "float", ["N", "S"])
        parts.append(aligned * g.number(share / total))
    return g.node("Sum", *parts) if parts else None
