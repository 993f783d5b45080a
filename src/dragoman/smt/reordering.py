"""Lexicalised reordering: orientation probabilities of phrase pairs (Tillmann 2004; Koehn et al. 2005).

The model is Moses' wbe-msd-bidirectional-fe: for each phrase pair the probabilities of three orientations, towards the
phrase translated before it and towards the one translated after it. Training determines the orientation from the links
of the words at the corners of the pair, decoding from the spans of two phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from dragoman.text.links import Link

Orientation = Literal[0, 1, 2]
"""Monotone, swap, or discontinuous."""
MONOTONE: Orientation = 0
SWAP: Orientation = 1
DISCONTINUOUS: Orientation = 2
ORIENTATIONS = 3

SMOOTHING = 0.5
"""Added to the count of each orientation, as Moses does by default."""


def training_orientation(
    links: AbstractSet[Link], source: tuple[int, int], boundary: int, *, before: bool, lengths: tuple[int, int]
) -> Orientation:
    """Determine the orientation of a phrase pair towards the previous (`before`) or next target phrase by words.

    `source` is the span [start, end) of the source phrase, `boundary` the start of the target phrase if `before`, else
    its end, `lengths` are the lengths of both sentences. The adjacent target word decides: monotone if it is linked to
    the source word on the same side of the pair and not to the one on the other side, swap in the opposite case, else
    discontinuous. Sentence starts are linked with each other, and so are sentence ends.
    """
    start, end = source
    neighbour = boundary - 1 if before else boundary
    left = _is_linked(links, start - 1, neighbour, lengths)
    right = _is_linked(links, end, neighbour, lengths)
    if left == right:
        return DISCONTINUOUS
    return MONOTONE if left == before else SWAP


def _is_linked(links: AbstractSet[Link], source: int, target: int, lengths: tuple[int, int]) -> bool:
    return (source, target) in links or (source, target) == (-1, -1) or (source, target) == lengths


def orientation(previous: tuple[int, int], current: tuple[int, int]) -> Orientation:
    """Determine the orientation of two consecutive phrases of a translation from their source spans [start, end)."""
    if previous[1] == current[0]:
        return MONOTONE
    return SWAP if current[1] == previous[0] else DISCONTINUOUS


def probabilities(counts: Sequence[float]) -> list[float]:
    """Estimate the smoothed probabilities of the three orientations from their counts."""
    total = sum(counts) + ORIENTATIONS * SMOOTHING
    return [(count + SMOOTHING) / total for count in counts]
