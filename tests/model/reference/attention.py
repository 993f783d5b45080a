"""Scores, scopes and readouts for one target step of one sentence, in float64 numpy, nothing shared with the package.

s (Bahdanau) or h_t (Luong) is the decoder's state, annotations are h_j, [S, W], in the order of the source text, and
positions count from 0.
"""

from __future__ import annotations

import numpy as np

from tests.model.reference.cells import Array, sigmoid


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


# Scores: the energy of the state against each annotation, [S]


def additive(s: Array, annotations: Array, w_a: Array, u_a: Array, v_a: Array) -> Array:
    """e_j = v_a^T tanh(W_a s + U_a h_j) (Bahdanau et al. 2015, A.1.2)."""
    return np.array([v_a @ np.tanh(w_a @ s + u_a @ h) for h in annotations])


def normed_additive(s: Array, annotations: Array, w_a: Array, u_a: Array, v_a: Array, g: Array, b: Array) -> Array:
    """e_j = g v_a^T / |v_a| tanh(W_a s + U_a h_j + b), the length g of v_a being a parameter of its own."""
    direction = v_a / np.sqrt((v_a**2).sum())
    return np.array([g * direction @ np.tanh(w_a @ s + u_a @ h + b) for h in annotations])


def covered_additive(
    s: Array, annotations: Array, w_a: Array, u_a: Array, v_a: Array, w_c: Array, coverage: Array
) -> Array:
    """e_j = v_a^T tanh(W_a s + U_a h_j + w_c k_j), k_j = sum of a_ij over the steps i before (Tu et al. 2016)."""
    return np.array([v_a @ np.tanh(w_a @ s + u_a @ h + w_c * k) for h, k in zip(annotations, coverage, strict=True)])


def dot(h_t: Array, annotations: Array) -> Array:
    """h_t^T h_s (Luong et al. 2015, section 3.1)."""
    return np.array([h_t @ h_s for h_s in annotations])


def scaled_dot(h_t: Array, annotations: Array) -> Array:
    """h_t^T h_s / sqrt(n) (Vaswani et al. 2017)."""
    return np.array([h_t @ h_s for h_s in annotations]) / np.sqrt(len(h_t))


def general(h_t: Array, annotations: Array, w_a: Array) -> Array:
    """h_t^T W_a h_s (Luong et al. 2015, section 3.1)."""
    return np.array([h_t @ w_a @ h_s for h_s in annotations])


def concat(h_t: Array, annotations: Array, w_a: Array, v_a: Array) -> Array:
    """v_a^T tanh(W_a [h_t; h_s]) (Luong et al. 2015, section 3.1)."""
    return np.array([v_a @ np.tanh(w_a @ np.concatenate((h_t, h_s))) for h_s in annotations])


def concat_identity(h_t: Array, annotations: Array, w_a: Array, v_a: Array) -> Array:
    """v_a^T tanh(W_a h_t + h_s): the block of W_a for h_s fixed to the identity (the runs of Luong et al. 2015)."""
    return np.array([v_a @ np.tanh(w_a @ h_t + h_s) for h_s in annotations])


# Scopes: from energies to alignment weights, [S]


def global_weights(energies: Array) -> Array:
    """A softmax over all positions (Bahdanau et al. 2015, eq. 6)."""
    return softmax(energies)


def local_m_weights(energies: Array, t: int, window: int) -> Array:
    """A softmax over [p_t - D, p_t + D], p_t = t (Luong et al. 2015, section 3.2); past the end p_t stays on the last
    position (the authors' code)."""
    centre = min(t, len(energies) - 1)
    return _softmax_over(energies, centre, window)


def local_p_weights(energies: Array, h_t: Array, w_p: Array, v_p: Array, window: int) -> Array:
    """p_t = S sigmoid(v_p^T tanh(W_p h_t)); a softmax over [p_t - D, p_t + D] times exp(-(s - p_t)^2 / (2 sigma^2)),
    sigma = D / 2, not normalised again (Luong et al. 2015, eqs. 9, 10)."""
    length = len(energies)
    p = length * sigmoid(v_p @ np.tanh(w_p @ h_t))
    weights = _softmax_over(energies, int(np.floor(p)), window)
    return np.array([weights[s] * gaussian(s, float(p), window / 2) for s in range(length)])


def gaussian(s: int, p: float, sigma: float) -> float:
    return float(np.exp(-((s - p) ** 2) / (2 * sigma**2)))


def _softmax_over(energies: Array, centre: int, window: int) -> Array:
    inside = [s for s in range(len(energies)) if centre - window <= s <= centre + window]
    weights = np.zeros(len(energies))
    weights[inside] = softmax(energies[inside])
    return weights


def location_weights(h_t: Array, length: int, w_a: Array, *, masked: bool, reads_backwards: bool) -> Array:
    """softmax(W_a h_t), W_a [S_max, n] (Luong et al. 2015, eq. 8), one slot for each position.

    The last slot is that of the last word the encoder reads: the last of the sentence, or read backwards the first.
    Of a longer sentence the first S_max positions count. The softmax is over the slots in use, or not `masked` over
    all (the authors' code of June 2015).
    """
    slots = len(w_a)
    used = min(length, slots)
    slot_of = [slots - 1 - s if reads_backwards else slots - used + s for s in range(used)]
    energies = w_a @ h_t
    weights = np.zeros(length)
    weights[:used] = softmax(energies[slot_of]) if masked else softmax(energies)[slot_of]
    return weights


# Readouts: what feeds the softmax


def maxout(t: Array) -> Array:
    """Of each adjacent pair the larger (Bahdanau et al. 2015, A.2.2)."""
    return np.array([max(t[2 * i], t[2 * i + 1]) for i in range(len(t) // 2)])


def attentional(c: Array, h_t: Array, w_c: Array, b: Array) -> Array:
    """h~_t = tanh(W_c [c_t; h_t]) (Luong et al. 2015, eq. 5)."""
    return np.tanh(w_c @ np.concatenate((c, h_t)) + b)
