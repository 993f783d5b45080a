"""Ways to divide a corpus, so that a score can be shown for each part.

A slicing gives every sentence the label of its slice; whoever scores adds up the statistics of each label. Scores of
slices are corpus scores of the sentences inside, never means of sentence scores (papers.md, pitfall 25).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dragoman.text.side import raw_words

LENGTH_BINS = (0, 5, 10, 15, 20, 30, 40, 50, 60)
"""Smallest length of each bin. Fixed, so that runs and corpora can be compared; the last bin has no upper end."""


@dataclass(frozen=True, slots=True)
class Slicing:
    """A division of a corpus."""

    name: str
    """What divides it, with its unit."""
    labels: tuple[str, ...]
    """All slices, in the order in which they are shown."""
    slice_of: tuple[int, ...]
    """For each sentence the index of its label."""


def by_source_length(sources: Sequence[str]) -> Slicing:
    """Sentences by length of the source, in words between blanks of the raw line."""
    labels = (*(f"{start}-{following - 1}" for start, following in pairwise(LENGTH_BINS)), f"{LENGTH_BINS[-1]}+")
    lengths = [len(raw_words(source)) for source in sources]
    slice_of = tuple(sum(length >= start for start in LENGTH_BINS) - 1 for length in lengths)
    return Slicing("source length in words", labels, slice_of)
