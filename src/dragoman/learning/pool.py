"""Pairs that are learnt again beside a correction, so that nothing is forgotten: pairs that are like it, and others."""

from __future__ import annotations

import random
from typing import NamedTuple

from dragoman.translation_memory.similar import SimilarTexts


class IdPair(NamedTuple):
    """A pair as ids, without EOS."""

    source: list[int]
    target: list[int]

    @property
    def longer(self) -> int:
        """Segments of the longer side."""
        return max(len(self.source), len(self.target))


class PairPool:
    """Pairs with the texts of their sources."""

    def __init__(self) -> None:
        self._index = SimilarTexts()
        self._pairs: list[IdPair] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, source: str, pair: IdPair) -> None:
        """Add a pair, or give a source that is known another target."""
        number = self._numbers.setdefault(source, len(self._pairs))
        if number < len(self._pairs):
            self._pairs[number] = pair
        else:
            self._pairs.append(pair)
            self._index.add(source)

    def like(self, source: str, count: int, longest: int) -> list[IdPair]:
        """Up to `count` pairs that share the most rare words with a source, without the pair of this source.

        None has more than `longest` segments on a side: the longest pair decides how long an update takes.
        """
        own = self._numbers.get(source)
        similar = self._index.rare_features_shared(source, 4 * count + 1)
        pairs = [self._pairs[number] for number in similar if number != own]
        return [pair for pair in pairs if pair.longer <= longest][:count]

    def unlike(self, draw: random.Random, count: int, longest: int) -> list[IdPair]:
        """Up to `count` pairs drawn at random, with at most `longest` segments on a side."""
        drawn = draw.sample(self._pairs, min(8 * count, len(self._pairs)))
        return [pair for pair in drawn if pair.longer <= longest][:count]
