"""Linear layers in ONNX graphs, as `model/linear.py` states them, and parameters as numpy arrays.

Letters: N rows, D layers side by side (the two directions of an encoder layer).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from dragoman.export.graph import Array, Graph, Value
from dragoman.model.linear import Linear

GroupRows = Callable[[Value], Value]
"""Rows of all sentences, grouped by sentence: [B*Q, n] -> [B, Q, n]."""


def array(parameter: torch.Tensor) -> Array:
    """Return the values of a parameter in float32, without a copy where it is in float32 on the CPU."""
    values: Array = parameter.detach().cpu().float().numpy()
    return values


def bias_of(linear: Linear) -> Array | None:
    """Return the bias of every output, [n_out] or [D, n_out], zero for unbiased ones; None for a layer without bias."""
    if linear.bias is None:
        return None
    bias = array(linear.bias)
    return np.concatenate((np.zeros((*bias.shape[:-1], linear.unbiased), np.float32), bias), axis=-1)


def apply(g: Graph, linear: Linear, x: Value, plus: Value | None = None, *, direction: int | None = None) -> Value:
    """Compute W x + b + plus: rows [N, n_in] -> [N, n_out]; `direction` selects one of two layers side by side."""
    weight, bias = array(linear.weight), bias_of(linear)
    if direction is not None:
        weight, bias = weight[direction], None if bias is None else bias[direction]
    return g.linear(x, weight, bias, plus)


def apply_to_sequences(g: Graph, linear: Linear, x: Value, *, direction: int | None = None) -> Value:
    """`apply` in an int8 graph for x of three dimensions: [.., .., n_in] -> [.., .., n_out]."""
    if g.is_bounded(x) or g.is_quantised(x):
        return apply(g, linear, x, direction=direction)
    rows = apply(g, linear, g.flatten(x, 2), direction=direction)  # [.., .., n_in] -> [N, n_out]
    return g.reshape(rows, g.size(x, 0), g.size(x, 1), -1)
