"""Minimum Bayes risk: of several translations of a line the one that agrees most with all of them.

The expected utility of a translation is the mean of a sentence metric between it and every candidate, each weighted
with its probability, as if the candidate were the reference (Kumar and Byrne 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Utilities = Callable[[Sequence[str]], NDArray[np.float64]]
"""n texts -> [n, n]: how good each is, by row, with each, by column, taken for the reference."""


def expected_utilities(candidates: Sequence[str], weights: ArrayLike, utilities: Utilities) -> NDArray[np.float64]:
    """[n] the expected utility of each candidate; equal ones are compared once.

    `weights` [n] are those of the candidates, above 0 in sum.
    """
    place: dict[str, int] = {}
    places = np.array([place.setdefault(candidate, len(place)) for candidate in candidates])
    shares = np.bincount(places, weights=np.asarray(weights, dtype=np.float64))
    expected = utilities(list(place)) @ (shares / shares.sum())
    return np.asarray(expected[places])
