"""Quantisation to int8: the scheme, and the part of it that is computed when a graph is written.

The graph holds embeddings quantised with one scale for each row, and products take them as they are. Other rows x on
the left side of a product are quantised at run time. Those that lie in [-1, 1] and use most of this range (states of
most cells, results of tanh, averages of such values) have the fixed scale 1/127: round(127 x) is one operator. All
others have a scale for each row: round(127 x / max|x|). Each column of a weight has its own scale. Products are exact,
in int32.

The scale of a row depends on this row alone. With one scale for a whole batch, the result of a sentence would depend on
the sentences beside it. Weights are limited to -63 ... 63, because processors without VNNI add two products in 16 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROW_LEVELS, WEIGHT_LEVELS = 127, 63
"""The largest quantised absolute value of rows on the left side of a product, and of weights."""
ZERO_POINT = 128
"""The uint8 value that stands for 0."""
SMALLEST_MAXIMUM = np.float32(1e-30)
"""A lower bound of max|x|: a row of zeros has a scale, too."""


def quantise_columns(weight: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise W [n_out, n_in] to int8 columns [n_in, n_out] and scales [n_out], for `Graph.quantised_matmul`."""
    quantised, scales = _quantise_rows(weight, WEIGHT_LEVELS)
    return np.ascontiguousarray(quantised.T), scales


def quantise_table(table: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Quantise embeddings [V, E] to uint8 [V, E] around the zero point, and the scale of each row [V, 1]."""
    quantised, scales = _quantise_rows(table, ROW_LEVELS)
    return (quantised.astype(np.int16) + ZERO_POINT).astype(np.uint8), scales[:, None]


def _quantise_rows(matrix: NDArray[Any], levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix [n, m] as integers from -levels to levels, and the scale of each row [n]."""
    scale = np.maximum(np.abs(matrix).max(axis=1), SMALLEST_MAXIMUM) / levels
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)
