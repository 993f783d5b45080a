"""From the log-probability of a hypothesis to the score that ranks finished ones: normalisation, coverage penalty.

    score = log-probability / divisor(|Y|) - w |Y| + beta cp

with one of these divisors, which never fall as the hypothesis grows:

    none    1                               Sutskever et al. 2014, Luong et al. 2015
    mean    |Y|                             Cho et al. 2014b; GroundHog's `--normalize`
    gnmt    ((5 + |Y|) / (5 + 1)) ^ alpha   Wu et al. 2016, eq. 14
    power   |Y| ^ alpha                     with w: cost / |Y|^p + w |Y|, the code of Jean et al. 2015

|Y| counts the emitted symbols, EOS included (so does GroundHog; Wu et al. do not state it). A positive w
makes outputs shorter, a negative one is the word reward of log-linear systems. cp is the coverage penalty of Wu et
al. (`CoveragePenalty`), never above 0. Scores are used for ranking finished hypotheses and for stopping only: pruning
compares hypotheses of equal length by their log-probabilities, where divisor and w change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError

Divisor = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

DIVISORS: dict[str, Divisor] = {
    "none": lambda length, alpha: np.ones_like(length),
    "mean": lambda length, alpha: length,
    "gnmt": lambda length, alpha: ((5.0 + length) / (5.0 + 1.0)) ** alpha,
    "power": lambda length, alpha: length**alpha,
}


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One of the divisors above; `alpha` matters to `gnmt` and `power` alone."""

    name: str
    alpha: float = 0.0
    word_penalty: float = 0.0
    """w"""

    @classmethod
    def from_config(cls, config: SearchConfig) -> Normalisation:
        """The normalisation of a configuration."""
        return cls(config.normalisation, config.alpha, config.word_penalty)

    def score(self, log_probability: ArrayLike, length: ArrayLike) -> NDArray[np.float64]:
        """Scores of hypotheses of `length` symbols, EOS counted, without coverage; shapes broadcast as in numpy."""
        symbols = np.asarray(length, dtype=np.float64)
        return self._divided(log_probability, symbols) - self.word_penalty * symbols

    def bound(self, log_probability: ArrayLike, longest: ArrayLike, shortest: ArrayLike = 1) -> NDArray[np.float64]:
        """A score that no unfinished hypothesis can exceed if it ends with `shortest` to `longest` symbols.

        Further symbols add at most 0 to a log-probability, which is at most 0 itself, and the divisor grows with the
        length: no quotient is above that of the same log-probability at the longest length. The length penalty is
        smallest at one of the two ends, and the coverage penalty is at most 0.
        """
        longest, shortest = np.asarray(longest, dtype=np.float64), np.asarray(shortest, dtype=np.float64)
        length_penalty = np.minimum(self.word_penalty * shortest, self.word_penalty * longest)
        return self._divided(log_probability, longest) - length_penalty

    def _divided(self, log_probability: ArrayLike, length: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(log_probability, dtype=np.float64) / DIVISORS[self.name](length, self.alpha)


MIN_WEIGHT = 1e-3
"""The least total attention of a segment in the coverage penalty."""


class CoveragePenalty:
    """The coverage penalty of Wu et al. 2016, eq. 14: a translation should attend to every word of the source.

        cp(X; Y) = sum over source segments i of log(min(sum over steps j of a_ij, 1))

    The steps are those of all emitted symbols, EOS included; the EOS of the source is no word and is left out. The
    total weight of a segment counts as at least `MIN_WEIGHT`: with local attention some segments get none, and the
    logarithm of 0 would make all hypotheses equal. The total attention of each live hypothesis to each source segment
    is kept, step by step. B sentences of a batch, S source length, R rows.
    """

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
