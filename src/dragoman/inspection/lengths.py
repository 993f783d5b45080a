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
        self._numbers = array("i")

    def add(self, source: str, source_words: int, target: str, target_words: int) -> None:
        """Add a pair."""
        self._numbers.extend((source_words, len(source), target_words, len(target)))

    def _columns(self) -> NDArray[np.int32]:
        """[4, pairs] words and characters of the source, then of the target."""
        return np.frombuffer(self._numbers, np.int32).reshape(-1, 4).T

    def facts(self) -> tuple[LengthFacts, LengthFacts]:
        """Summarise source and target; there must be a pair."""
        source, source_characters, target, target_characters = self._columns()
        return _facts(source, source_characters), _facts(target, target_characters)

    def ratio(self) -> LengthRatio:
        """Return the length of the target per unit of the source."""
        source_words, source, target_words, target = self._columns().sum(axis=1, dtype=np.int64).tolist()
        return LengthRatio(characters=target / max(1, source), words=target_words / max(1, source_words))

    def correlation(self) -> float:
        """Return Pearson's correlation of the lengths in characters; NaN for one pair, or lines of one length."""
        _, source, _, target = self._columns()
        varied = len(source) > 1 and source.std() > 0 and target.std() > 0
        return float(np.corrcoef(source, target)[0, 1]) if varied else float("nan")

    def longest_words(self) -> NDArray[np.int32]:
        """Return the words of the longer side, [pairs]."""
        return self._columns()[::2].max(axis=0)

    def unlikely(self) -> NDArray[np.bool_]:
        """Return, for each pair, whether one side is much longer than the other predicts, [pairs].

        The difference from the expected length, over the square root of the length (Gale and Church 1993, section
        3.3), is compared with its median absolute deviation in this corpus. Pairs with an empty side are False.
        """
        full = (self._columns()[::2] > 0).all(axis=0)
        source, target = self._columns()[1::2].astype(np.float64)
        if not full.any():
            return full
        expected = source * (target[full].sum() / source[full].sum())
        off = (target - expected) / np.sqrt(np.maximum(target + expected, 1))
        spread = 1.4826 * np.median(np.abs(off[full])) + 1e-9
        smaller, larger = np.minimum(target, expected), np.maximum(target, expected)
        return np.asarray(full & (np.abs(off) > FAR * spread) & (larger > FACTOR * smaller))


def _facts(words: NDArray[np.int32], characters: NDArray[np.int32]) -> LengthFacts:
    quantiles = (
        dict(zip(QUANTILES, np.percentile(values, QUANTILES, method="inverted_cdf").astype(int).tolist(), strict=True))
        for values in (words, characters)
    )
    return LengthFacts(*quantiles, float(words.mean()), float(characters.mean()))
