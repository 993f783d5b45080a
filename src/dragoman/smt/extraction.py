"""Which phrase pairs an aligned sentence pair has: those that its links do not contradict (Koehn et al. 2003).

A pair of spans is consistent if no link leads from inside one of them to outside the other, and at least one lies
inside both. Words without a link may stand at the edges of either phrase, so that one link can give several pairs. The
limits are those of Moses' program `extract`, and a pair that stands several times in a sentence counts as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.smt.reordering import Orientation, training_orientation
from dragoman.text.links import Link


class PhrasePair(NamedTuple):
    """Spans [start, end) of a phrase pair in its sentence pair, and how the phrases beside it in the target lie."""

    source: tuple[int, int]
    target: tuple[int, int]
    previous: Orientation
    """Orientation with regard to what stands before the target phrase."""
    following: Orientation
    """The same for what stands behind it."""


def consistent_pairs(source_length: int, target_length: int, links: Sequence[Link], limit: int) -> Iterator[PhrasePair]:
    """The phrase pairs of one sentence pair, by target span; `limit` words of either phrase at most."""
    sources_of, targets_of = _neighbours(source_length, target_length, links)
    linked = set(links)
    for start in range(target_length):
        first, last = source_length, -1
        lowest, highest = target_length, -1  # target words that the source words so far have links to
        for end in range(start, min(target_length, start + limit)):
            for source in sources_of[end]:
                first, last = min(first, source), max(last, source)
            if last < 0 or last - first >= limit:
                continue
            inside = [target for source in range(first, last + 1) for target in targets_of[source]]
            lowest, highest = min(inside), max(inside)
            if lowest < start or highest > end:
                continue
            for span in _with_free_edges(first, last, targets_of, limit):
                yield PhrasePair(
                    span,
                    (start, end + 1),
                    training_orientation(linked, span, start, before=True, lengths=(source_length, target_length)),
                    training_orientation(linked, span, end + 1, before=False, lengths=(source_length, target_length)),
                )


def _neighbours(
    source_length: int, target_length: int, links: Sequence[Link]
) -> tuple[list[list[int]], list[list[int]]]:
    """The source words of each target word, and the target words of each source word."""
    sources_of: list[list[int]] = [[] for _ in range(target_length)]
    targets_of: list[list[int]] = [[] for _ in range(source_length)]
    for source, target in links:
        sources_of[target].append(source)
        targets_of[source].append(target)
    return sources_of, targets_of


def _with_free_edges(
    first: int, last: int, targets_of: Sequence[Sequence[int]], limit: int
) -> Iterator[tuple[int, int]]:
    """Source spans [start, end) from `first` to `last` and outward over words without a link."""
    start = first
    while start >= 0 and start > last - limit and (start == first or not targets_of[start]):
        end = last
        while end < len(targets_of) and end < start + limit and (end == last or not targets_of[end]):
            yield start, end + 1
            end += 1
        start -= 1
