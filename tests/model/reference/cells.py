"""Recurrent cells: one step of each, in float64 numpy, nothing shared with the package.

x is what comes from below (a word vector, with input feeding the fed vector behind it), h the previous state, c the
context vector. Matrices carry the papers' names; biases, which the papers leave out of their equations, are b.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Cell = Mapping[str, Array]
"""The matrices of a cell by name."""


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gru(
    w: Cell, x: Array, h: Array, c: Array | None = None, *, reset: str, update: str, context_in_reset: bool = False
) -> Array:
    """Gated recurrent unit: Cho et al. 2014, eqs. 5 to 8 (`update` keep), Bahdanau et al. 2015, A.1.1 (write)."""
    if c is None:
        of_context = {"r": 0, "z": 0, "candidate": 0}
    else:
        of_context = {"r": w["C_r"] @ c, "z": w["C_z"] @ c, "candidate": w["C"] @ c}
    r = sigmoid(w["W_r"] @ x + w["U_r"] @ h + of_context["r"] + w["b_r"])
    z = sigmoid(w["W_z"] @ x + w["U_z"] @ h + of_context["z"] + w["b_z"])
    below = w["W"] @ x + w["b"]
    if reset == "before":  # Cho et al. 2014, eq. 8; Bahdanau et al. 2015
        new = np.tanh(below + w["U"] @ (r * h) + of_context["candidate"])
    elif context_in_reset:  # Cho et al. 2014, appendix: the decoder
        new = np.tanh(below + r * (w["U"] @ h + of_context["candidate"] + w["b_inner"]))
    else:  # the library kernels (with b_inner) and dl4mt (without)
        new = np.tanh(below + r * (w["U"] @ h + w["b_inner"]) + of_context["candidate"])
    return z * h + (1 - z) * new if update == "keep" else (1 - z) * h + z * new


def lstm(w: Cell, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """Long short-term memory: Zaremba et al. 2014; with the diagonals p not zero, Graves 2013. c is the memory."""
    i = sigmoid(w["W_i"] @ x + w["U_i"] @ h + w["p_i"] * c + w["b_i"])
    f = sigmoid(w["W_f"] @ x + w["U_f"] @ h + w["p_f"] * c + w["b_f"])
    g = np.tanh(w["W_g"] @ x + w["U_g"] @ h + w["b_g"])
    c = f * c + i * g
    o = sigmoid(w["W_o"] @ x + w["U_o"] @ h + w["p_o"] * c + w["b_o"])  # sees the new memory
    return o * np.tanh(c), c


def tanh(w: Cell, x: Array, h: Array, c: Array | None = None) -> Array:
    """The plain unit without gates, the ablation of Cho et al. 2014, section 2.3."""
    return np.tanh(w["W"] @ x + w["U"] @ h + w["b"] + (0 if c is None else w["C"] @ c))
