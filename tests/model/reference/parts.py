"""Any composition of the parts, for one sentence, in float64 numpy: what `papers` does, with every switch.

Read `papers` first. Only the settings are the package's own; the equations are in `cells` and `attention`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.config.schema import CellConfig, ModelConfig
from tests.model.reference import attention as look
from tests.model.reference.cells import Array, Cell, gru, lstm, tanh
from tests.model.reference.papers import Weights, Words, log_softmax, reading_order

CellState = tuple[Array, ...]
"""(h,), or (h, c) of an LSTM."""


class Encoded(NamedTuple):
    """Annotations [S, W]; each layer's last state; the top layer's last state of the direction that reads backwards."""

    annotations: Array
    last: list[CellState]
    backward_first: Array


class Translated(NamedTuple):
    """log p of each target word, [T]; alignment weights [T, S], empty where there is no attention."""

    log_probabilities: Array
    weights: Array


def cell_step(
    settings: CellConfig, w: Cell, x: Array, state: CellState, c: Array | None = None, *, context_in_reset: bool = False
) -> CellState:
    """One step of whichever cell."""
    if settings.cell.startswith("gru"):
        switches: Any = {"reset": settings.reset, "update": settings.update, "context_in_reset": context_in_reset}
        return (gru(w, x, state[0], c, **switches),)
    if settings.cell == "tanh":
        return (tanh(w, x, state[0], c),)
    if c is not None:  # the context is more of what comes from below
        x = np.concatenate((x, c))
        w = {**w, **{f"W_{gate}": np.hstack((w[f"W_{gate}"], w[f"C_{gate}"])) for gate in "ifog"}}
    return lstm(w, x, *state)


def zero_state(settings: CellConfig) -> CellState:
    return (np.zeros(settings.size),) * (2 if settings.cell.startswith("lstm") else 1)


def encode(config: ModelConfig, w: Weights, source: Words) -> Encoded:
    """Layer by layer, direction by direction."""
    settings = config.encoder
    vectors = np.array([w["E_x"][word] for word in source])
    last, ends = [], []
    for number, directions in enumerate(w["encoder directions"], 1):
        sides, ends = [], []
        for side, cell in enumerate(directions):
            if settings.direction == "both":  # the backward direction reads everything from the end
                order = list(range(len(source)))[:: -1 if side else 1]
            else:
                order = reading_order(source, backwards=settings.direction == "reversed")
            state, hidden = zero_state(settings), np.zeros((len(source), settings.size))
            for position in order:
                state = cell_step(settings, cell, vectors[position], state)
                hidden[position] = state[0]
            sides.append(hidden)
            ends.append(state)
        output = np.concatenate(sides, axis=1)
        vectors = (
            vectors + output if settings.first_residual_layer and number >= settings.first_residual_layer else output
        )
        last.append(tuple(np.concatenate(parts) for parts in zip(*ends, strict=True)))
    return Encoded(vectors, last, ends[-1][0])


def summary(config: ModelConfig, w: Weights, encoded: Encoded) -> Array:
    """The one vector of a sentence."""
    c = encoded.last[-1][0]
    return np.tanh(w["V"] @ c + w["b_V"]) if config.bridge.summary == "tanh" else c


def first_states(config: ModelConfig, w: Weights, encoded: Encoded) -> list[CellState]:
    kind = config.bridge.kind
    if kind == "copy":
        return encoded.last
    if kind == "zero":
        return [zero_state(config.decoder)] * config.decoder.layers
    if kind == "last":  # as much of the top layer's as fits: of two directions, the forward one stands first
        h = encoded.last[-1][0][: config.decoder.size]
        state = (h, h if config.bridge.cell_state == "hidden" else np.zeros_like(h))
        return [state[: len(zero_state(config.decoder))]] * config.decoder.layers
    if kind == "tanh-last":
        seed = summary(config, w, encoded)
    else:
        seed = encoded.backward_first if kind == "tanh-backward" else encoded.annotations.mean(axis=0)
    states: list[CellState] = []
    for v, b in w["V' of layers"]:
        h = np.tanh(v @ seed + b)
        memory = h if config.bridge.cell_state == "hidden" else np.zeros_like(h)
        states.append((h, memory) if config.decoder.cell.startswith("lstm") else (h,))
    return states


def energies(config: ModelConfig, w: Weights, s: Array, h: Array, coverage: Array) -> Array:
    """Additive scores one by one from their equation, with the terms that switches add; the others as they are."""
    score = config.attention.score
    if score in ("dot", "scaled-dot"):
        return look.dot(s, h) if score == "dot" else look.scaled_dot(s, h)
    if score == "general":
        return look.general(s, h, w["W_a"])
    inner = np.array([w["W_a"] @ s + (h_j if score == "concat-identity" else w["U_a"] @ h_j) for h_j in h])
    if config.attention.coverage:
        inner = inner + np.outer(coverage, w["w_c"])
    if score == "normed-additive":
        return np.tanh(inner + w["b_a"]) @ w["v_a"] * w["g_a"] / np.sqrt(w["v_a"] @ w["v_a"])
    return np.tanh(inner) @ w["v_a"]


def alignment_weights(config: ModelConfig, w: Weights, s: Array, h: Array, t: int, coverage: Array) -> Array:
    settings = config.attention
    if settings.score == "location":
        backwards = config.encoder.direction == "reversed"
        return look.location_weights(s, len(h), w["W_a"], masked=settings.masked, reads_backwards=backwards)
    e = energies(config, w, s, h, coverage)
    if settings.scope == "local-m":
        return look.local_m_weights(e, t, settings.window)
    if settings.scope == "local-p":
        return look.local_p_weights(e, s, w["W_p"], w["v_p"], settings.window)
    return look.global_weights(e)


def see_with_heads(config: ModelConfig, w: Weights, s: Array, h: Array) -> tuple[Array, Array]:
    """Head by head, each with a slice of the state, of what it is compared with, and of the annotations."""
    heads, score = config.attention.heads, config.attention.score
    keys = np.array([w["W_a"] @ h_j for h_j in h]) if score == "general" else h
    contexts, weights = [], []
    for k in range(heads):
        of_s, of_keys, of_h = (x[..., k * x.shape[-1] // heads : (k + 1) * x.shape[-1] // heads] for x in (s, keys, h))
        e = look.scaled_dot(of_s, of_keys) if score == "scaled-dot" else look.dot(of_s, of_keys)
        weights.append(look.global_weights(e))
        contexts.append(weights[-1] @ of_h)
    return np.concatenate(contexts), np.mean(weights, axis=0)


def read_out(config: ModelConfig, w: Weights, s: Array, y: Array, c: Array | None) -> Array:
    kind = config.readout.kind
    if kind == "linear":
        return s
    if kind == "attentional":
        assert c is not None
        return look.attentional(c, s, w["W_c"], w["b_c"])
    if kind == "affine":  # the same without the tanh
        assert c is not None
        return w["W_c"] @ np.concatenate((c, s)) + w["b_c"]
    return look.maxout(w["U_o"] @ s + w["V_o"] @ y + (0 if c is None else w["C_o"] @ c) + w["b_o"])


def translate(config: ModelConfig, w: Weights, source: Words, target: Words) -> Translated:
    """Every target word in turn, in the decoder's order."""
    decoder = config.decoder
    encoded = encode(config, w, source)
    h, layers = encoded.annotations, list(first_states(config, w, encoded))
    coverage, weights = np.zeros(len(h)), []
    fed, c = np.zeros(decoder.size if config.readout.kind == "linear" else config.readout.size), None
    result, y = [], w["y_0"]

    def see(s: Array, t: int) -> Array | None:
        nonlocal coverage
        if decoder.context != "attended":
            return summary(config, w, encoded) if decoder.context == "fixed" else None
        if config.attention.heads > 1:
            context, mean = see_with_heads(config, w, s, h)
            weights.append(mean)
            return context
        weights.append(alignment_weights(config, w, s, h, t, coverage))
        coverage = coverage + weights[-1]
        return weights[-1] @ h

    def update(context: Array | None) -> Array:
        """Every layer moves on; the top one's output."""
        x = np.concatenate((y, fed)) if decoder.input_feeding else y
        bracket = decoder.context_in_reset
        layers[0] = cell_step(decoder, w["decoder layers"][0], x, layers[0], context, context_in_reset=bracket)
        output = layers[0][0]
        for number, cell in enumerate(w["decoder layers"][1:], 2):
            layers[number - 1] = cell_step(decoder, cell, output, layers[number - 1])
            above = layers[number - 1][0]
            output = (
                above + output if decoder.first_residual_layer and number >= decoder.first_residual_layer else above
            )
        return output

    for t, word in enumerate(target):
        if decoder.order == "look-then-update":
            before = layers[-1][0]
            c = see(before, t)
            after = update(c)
            s = before if decoder.readout_state == "prev" else after
        elif decoder.order == "groundhog":
            s = update(c) if t else layers[-1][0]
            c = see(s, t)
        else:
            s = update(None)
            c = see(s, t)
            if decoder.order == "two-step":
                assert c is not None
                layers[0] = cell_step(decoder, w["second"], c, layers[0])
                s = layers[0][0]
        fed = read_out(config, w, s, y, c)
        matrix = w["G_l"] @ w["G_r"] if config.readout.rank else w["W_o"]
        result.append(log_softmax(matrix @ fed + w["b_y"])[word])
        y = w["E_y"][word]
    return Translated(np.array(result), np.array(weights))
