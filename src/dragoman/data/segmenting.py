"""Pairs of lines to segments: here for a small corpus, by all cores once that pays, in order in any case.

Links between words become links between their segments on the way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.expansion import expand_links
from dragoman.text.corpus import Pair
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import Segments
from dragoman.text.side import raw_words

CHUNK = 1000
"""Pairs that are segmented together: enough that sending them to another process costs little."""
PATIENCE = 5.0
"""Seconds of segmenting in this process before others are started, which takes seconds of a core for each."""


@dataclass(frozen=True, slots=True)
class SegmentedLines:
    """L lines of one side, as numbers into their own list of different pieces: small to send between processes."""

    pieces: list[str]
    """Each piece once, in the order of appearance."""
    numbers: NDArray[np.uint32]
    """Which piece: uint32 [all segments of the lines, one line after the other]."""
    lengths: NDArray[np.int64]
    """Segments of each line, int64 [L]."""


@dataclass(frozen=True, slots=True)
class SegmentLinks:
    """Links between the segments of L pairs."""

    links: NDArray[np.uint32]
    """(source segment, target segment), each counted within its line: uint32 [all links, 2]."""
    lengths: NDArray[np.int64]
    """Links of each pair, int64 [L]."""


class SegmentedPairs(NamedTuple):
    """L pairs: both sides, and the links between them if the pairs came with links."""

    source: SegmentedLines
    target: SegmentedLines
    linked: SegmentLinks | None


def segment_pairs(
    pairs: Iterable[Pair], segmentations: tuple[Segmentation, Segmentation], workers: int | None = None
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    """Yield chunks of pairs with the segments of their source and target lines, in order.

    Args:
        workers: processes that segment; None for as many as there are cores. They are started only when the
            corpus turns out to be large, and the result does not depend on them.
    """
    count = workers or _cores()
    remaining = iter(pairs)
    chunks = iter(lambda: list(islice(remaining, CHUNK)), [])
    started = time.monotonic()

    def takes_long() -> bool:
        return count > 1 and time.monotonic() - started >= PATIENCE

    if (yield from _segmented_here(chunks, segmentations, takes_long)):
        # Spawned, because a fork of a process that runs threads (torch has many) may hang.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(count, context, initializer=_start_worker, initargs=(segmentations,))
        try:
            yield from _segmented_here(chunks, segmentations, _first_worker(executor).done)
            yield from _segmented_by_workers(chunks, segmentations, executor, count)
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _segmented_here(
    chunks: Iterator[list[Pair]], segmentations: tuple[Segmentation, Segmentation], enough: Callable[[], bool]
) -> Generator[tuple[list[Pair], SegmentedPairs], None, bool]:
    """Segment in this process until it is enough; return whether it was, and not the end of the corpus."""
    for chunk in chunks:
        yield chunk, _segment_chunk(segmentations, chunk)
        if enough():
            return True
    return False


def _first_worker(executor: ProcessPoolExecutor) -> Future[SegmentedPairs]:
    """Start the workers; the result is there when the first of them is ready, seconds later."""
    return _submit(executor, [])


def _segmented_by_workers(
    chunks: Iterator[list[Pair]],
    segmentations: tuple[Segmentation, Segmentation],
    executor: ProcessPoolExecutor,
    workers: int,
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    waiting: deque[tuple[list[Pair], Future[SegmentedPairs]]] = deque()
    warned = False
    while True:
        # Two chunks a worker keep all of them busy, and little in memory.
        for chunk in islice(chunks, 2 * workers - len(waiting)):
            waiting.append((chunk, _submit(executor, chunk)))
        if not waiting:
            return
        chunk, future = waiting.popleft()
        try:
            segmented = future.result()
        except BrokenProcessPool:
            if not warned:
                warnings.warn(_NO_WORKERS, stacklevel=2)
            warned = True
            segmented = _segment_chunk(segmentations, chunk)
        yield chunk, segmented


_NO_WORKERS = (
    "the processes that should segment have ended; it goes on in this one (in a script of your own, put what it does "
    'under `if __name__ == "__main__":`, so that processes can be started)'
)


def _submit(executor: ProcessPoolExecutor, chunk: list[Pair]) -> Future[SegmentedPairs]:
    try:
        return executor.submit(_segment_in_worker, chunk)
    except BrokenProcessPool as error:  # known already here, or only when the result is asked for: one way for both
        failed: Future[SegmentedPairs] = Future()
        failed.set_exception(error)
        return failed


_worker_segmentations: tuple[Segmentation, Segmentation]
"""In a worker process: sent once, when it starts, and not with every chunk."""


def _start_worker(segmentations: tuple[Segmentation, Segmentation]) -> None:
    global _worker_segmentations
    _worker_segmentations = segmentations
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent decides what it means
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot stop its workers: they watch it themselves."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _segment_in_worker(chunk: list[Pair]) -> SegmentedPairs:
    return _segment_chunk(_worker_segmentations, chunk)


def _segment_chunk(segmentations: tuple[Segmentation, Segmentation], chunk: Sequence[Pair]) -> SegmentedPairs:
    sources = [segmentations[0].segment(pair.source) for pair in chunk]
    targets = [segmentations[1].segment(pair.target) for pair in chunk]
    return SegmentedPairs(_numbered(sources), _numbered(targets), _link_segments(chunk, sources, targets))


def _numbered(lines: Iterable[Segments]) -> SegmentedLines:
    known: dict[str, int] = {}
    numbers: list[int] = []
    lengths: list[int] = []
    for pieces, _ in lines:
        lengths.append(len(pieces))
        numbers.extend(known.setdefault(piece, len(known)) for piece in pieces)
    return SegmentedLines(list(known), np.array(numbers, np.uint32), np.array(lengths, np.int64))


def _link_segments(chunk: Sequence[Pair], sources: list[Segments], targets: list[Segments]) -> SegmentLinks | None:
    if not chunk or chunk[0].links is None:
        return None
    links = [
        expand_links(pair.links or (), source.offsets, raw_words(pair.source), target.offsets, raw_words(pair.target))
        for pair, source, target in zip(chunk, sources, targets, strict=True)
    ]
    flat = np.array(list(chain.from_iterable(links)), np.uint32).reshape(-1, 2)
    return SegmentLinks(flat, np.array([len(of_pair) for of_pair in links], np.int64))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
