"""Lexicalised reordering: how likely a phrase pair is to go on where its neighbour ended (Tillmann 2004, Koehn 2005).

The model is what Moses calls wbe-msd-bidirectional-fe: for each phrase pair the probabilities of three orientations,
once with regard to the phrase translated before it and once to the one after it. In training the orientation is read
off the links of the words at the corners of the pair; in decoding, off the spans of two phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from dragoman.text.links import Link

Orientation = Literal[0, 1, 2]
"""Monotone, swapped, or discontinuous."""
MONOTONE: Orientation = 0
SWAPPED: Orientation = 1
DISCONTINUOUS: Orientation = 2
ORIENTATIONS = 3

SMOOTHING = 0.5
"""Added to the count of each orientation, as Moses does by default."""


def training_orientation(
    links: AbstractSet[Link], source: tuple[int, int], edge: int, *, before: bool, lengths: tuple[int, int]
) -> Orientation:
    """How a phrase pair lies beside its neighbour in the target sentence.

    `source` is the span [start, end) of its source phrase, `edge` the start of its target phrase if `before`, else the
    end. The pair follows its neighbour if the words before both phrases are linked and the one behind the source phrase
    is not, and swaps places with it in the mirrored case; the beginnings and the ends of sentences are linked.
    `lengths` are those of both sentences.
    """
    start, end = source
    neighbour = edge - 1 if before else edge
    left = _is_linked(links, start - 1, neighbour, lengths)
    right = _is_linked(links, end, neighbour, lengths)
    if left == right:
        return DISCONTINUOUS
    return MONOTONE if left == before else SWAPPED


def _is_linked(links: AbstractSet[Link], source: int, target: int, lengths: tuple[int, int]) -> bool:
    return (source, target) in links or (source, target) == (-1, -1) or (source, target) == lengths


def orientation(previous: tuple[int, int], current: tuple[int, int]) -> Orientation:
    """How the source spans [start, end) of two phrases lie that follow each other in the translation."""
    if previous[1] == current[0]:
        return MONOTONE
    return SWAPPED if current[1] == previous[0] else DISCONTINUOUS


def probabilities(counts: Sequence[float]) -> list[float]:
    """Of the three orientations, out of their counts."""
    total = sum(counts) + ORIENTATIONS * SMOOTHING
    return [(count + SMOOTHING) / total for count in counts]
