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
        self._words = array("i"), array("i")
        """Of sources and of targets; so are the characters."""
        self._characters = array("i"), array("i")

    def add(self, source: str, source_words: int, target: str, target_words: int) -> None:
        """Add a pair."""
        for side, (line, words) in enumerate(((source, source_words), (target, target_words))):
            self._words[side].append(words)
            self._characters[side].append(len(line))

    def facts(self) -> tuple[LengthFacts, LengthFacts]:
        """Summarise source and target; there must be a pair."""
        source, target = (
            LengthFacts(_quantiles(words), _quantiles(characters), float(words.mean()), float(characters.mean()))
            for words, characters in zip(_arrays(self._words), _arrays(self._characters), strict=True)
        )
        return source, target

    def ratio(self) -> LengthRatio:
        """Return the length of the target per unit of the source."""
        characters, words = (
            float(target.sum() / max(1, source.sum()))
            for source, target in (_arrays(self._characters), _arrays(self._words))
        )
        return LengthRatio(characters, words)

    def correlation(self) -> float:
        """Return Pearson's correlation of the lengths in characters; NaN for one pair, or lines of one length."""
        source, target = _arrays(self._characters)
        varied = len(source) > 1 and source.std() > 0 and target.std() > 0
        return float(np.corrcoef(source, target)[0, 1]) if varied else float("nan")

    def longest_words(self) -> NDArray[np.int32]:
        """Return the words of the longer side, [pairs]."""
        return np.maximum(*_arrays(self._words))

    def unlikely(self) -> NDArray[np.bool_]:
        """Return, for each pair, whether one side is much longer than the other predicts, [pairs].

        The difference from the expected length, over the square root of the length (Gale and Church 1993, section
        3.3), is compared with its median absolute deviation in this corpus. Pairs with an empty side are False.
        """
        source, target = (lengths.astype(np.float64) for lengths in _arrays(self._characters))
        source_words, target_words = _arrays(self._words)
        full = (source_words > 0) & (target_words > 0)
        if not full.any():
            return full
        expected = source * (target[full].sum() / source[full].sum())
        off = (target - expected) / np.sqrt(np.maximum(target + expected, 1))
        spread = 1.4826 * np.median(np.abs(off[full])) + 1e-9
        smaller, larger = np.minimum(target, expected), np.maximum(target, expected)
        return np.asarray(full & (np.abs(off) > FAR * spread) & (larger > FACTOR * smaller))


def _arrays(sides: tuple[array[int], array[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The lengths of sources and of targets, [pairs] each."""
    source, target = (np.frombuffer(side, np.int32) if side else np.zeros(0, np.int32) for side in sides)
    return source, target


def _quantiles(values: NDArray[np.int32]) -> dict[int, int]:
    quantiles = np.percentile(values, QUANTILES, method="inverted_cdf")
    return {percent: int(value) for percent, value in zip(QUANTILES, quantiles, strict=True)}
