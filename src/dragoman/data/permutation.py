"""Random orders of many items: those of large corpora are computed item by item and take no memory.

A keyed permutation is a Feistel network (Luby and Rackoff 1988) on pairs of numbers: item i is (i // b, i % b), and
each round adds to one of the two a number that depends on the other and on the key of the round, modulo its size. A
round can be undone, so that no two items share a place. The pairs are a few more than the items; a place that is no
item's is permuted again (cycle walking: Black and Rogaway 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Permutation = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Gives the items at some places of an order, int64 [places]."""

LARGE = 1 << 20
"""Items from which on an order is not held in memory; below it takes at most 8 MiB, and is quicker."""
_ROUNDS = 8


def draw_permutation(rng: np.random.Generator, count: int, *, large: bool | None = None) -> Permutation:
    """Draw a random order of the items 0 to `count` - 1.

    Args:
        large: whether it must not be held in memory; None for what `LARGE` says of `count`.
    """
    if count >= LARGE if large is None else large:
        return KeyedPermutation(count, rng.integers(1 << 64, size=_ROUNDS, dtype=np.uint64))
    return rng.permutation(count).__getitem__


class KeyedPermutation:
    """An order of the items 0 to `count` - 1 that depends on keys alone."""

    def __init__(self, count: int, keys: NDArray[np.uint64]) -> None:
        """`keys`: uint64 [rounds]."""
        self._count = count
        self._width = isqrt(max(count - 1, 0)) + 1
        self._height = -(-count // self._width)
        self._keys = keys

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items at `places`, int64 [places]."""
        items = self._permuted(places)
        while (outside := np.flatnonzero(items >= self._count)).size:
            items[outside] = self._permuted(items[outside])
        return items

    def _permuted(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        width, height = np.uint64(self._width), np.uint64(self._height)
        upper, lower = np.divmod(numbers.astype(np.uint64), width)
        for number, key in enumerate(self._keys):
            if number % 2:
                upper = (upper + _mixed(lower + key) % height) % height
            else:
                lower = (lower + _mixed(upper + key) % width) % width
        return (upper * width + lower).astype(np.int64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, by the last steps of SplitMix64 (Steele, Lea and Flood 2014); modulo 2^64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
