"""The coverage penalty of Wu et al. 2016, eq. 14: a translation should have looked at every word of the source.

    cp(X; Y) = sum over source segments i of log(min(sum over steps j of a_ij, 1))

The steps are those of all emitted symbols, the end of sentence included; the source's own end of sentence is no word
and is left out. A segment that got less than `LEAST` weight in all counts as if it had got that: with a local window
some get none, and the logarithm of 0 would make all hypotheses equal.

Letters: B sentences of a batch, S source length, R rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError

LEAST = 1e-3


class Coverage:
    """The weight that each live hypothesis has given to each source segment, step by step."""

    def __init__(self, weight: float, segments: NDArray[np.int64]) -> None:
        """`segments` [B] are the columns of the attention that count; without `weight` nothing is remembered."""
        self._weight = weight
        self._segments = segments
        self._given: NDArray[np.float64] | None = None

    def penalties(
        self, sentences: NDArray[np.int64], parents: NDArray[np.int64], attention: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:
        """[R] weight times cp of each row if it ended after this step, whose `attention` is [R, S].

        Raises:
            ConfigError: the model has no attention.
        """
        if not self._weight:
            return np.zeros(len(parents))
        if attention is None:
            raise ConfigError(
                "coverage_penalty: the model has no attention, so it covers nothing; set search.coverage_penalty to 0"
            )
        before = 0.0 if self._given is None else self._given[parents]
        self._given = before + attention.astype(np.float64)
        counts = np.arange(attention.shape[1]) < self._segments[sentences][:, None]
        logarithms = np.log(np.clip(self._given, LEAST, 1.0))
        return np.asarray(self._weight * np.where(counts, logarithms, 0.0).sum(axis=1))
