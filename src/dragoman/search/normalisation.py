"""Length normalisation: from the log-probability of a hypothesis to the score by which finished ones are ranked.

Every choice divides the total log-probability by a number that does not fall as the hypothesis grows:

    none    1                               Sutskever et al. 2014, Luong et al. 2015
    mean    |Y|                             Cho et al. 2014b; GroundHog's `--normalize`
    gnmt    ((5 + |Y|) / (5 + 1)) ^ alpha   Wu et al. 2016, eq. 14, with beta = 0: no coverage penalty

|Y| counts the emitted symbols, the end of sentence included (so does GroundHog; Wu et al. do not say). Scores are
used for ranking finished hypotheses and for stopping only: pruning compares hypotheses of equal length by their
log-probabilities, where a division changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.config.schema import SearchConfig

Divisor = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

DIVISORS: dict[str, Divisor] = {
    "none": lambda length, alpha: np.ones_like(length),
    "mean": lambda length, alpha: length,
    "gnmt": lambda length, alpha: ((5.0 + length) / (5.0 + 1.0)) ** alpha,
}


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One of the divisors above; `alpha` matters to `gnmt` alone."""

    name: str
    alpha: float = 0.0

    @classmethod
    def from_config(cls, config: SearchConfig) -> Normalisation:
        """The normalisation that `config` names."""
        return cls(config.normalisation, config.alpha)

    def score(self, log_probability: ArrayLike, length: ArrayLike) -> NDArray[np.float64]:
        """Scores of hypotheses of `length` symbols, end of sentence counted; shapes as numpy broadcasts them."""
        divisor = DIVISORS[self.name](np.asarray(length, dtype=np.float64), self.alpha)
        return np.asarray(log_probability, dtype=np.float64) / divisor

    def bound(self, log_probability: ArrayLike, longest: ArrayLike) -> NDArray[np.float64]:
        """The best score an unfinished hypothesis can still reach if it may grow to `longest` symbols.

        What is to come adds at most 0 to a log-probability, which is at most 0 itself, and the divisor grows with
        the length: no continuation scores above the same log-probability at the longest length.
        """
        return self.score(log_probability, longest)
