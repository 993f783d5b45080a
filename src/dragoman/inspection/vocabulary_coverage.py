"""How much of the running words a vocabulary of the most frequent ones covers, on the text itself and on other text."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import NamedTuple

SIZES = (1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 80_000, 160_000, 500_000)
"""Vocabularies that are tried, as far as there are so many words; 15,000 is that of Cho et al. 2014, 30,000 of
Bahdanau et al. 2015, 50,000 of Luong et al. 2015, 160,000 and 80,000 of Sutskever et al. 2014."""


class Point(NamedTuple):
    """Words in the vocabulary, and the share from 0 to 1 of running words that are among them."""

    size: int
    share: float


class Coverage(NamedTuple):
    """The words of one side."""

    running: int
    different: int
    once: int
    """Different words that come only once."""
    curve: list[Point]
    """The last point is all words."""
    held_out: dict[str, list[Point]]
    """The same vocabularies on other sets, by their names."""


def coverage(counts: Counter[str], held_out: dict[str, Counter[str]]) -> Coverage:
    """Words of equal counts are taken in the order of their code points, as a vocabulary would."""
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    sizes = [*(size for size in SIZES if size < len(ordered)), len(ordered)]
    return Coverage(
        counts.total(),
        len(ordered),
        sum(count == 1 for count in counts.values()),
        _curve(ordered, counts, sizes),
        {name: _curve(ordered, other, sizes) for name, other in held_out.items()},
    )


def _curve(ordered: list[str], counts: Counter[str], sizes: list[int]) -> list[Point]:
    covered = [0, *accumulate(counts[word] for word in ordered)]
    return [Point(size, covered[size] / max(1, counts.total())) for size in sizes]
