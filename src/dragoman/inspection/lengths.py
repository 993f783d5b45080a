"""Lengths of lines, and pairs whose lengths differ too much for translations of each other."""

from __future__ import annotations

from array import array

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

QUANTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
"""Percentages of the lines for which the longest length is reported."""

FAR = 8.0
"""Robust standard deviations from the expected length from which on a pair is reported."""

FACTOR = 2.0
"""The factor that must lie between actual and expected length as well: in a clean corpus deviations are small."""


class LengthFacts(Struct, frozen=True):
    """Lengths of one side, in words as `split_words` counts them and in characters."""

    words: dict[int, int]
    """Percentage -> words."""
    characters: dict[int, int]
    mean_words: float
    mean_characters: float


class LengthRatio(Struct, frozen=True):
    """Length of the target per unit of the source."""

    characters: float
    words: float


class Lengths:
    """The lengths of both sides of every pair, 16 bytes each."""

    def __init__(self) -> None:
        self._columns = tuple(array("i") for _ in range(4))

    def add(self, source: str, source_words: int, target: str, target_words: int) -> None:
        """Add a pair."""
        for column, value in zip(self._columns, (source_words, len(source), target_words, len(target)), strict=True):
            column.append(value)

    def _column(self, column: int) -> NDArray[np.int32]:
        return np.frombuffer(self._columns[column], np.int32) if self._columns[column] else np.zeros(0, np.int32)

    def facts(self) -> tuple[LengthFacts, LengthFacts]:
        """Summarise source and target; there must be a pair."""
        return self._side(0), self._side(2)

    def _side(self, column: int) -> LengthFacts:
        words, characters = self._column(column), self._column(column + 1)
        return LengthFacts(_quantiles(words), _quantiles(characters), float(words.mean()), float(characters.mean()))

    def ratio(self) -> LengthRatio:
        """Return the length of the target per unit of the source."""
        words, characters = (
            float(self._column(column + 2).sum() / max(1, self._column(column).sum())) for column in (0, 1)
        )
        return LengthRatio(characters, words)

    def correlation(self) -> float:
        """Return Pearson's correlation of the lengths in characters; NaN for one pair, or lines of one length."""
        source, target = self._column(1), self._column(3)
        varied = len(source) > 1 and source.std() > 0 and target.std() > 0
        return float(np.corrcoef(source, target)[0, 1]) if varied else float("nan")

    def longest_words(self) -> NDArray[np.int32]:
        """Return the words of the longer side, [pairs]."""
        return np.maximum(self._column(0), self._column(2))

    def unlikely(self) -> NDArray[np.bool_]:
        """Return, for each pair, whether one side is much longer than the other predicts, [pairs].

        The difference from the expected length, over the square root of the length (Gale and Church 1993, section
        3.3), is compared with its median absolute deviation in this corpus. Pairs with an empty side are False.
        """
        source, target = self._column(1).astype(np.float64), self._column(3).astype(np.float64)
        full = (self._column(0) > 0) & (self._column(2) > 0)
        if not full.any():
            return full
        expected = source * (target[full].sum() / source[full].sum())
        off = (target - expected) / np.sqrt(np.maximum(target + expected, 1))
        spread = 1.4826 * np.median(np.abs(off[full])) + 1e-9
        smaller, larger = np.minimum(target, expected), np.maximum(target, expected)
        return np.asarray(full & (np.abs(off) > FAR * spread) & (larger > FACTOR * smaller))


def _quantiles(values: NDArray[np.int32]) -> dict[int, int]:
    quantiles = np.percentile(values, QUANTILES, method="inverted_cdf")
    return {percent: int(value) for percent, value in zip(QUANTILES, quantiles, strict=True)}
