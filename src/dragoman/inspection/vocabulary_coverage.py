"""Vocabulary coverage: the share of running words among the most frequent ones, of the text itself and of others."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import NamedTuple

SIZES = (1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 80_000, 160_000, 500_000)
"""Vocabulary sizes that are tried, up to the number of distinct words; 15,000 is that of Cho et al. 2014, 30,000 of
Bahdanau et al. 2015, 50,000 of Luong et al. 2015, 160,000 and 80,000 of Sutskever et al. 2014."""


class Point(NamedTuple):
    """A vocabulary size, and the share of running words in that vocabulary, from 0 to 1."""

    size: int
    share: float


class VocabularyCoverage(NamedTuple):
    """Counts of the words of one side, and its coverage curve."""

    running: int
    different: int
    once: int
    """Distinct words that occur once."""
    curve: list[Point]
    """By ascending size; the last point is all words."""
    held_out: dict[str, list[Point]]
    """The curve of the same vocabularies on other sets, by their names."""

    @property
    def singleton_share(self) -> float:
        """The share of running words that occur once."""
        return self.once / max(1, self.running)


def vocabulary_coverage(counts: Counter[str], held_out: dict[str, Counter[str]]) -> VocabularyCoverage:
    """Count coverage of `counts` and of `held_out`; words of equal counts are in code point order, as in training."""
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    sizes = [*(size for size in SIZES if size < len(ordered)), len(ordered)]
    return VocabularyCoverage(
        counts.total(),
        len(ordered),
        sum(count == 1 for count in counts.values()),
        _curve(ordered, counts, sizes),
        {name: _curve(ordered, other, sizes) for name, other in held_out.items()},
    )


def _curve(ordered: list[str], counts: Counter[str], sizes: list[int]) -> list[Point]:
    covered = [0, *accumulate(counts[word] for word in ordered)]
    return [Point(size, covered[size] / max(1, counts.total())) for size in sizes]
