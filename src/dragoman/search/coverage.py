"""The coverage penalty of Wu et al. 2016, eq. 14: a translation should attend to every word of the source.

    cp(X; Y) = sum over source segments i of log(min(sum over steps j of a_ij, 1))

The steps are those of all emitted symbols, EOS included; the EOS of the source is no word and is left out. The total
weight of a segment counts as at least `MIN_WEIGHT`: with local attention some segments get none, and the logarithm of
0 would make all hypotheses equal.

Letters: B sentences of a batch, S source length, R rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError

MIN_WEIGHT = 1e-3


class CoveragePenalty:
    """The total attention of each live hypothesis to each source segment, step by step."""

    def __init__(self, weight: float, segments: NDArray[np.int64]) -> None:
        """`weight` is beta, not 0; `segments` [B] are the columns of the attention that count."""
        self._weight = weight
        self._segments = segments
        self._total: NDArray[np.float64] | None = None

    def penalties(
        self, sentences: NDArray[np.int64], parents: NDArray[np.int64], attention: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:
        """[R] beta cp of each row if it ended after this step, whose `attention` is [R, S].

        Raises:
            ConfigError: the model has no attention.
        """
        if attention is None:
            raise ConfigError(
                "coverage_penalty: the model has no attention to penalise; set search.coverage_penalty to 0"
            )
        before = 0.0 if self._total is None else self._total[parents]
        self._total = before + attention.astype(np.float64)
        counts = np.arange(attention.shape[1]) < self._segments[sentences][:, None]
        logarithms = np.log(np.clip(self._total, MIN_WEIGHT, 1.0))
        return np.asarray(self._weight * np.where(counts, logarithms, 0.0).sum(axis=1))
