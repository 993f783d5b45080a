"""The models of the four papers, one function each: log p of every target word, for one sentence, in float64 numpy.

Nothing is shared with the package, and nothing is clever: each function does what its paper says in the paper's order.
`w` holds the parameters by the papers' names (`tests.model.naming` finds them in a model); E_x and E_y are the word
vectors, y_0 the vector that stands for the word before the first. Source and target are ids, the end mark included
where it is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.model.reference.attention import (
    additive,
    attentional,
    covered_additive,
    maxout,
    normed_additive,
    softmax,
)
from tests.model.reference.cells import Array, gru, lstm

Weights = Mapping[str, Any]
Words = Sequence[int]
END = 3


def log_softmax(logits: Array) -> Array:
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


# Cho et al. 2014: the RNN Encoder-Decoder


def cho(w: Weights, source: Words, target: Words) -> Array:
    """Cho et al. 2014, section 2 and appendix: the source is one vector c, seen at every step in both gates, in the
    candidate (inside the reset gate's bracket) and in the readout."""
    h = np.zeros_like(w["encoder"]["b_r"])
    for word in source:
        h = gru(w["encoder"], w["E_x"][word], h, reset="before", update="keep")
    c = np.tanh(w["V"] @ h + w["b_V"])

    h = np.tanh(w["V'"] @ c + w["b_V'"])
    result, y = [], w["y_0"]
    for word in target:
        h = gru(w["decoder"], y, h, c, reset="after", update="keep", context_in_reset=True)
        result.append(deep_output(w, h, y, c)[word])
        y = w["E_y"][word]
    return np.array(result)


def cho_groundhog(w: Weights, source: Words, target: Words) -> Array:
    """The authors' first release: c is the last state, the reset gate stands before U', z writes, and the first word
    comes straight from h'_0; a state takes in the word after that was emitted."""
    h = np.zeros_like(w["encoder"]["b_r"])
    for word in source:
        h = gru(w["encoder"], w["E_x"][word], h, reset="before", update="write")
    c = h

    h = np.tanh(w["V'"] @ c + w["b_V'"])
    result, y = [], w["y_0"]
    for word in target:
        result.append(deep_output(w, h, y, c)[word])
        y = w["E_y"][word]
        h = gru(w["decoder"], y, h, c, reset="before", update="write")
    return np.array(result)


def deep_output(w: Weights, s: Array, y: Array, c: Array) -> Array:
    """log softmax(W_o maxout(U_o s + V_o y + C_o c)): Cho et al. 2014, appendix; Bahdanau et al. 2015, A.2.2.

    In Cho et al. 2014 W_o is a product G_l G_r.
    """
    t = maxout(w["U_o"] @ s + w["V_o"] @ y + w["C_o"] @ c + w["b_o"])
    matrix = w["G_l"] @ w["G_r"] if "G_l" in w else w["W_o"]
    return log_softmax(matrix @ t + w["b_y"])


# Sutskever et al. 2014: sequence to sequence with deep LSTMs


def sutskever(w: Weights, source: Words, target: Words, *, backwards: bool = True) -> Array:
    """Sutskever et al. 2014: a deep LSTM reads the reversed source, its last state of every layer is where a second
    deep LSTM starts, which sees nothing else of the source."""
    state = [(np.zeros_like(layer["b_i"]), np.zeros_like(layer["b_i"])) for layer in w["encoder layers"]]
    for position in reading_order(source, backwards=backwards):
        _, state = lstm_stack(w["encoder layers"], w["E_x"][source[position]], state)

    result, y = [], w["y_0"]
    for word in target:
        h, state = lstm_stack(w["decoder layers"], y, state)
        result.append(log_softmax(w["W_o"] @ h + w["b_y"])[word])
        y = w["E_y"][word]
    return np.array(result)


def reading_order(source: Words, *, backwards: bool) -> list[int]:
    """Positions, read backwards from the last word to the first; an end mark is read last in any case."""
    if not backwards:
        return list(range(len(source)))
    words = len(source) - (source[-1] == END)
    return [*reversed(range(words)), *range(words, len(source))]


def lstm_stack(layers: Sequence[Any], x: Array, state: Sequence[Any]) -> tuple[Array, list[tuple[Array, Array]]]:
    """One step of every layer: the top layer's h, and the new state."""
    new = []
    for layer, (h, c) in zip(layers, state, strict=True):
        new.append(lstm(layer, x, h, c))
        x = new[-1][0]
    return x, new


# Bahdanau et al. 2015: RNNsearch


def rnnsearch(w: Weights, source: Words, target: Words) -> Array:
    """Bahdanau et al. 2015, main text: c_i from s_{i-1}; s_i from (s_{i-1}, y_{i-1}, c_i); eq. 4 reads s_i."""
    annotations, s = bahdanau_encoder(w, source)
    coverage = np.zeros(len(source))
    result, y = [], w["y_0"]
    for word in target:
        alpha = softmax(bahdanau_energies(w, s, annotations, coverage))
        c = alpha @ annotations
        s = gru(w["decoder"], y, s, c, reset="before", update="write")
        result.append(deep_output(w, s, y, c)[word])
        y = w["E_y"][word]
        coverage = coverage + alpha
    return np.array(result)


def rnnsearch_appendix(w: Weights, source: Words, target: Words) -> Array:
    """Bahdanau et al. 2015, A.2.2 to the letter: the same, but the readout sees s_{i-1}."""
    annotations, s = bahdanau_encoder(w, source)
    result, y = [], w["y_0"]
    for word in target:
        c = softmax(bahdanau_energies(w, s, annotations)) @ annotations
        result.append(deep_output(w, s, y, c)[word])
        s = gru(w["decoder"], y, s, c, reset="before", update="write")
        y = w["E_y"][word]
    return np.array(result)


def rnnsearch_groundhog(w: Weights, source: Words, target: Words) -> Array:
    """The released code: the state takes in the word just emitted, so that the next look knows of it."""
    annotations, s = bahdanau_encoder(w, source)
    result, y = [], w["y_0"]
    for word in target:
        c = softmax(bahdanau_energies(w, s, annotations)) @ annotations
        result.append(deep_output(w, s, y, c)[word])
        y = w["E_y"][word]
        s = gru(w["decoder"], y, s, c, reset="before", update="write")
    return np.array(result)


def bahdanau_encoder(w: Weights, source: Words) -> tuple[Array, Array]:
    """Annotations [forward h_j; backward h_j] and s_0 = tanh(W_s backward h_1) (A.2.1, A.2.2)."""
    forward, backward = w["forward"], w["backward"]
    rightward, leftward = [], []
    h = np.zeros_like(forward["b_r"])
    for word in source:
        h = gru(forward, w["E_x"][word], h, reset="before", update="write")
        rightward.append(h)
    h = np.zeros_like(backward["b_r"])
    for word in source[::-1]:
        h = gru(backward, w["E_x"][word], h, reset="before", update="write")
        leftward.insert(0, h)
    annotations = [np.concatenate(pair) for pair in zip(rightward, leftward, strict=True)]
    return np.array(annotations), np.tanh(w["W_s"] @ leftward[0] + w["b_s"])


def bahdanau_energies(w: Weights, s: Array, annotations: Array, coverage: Array | None = None) -> Array:
    """A.1.2, and two later variants: v_a of trained length, and a term that sees the weights so far."""
    if "g_a" in w:
        w_a, u_a, v_a = w["W_a"], w["U_a"], w["v_a"]
        return normed_additive(s, annotations, w_a, u_a, v_a, w["g_a"], w["b_a"])
    if "w_c" in w and coverage is not None:
        return covered_additive(s, annotations, w["W_a"], w["U_a"], w["v_a"], w["w_c"], coverage)
    return additive(s, annotations, w["W_a"], w["U_a"], w["v_a"])


def rnnencdec(w: Weights, source: Words, target: Words) -> Array:
    """The baseline of Bahdanau et al. 2015: c_i is the last forward state for all i, and s_0 comes from it too."""
    h = np.zeros_like(w["encoder"]["b_r"])
    for word in source:
        h = gru(w["encoder"], w["E_x"][word], h, reset="before", update="write")
    c = h
    s = np.tanh(w["V'"] @ c + w["b_V'"])
    result, y = [], w["y_0"]
    for word in target:
        s = gru(w["decoder"], y, s, c, reset="before", update="write")
        result.append(deep_output(w, s, y, c)[word])
        y = w["E_y"][word]
    return np.array(result)


# Luong et al. 2015: global and local attention


Weigh = Callable[[Weights, Array, Array, int], Array]
"""(w, h_t, annotations, t) -> alignment weights a_t: a score and a scope."""


def luong(w: Weights, source: Words, target: Words, *, weigh: Weigh, backwards: bool, fed: bool) -> Array:
    """Luong et al. 2015: h_t first, then a_t from h_t, c_t, and h~_t = tanh(W_c [c_t; h_t]), which feeds the softmax
    and, where `fed`, the first layer of the next step. The source is read `backwards`; positions count in its order."""
    state = [(np.zeros_like(layer["b_i"]), np.zeros_like(layer["b_i"])) for layer in w["encoder layers"]]
    annotations = np.zeros((len(source), len(state[-1][0])))
    for position in reading_order(source, backwards=backwards):
        annotations[position], state = lstm_stack(w["encoder layers"], w["E_x"][source[position]], state)

    result, y = [], w["y_0"]
    fed_vector = np.zeros_like(w["b_c"])
    for t, word in enumerate(target):
        x = np.concatenate((y, fed_vector)) if fed else y
        h, state = lstm_stack(w["decoder layers"], x, state)
        c = weigh(w, h, annotations, t) @ annotations
        fed_vector = attentional(c, h, w["W_c"], w["b_c"])
        result.append(log_softmax(w["W_o"] @ fed_vector + w["b_y"])[word])
        y = w["E_y"][word]
    return np.array(result)


# dl4mt: the conditional GRU


def conditional_gru(w: Weights, source: Words, target: Words) -> Array:
    """dl4mt: s' from (s_{j-1}, y_{j-1}); c_j from s'; s_j from (s', c_j) by a second unit. Its units keep, with the
    reset gate after U, and s_0 comes from the mean annotation. The readout here is tanh(W_c [c_j; s_j])."""
    forward, backward = w["forward"], w["backward"]
    rightward, leftward = [], []
    h = np.zeros_like(forward["b_r"])
    for word in source:
        h = gru(forward, w["E_x"][word], h, reset="after", update="keep")
        rightward.append(h)
    h = np.zeros_like(backward["b_r"])
    for word in source[::-1]:
        h = gru(backward, w["E_x"][word], h, reset="after", update="keep")
        leftward.insert(0, h)
    annotations = np.array([np.concatenate(pair) for pair in zip(rightward, leftward, strict=True)])
    s = np.tanh(w["V'"] @ annotations.mean(axis=0) + w["b_V'"])
    result, y = [], w["y_0"]
    for word in target:
        between = gru(w["decoder"], y, s, reset="after", update="keep")
        c = softmax(bahdanau_energies(w, between, annotations)) @ annotations
        s = gru(w["second"], c, between, reset="after", update="keep")
        result.append(log_softmax(w["W_o"] @ attentional(c, s, w["W_c"], w["b_c"]) + w["b_y"])[word])
        y = w["E_y"][word]
    return np.array(result)
