"""The equations, step by step in float64 numpy, for one sentence at a time: nothing shared with the package.

Weights are plain arrays named as in the papers; vectors are rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


def gru(a: Array, h: Array, u_gates: Array, u: Array, *, reset: str, update: str) -> Array:
    """Cho et al. 2014, eqs. 5-8 and Bahdanau et al. 2015, A.1.1; `a` holds what enters r, z and the candidate."""
    n = len(h)
    r = sigmoid(a[:n] + u_gates[:n] @ h)
    z = sigmoid(a[n : 2 * n] + u_gates[n:] @ h)
    new = np.tanh(a[2 * n :] + (u @ (r * h) if reset == "before" else r * (u @ h)))
    return (1 - z) * h + z * new if update == "write" else z * h + (1 - z) * new


def lstm(a: Array, h: Array, c: Array, u: Array) -> tuple[Array, Array]:
    """Zaremba et al. 2014; gates in the order i, f, o, g."""
    n = len(h)
    x = a + u @ h
    i, f, o, g = sigmoid(x[:n]), sigmoid(x[n : 2 * n]), sigmoid(x[2 * n : 3 * n]), np.tanh(x[3 * n :])
    c = f * c + i * g
    return o * np.tanh(c), c


def additive(s: Array, annotations: Array, w_a: Array, u_a: Array, v_a: Array) -> Array:
    """e_j = v_a^T tanh(W_a s + U_a h_j) (Bahdanau et al. 2015, A.1.2)."""
    return np.array([v_a @ np.tanh(w_a @ s + u_a @ h) for h in annotations])


def rnnsearch_log_probabilities(weights: Mapping[str, Array], source: Sequence[int], target: Sequence[int]) -> Array:
    """log p of each target word by the main text of Bahdanau et al. 2015: bidirectional GRU, additive attention
    with s_{i-1}, readout of (s_i, y_{i-1}, c_i) through maxout. The previous word of the first step is word 2."""
    w = weights
    inputs, bias = w["encoder.layers.0.inputs.weight"], w["encoder.layers.0.inputs.bias"]
    gates, candidate = w["encoder.layers.0.cell.recurrent_gates.weight"], w["encoder.layers.0.cell.recurrent.weight"]
    size = candidate.shape[-1]
    embedded = [w["source.weight"][word] for word in source]
    states: list[list[Array]] = []
    for direction, words in enumerate((embedded, embedded[::-1])):
        h, read = np.zeros(size), []
        for word in words:
            a = inputs[direction] @ word + bias[direction]
            h = gru(a, h, gates[direction], candidate[direction], reset="before", update="write")
            read.append(h)
        states.append(read)
    backward = states[1][::-1]
    annotations = np.array([np.concatenate(pair) for pair in zip(states[0], backward, strict=True)])
    s = np.tanh(w["bridge.maps.0.weight"] @ backward[0] + w["bridge.maps.0.bias"])
    result, previous = [], 2
    for word in target:
        y = w["target.weight"][previous]
        score = "decoder.attention.score."
        energies = additive(s, annotations, w[score + "query.weight"], w[score + "annotation.weight"], w[score + "v"])
        c = softmax(energies) @ annotations
        a = (
            w["decoder.layers.0.inputs.weight"] @ y
            + w["decoder.layers.0.inputs.bias"]
            + w["decoder.context.weight"] @ c
        )
        cell = "decoder.layers.0.cell."
        s = gru(a, s, w[cell + "recurrent_gates.weight"], w[cell + "recurrent.weight"], reset="before", update="write")
        read = "decoder.readout."
        t = w[read + "state.weight"] @ s + w[read + "word.weight"] @ y + w[read + "context.weight"] @ c
        t = t + w[read + "word.bias"]
        logits = w["output.weight"] @ np.maximum(t[0::2], t[1::2]) + w["output.bias"]
        result.append(np.log(softmax(logits)[word]))
        previous = word
    return np.array(result)


def luong_log_probabilities(weights: Mapping[str, Array], source: Sequence[int], target: Sequence[int]) -> Array:
    """log p of each target word by Luong et al. 2015: stacked LSTM over the reversed source, general score with the
    current state, attentional vector fed to the next step. The previous word of the first step is word 2."""
    w = weights
    depth = sum(name.startswith("decoder.layers.") and name.endswith("recurrent_gates.weight") for name in w)
    size = w["decoder.layers.0.cell.recurrent_gates.weight"].shape[-1]
    state = [(np.zeros(size), np.zeros(size)) for _ in range(depth)]

    def stack(side: str, x: Array, fed: Array | None) -> Array:
        for layer in range(depth):
            a = w[f"{side}.layers.{layer}.inputs.weight"] @ x + w[f"{side}.layers.{layer}.inputs.bias"]
            if fed is not None and layer == 0:
                a = a + w["decoder.feed.weight"] @ fed
            state[layer] = lstm(a, *state[layer], w[f"{side}.layers.{layer}.cell.recurrent_gates.weight"])
            x = state[layer][0]
        return x

    annotations = np.array([stack("encoder", w["source.weight"][word], None) for word in source[::-1]])
    fed, previous, result = np.zeros(w["decoder.readout.combine.weight"].shape[0]), 2, []
    for word in target:
        h = stack("decoder", w["target.weight"][previous], fed)
        energies = annotations @ w["decoder.attention.score.annotation.weight"].T @ h
        c = softmax(energies) @ annotations
        fed = np.tanh(w["decoder.readout.combine.weight"] @ np.concatenate((c, h)) + w["decoder.readout.bias"])
        result.append(np.log(softmax(w["output.weight"] @ fed + w["output.bias"])[word]))
        previous = word
    return np.array(result)
