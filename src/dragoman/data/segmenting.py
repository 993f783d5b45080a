"""Segmenting pairs of lines, in order: in this process, and on all cores once that pays.

Links between words become links between their segments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from dragoman.alignment.expansion import expand_links
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.segmented_pairs import SegmentedPairs, SegmentLinks
from dragoman.data.worker_processes import WorkerProcesses
from dragoman.text.corpus import Pair
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import SegmentedLines, Segments, index_pieces
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.words import raw_words

CHUNK = 5000
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
    segment = partial(segment_chunk, segmentations)
    chunks = _chunks(pairs)
    if journal is None:
        yield from _segmented_chunks(chunks, segment, workers or _cores())
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
        for chunk, segmented in _segmented_chunks(chunks, segment, workers or _cores()):
            journal.append(chunk, segmented)
            yield chunk, segmented
    finally:
        journal.close()


def _segmented_chunks(
    chunks: Iterator[list[Pair]], segment: Callable[[list[Pair]], SegmentedPairs], count: int
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    """Segment chunks in this process, and in `count` others once that pays."""
    started = time.monotonic()
    for chunk in chunks:
        yield chunk, segment(chunk)
        if count > 1 and time.monotonic() - started >= PATIENCE:
            break
    else:
        return
    with WorkerProcesses(segment, count, "segment the corpus") as processes:
        yield from processes.map(chunks)


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


def segment_chunk(segmentations: tuple[Segmentation, Segmentation], chunk: Sequence[Pair]) -> SegmentedPairs:
    """Segment pairs, either all of them with links or none."""
    lines = [pair.source for pair in chunk], [pair.target for pair in chunk]
    if not chunk or chunk[0].links is None:
        source, target = (_segment_lines(*side) for side in zip(segmentations, lines, strict=True))
        return SegmentedPairs(source, target, None)
    sources, targets = (
        [segmentation.segment(line) for line in side] for segmentation, side in zip(segmentations, lines, strict=True)
    )
    links = _link_segments(chunk, sources, targets)
    indexed = (index_pieces(line.pieces for line in side) for side in (sources, targets))
    return SegmentedPairs(next(indexed), next(indexed), links)


def _segment_lines(segmentation: Segmentation, lines: Sequence[str]) -> SegmentedLines:
    if isinstance(segmentation, SubwordSegmentation):  # its library takes many lines at a time
        return segmentation.segment_lines(lines)
    return index_pieces(segmentation.segment(line).pieces for line in lines)


def _link_segments(chunk: Sequence[Pair], sources: list[Segments], targets: list[Segments]) -> SegmentLinks:
    links = [
        expand_links(pair.links or (), source.offsets, raw_words(pair.source), target.offsets, raw_words(pair.target))
        for pair, source, target in zip(chunk, sources, targets, strict=True)
    ]
    flat = np.array(list(chain.from_iterable(links)), np.uint32).reshape(-1, 2)
    return SegmentLinks(flat, np.array([len(of_pair) for of_pair in links], np.int64))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
