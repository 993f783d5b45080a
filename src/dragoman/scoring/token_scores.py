"""Token scores: the log-probability of each segment of a given target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import refuse_nan

TokenScores = NDArray[np.float32]
"""[T + 1] natural logarithms of the probability of each target segment, then of EOS."""


def split_rows(log_probabilities: NDArray[np.float32], lengths: NDArray[np.int64]) -> list[TokenScores]:
    """The rows of a batch [B, T] without padding; `lengths` [B] count EOS.

    Raises:
        RunError: a log-probability is NaN.
    """
    refuse_nan(log_probabilities)
    # Copies: views would keep the whole batch in memory.
    return [row[:length].copy() for row, length in zip(log_probabilities, lengths, strict=True)]


def log_probability(scores: TokenScores) -> float:
    """Natural logarithm of the probability of a whole target, EOS included; summed in double precision."""
    return float(scores.sum(dtype=np.float64))


def mean_log_probability(scores: TokenScores) -> float:
    """The log-probability divided by the number of segments, EOS counted (GroundHog's normalisation)."""
    return log_probability(scores) / len(scores)
