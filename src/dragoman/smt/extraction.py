"""Phrase extraction: the phrase pairs consistent with the word alignment of a sentence pair (Koehn et al. 2003).

A pair of spans is consistent if no link leads from inside one of them to outside the other, and at least one link lies
inside both. Phrases may be extended over unaligned words at their edges, so that one link can give several pairs. The
limits are those of Moses' program `extract`; a pair that occurs several times in a sentence counts each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.smt.reordering import Orientation, training_orientation
from dragoman.text.links import Link


class ExtractedPhrase(NamedTuple):
    """Spans [start, end) of a phrase pair in its sentence pair, with its orientations."""

    source: tuple[int, int]
    target: tuple[int, int]
    previous: Orientation
    """Orientation towards the previous target phrase."""
    following: Orientation
    """Orientation towards the next target phrase."""


def consistent_pairs(
    source_length: int, target_length: int, links: Sequence[Link], limit: int
) -> Iterator[ExtractedPhrase]:
    """Yield the phrase pairs of one sentence pair by target span, with at most `limit` words on either side."""
    sources_of, targets_of = _linked_words(source_length, target_length, links)
    linked = set(links)
    for start in range(target_length):
        first, last = source_length, -1
        lowest, highest = target_length, -1  # range of the target words linked to the source span
        for end in range(start, min(target_length, start + limit)):
            for source in sources_of[end]:
                first, last = min(first, source), max(last, source)
            if last < 0 or last - first >= limit:
                continue
            inside = [target for source in range(first, last + 1) for target in targets_of[source]]
            lowest, highest = min(inside), max(inside)
            if lowest < start or highest > end:
                continue
            for span in _extended_spans(first, last, targets_of, limit):
                yield ExtractedPhrase(
                    span,
                    (start, end + 1),
                    training_orientation(linked, span, start, before=True, lengths=(source_length, target_length)),
                    training_orientation(linked, span, end + 1, before=False, lengths=(source_length, target_length)),
                )


def _linked_words(
    source_length: int, target_length: int, links: Sequence[Link]
) -> tuple[list[list[int]], list[list[int]]]:
    """The source words linked to each target word, and the target words linked to each source word."""
    sources_of: list[list[int]] = [[] for _ in range(target_length)]
    targets_of: list[list[int]] = [[] for _ in range(source_length)]
    for source, target in links:
        sources_of[target].append(source)
        targets_of[source].append(target)
    return sources_of, targets_of


def _extended_spans(
    first: int, last: int, targets_of: Sequence[Sequence[int]], limit: int
) -> Iterator[tuple[int, int]]:
    """Source spans [start, end) that contain `first` to `last`, extended over unaligned words on both sides."""
    start = first
    while start >= 0 and start > last - limit and (start == first or not targets_of[start]):
        end = last
        while end < len(targets_of) and end < start + limit and (end == last or not targets_of[end]):
            yield start, end + 1
            end += 1
        start -= 1
