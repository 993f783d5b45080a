"""Segmenting pairs of lines, in order: in this process, and on all cores once that pays.

Links between words become links between their segments.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from dragoman.alignment.extract import expand_links
from dragoman.corpora.pairs import Pair
from dragoman.data.processes import map_in_processes
from dragoman.data.segment_journal import SegmentJournal
from dragoman.systems import processors
from dragoman.text.links import Link
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import SegmentedLines, SegmentedPairs, SegmentLinks, Segments, index_pieces
from dragoman.text.segmentation.normal_form import NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, mask_pair, named, segment_pair
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.words import raw_words

CHUNK = 10_000
"""Pairs that are segmented together: enough that the cost of sending them to another process, and of the pieces that
recur in each chunk, is small."""
CHUNK_CHARACTERS = 4_000_000
"""Characters of a chunk that end it, so that chunks of very long lines do not fill the memory."""
PATIENCE = 5.0
"""Seconds of segmenting in this process before others are started; starting one takes seconds of a core."""


def segment_pairs(
    pairs: Iterable[Pair],
    segmentations: tuple[Segmentation, Segmentation],
    workers: int | None = None,
    journal: SegmentJournal | None = None,
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    """Yield chunks of pairs with their segments, in order.

    Args:
        workers: processes that segment; None for one a core. They are started only for a large corpus, and the
            result does not depend on them.
        journal: has the chunks that an earlier start has segmented; the others are added to it.
    """
    segment = partial(segment_text, segmentations)
    chunks = _chunks(pairs)
    if journal is None:
        yield from _segmented_chunks(chunks, segment, workers or processors())
        return
    journal.begin(segmentations)
    try:
        for chunk in chunks:
            if (known := journal.take(chunk)) is None:
                chunks = chain((chunk,), chunks)
                break
            yield chunk, known
        else:
            return
        for chunk, segmented in _segmented_chunks(chunks, segment, workers or processors()):
            journal.append(chunk, segmented)
            yield chunk, segmented
    finally:
        journal.close()


class ChunkText(NamedTuple):
    """What is segmented of a chunk: it is sent to other processes, which need no more of the pairs."""

    sources: list[str]
    targets: list[str]
    links: list[Sequence[Link]] | None
    """Of each pair; None where no alignment was given."""

    @classmethod
    def of(cls, chunk: Sequence[Pair]) -> ChunkText:
        """The text of pairs, either all of them with links or none."""
        linked = bool(chunk) and chunk[0].links is not None
        return cls(
            [pair.source for pair in chunk],
            [pair.target for pair in chunk],
            [pair.links or () for pair in chunk] if linked else None,
        )


def _segmented_chunks(
    chunks: Iterator[list[Pair]], segment: Callable[[ChunkText], SegmentedPairs], count: int
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    """Segment chunks in this process, and in `count` others once that pays."""
    started = time.monotonic()
    for chunk in chunks:
        yield chunk, segment(ChunkText.of(chunk))
        if count > 1 and time.monotonic() - started >= PATIENCE:
            break
    else:
        return
    sent: deque[list[Pair]] = deque()

    def texts() -> Iterator[ChunkText]:
        for chunk in chunks:
            sent.append(chunk)
            yield ChunkText.of(chunk)

    for segmented in map_in_processes(segment, texts(), count, "segment the corpus"):
        yield sent.popleft(), segmented


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Cut the pairs into chunks of `CHUNK`, or fewer if they have very long lines."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == CHUNK or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def segment_text(segmentations: tuple[Segmentation, Segmentation], text: ChunkText) -> SegmentedPairs:
    """Segment the lines of a chunk, and link the segments if the lines have links."""
    if text.links is None:
        pairs = zip(text.sources, text.targets, strict=True)
        masked = [mask_pair(segmentations, *pair) for pair in pairs]
        sides = [source.text for source, _ in masked], [target.text for _, target in masked]
        source, target = (_segment_masked(*side) for side in zip(segmentations, sides, strict=True))
        return SegmentedPairs(source, target, None)
    pairs = zip(text.sources, text.targets, strict=True)
    segmented = [segment_pair(segmentations, *pair) for pair in pairs]
    sources, targets = [source for source, _ in segmented], [target for _, target in segmented]
    links = _link_segments(text, text.links, sources, targets)
    indexed = (index_pieces(line.pieces for line in side) for side in (sources, targets))
    return SegmentedPairs(next(indexed), next(indexed), links)


def _segment_masked(segmentation: Segmentation, lines: Sequence[str]) -> SegmentedLines:
    """Segment lines whose items are placeholders."""
    if isinstance(segmentation, ProtectedSegmentation):
        segmented = _segment_masked(segmentation.inner, lines)
        return replace(segmented, pieces=named(segmented.pieces))
    if isinstance(segmentation, NormalisedSegmentation):
        return _segment_masked(segmentation.inner, [segmentation.form.text(line) for line in lines])
    if isinstance(segmentation, SubwordSegmentation):  # its library takes many lines at a time
        return segmentation.segment_lines(lines)
    return index_pieces(segmentation.segment(line).pieces for line in lines)


def _link_segments(
    text: ChunkText, of_words: Sequence[Sequence[Link]], sources: list[Segments], targets: list[Segments]
) -> SegmentLinks:
    lines = zip(text.sources, text.targets, of_words, sources, targets, strict=True)
    links = [
        expand_links(between, source.offsets, raw_words(source_line), target.offsets, raw_words(target_line))
        for source_line, target_line, between, source, target in lines
    ]
    flat = np.array(list(chain.from_iterable(links)), np.uint32).reshape(-1, 2)
    return SegmentLinks(flat, np.array([len(of_pair) for of_pair in links], np.int64))
