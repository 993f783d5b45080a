"""Segmenting pairs of lines, in order: in this process, and on all cores once that pays.

Links between words become links between their segments.
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
"""Pairs that are segmented together: enough that the cost of sending them to another process is small."""
PATIENCE = 5.0
"""Seconds of segmenting in this process before others are started; starting one takes seconds of a core."""


@dataclass(frozen=True, slots=True)
class SegmentedLines:
    """The segments of L lines of one side, as indices into a list of distinct pieces: small to send to a process."""

    pieces: list[str]
    """Each piece once, in the order of appearance."""
    ids: NDArray[np.uint32]
    """Indices into `pieces`, line after line: uint32 [segments of all lines]."""
    lengths: NDArray[np.int64]
    """Segments of each line, int64 [L]."""


@dataclass(frozen=True, slots=True)
class SegmentLinks:
    """Links between the segments of L pairs."""

    links: NDArray[np.uint32]
    """(source segment, target segment), both from 0 within their line: uint32 [links of all pairs, 2]."""
    lengths: NDArray[np.int64]
    """Links of each pair, int64 [L]."""


class SegmentedPairs(NamedTuple):
    """The segments of L pairs, and the links between them if the pairs have links."""

    source: SegmentedLines
    target: SegmentedLines
    linked: SegmentLinks | None


def segment_pairs(
    pairs: Iterable[Pair], segmentations: tuple[Segmentation, Segmentation], workers: int | None = None
) -> Iterator[tuple[list[Pair], SegmentedPairs]]:
    """Yield chunks of pairs with their segments, in order.

    Args:
        workers: processes that segment; None for one a core. They are started only for a large corpus, and the
            result does not depend on them.
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
    """Segment in this process until `enough` or the end of the corpus; return whether it was `enough`."""
    for chunk in chunks:
        yield chunk, _segment_chunk(segmentations, chunk)
        if enough():
            return True
    return False


def _first_worker(executor: ProcessPoolExecutor) -> Future[SegmentedPairs]:
    """Start the workers; the future is done when the first of them is ready, seconds later."""
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
        # Two chunks a worker keep all workers busy with little in memory.
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
    "the processes that segment the corpus have ended, so this process segments it (in a script of your own, put the "
    'code under `if __name__ == "__main__":`, so that processes can be started)'
)


def _submit(executor: ProcessPoolExecutor, chunk: list[Pair]) -> Future[SegmentedPairs]:
    try:
        return executor.submit(_segment_in_worker, chunk)
    except BrokenProcessPool as error:  # may also be raised by result(), later: one way for both
        failed: Future[SegmentedPairs] = Future()
        failed.set_exception(error)
        return failed


_worker_segmentations: tuple[Segmentation, Segmentation]
"""In a worker process: received once, at its start, not with every chunk."""


def _start_worker(segmentations: tuple[Segmentation, Segmentation]) -> None:
    global _worker_segmentations
    _worker_segmentations = segmentations
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End the worker when the parent has ended: a killed parent cannot stop its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _segment_in_worker(chunk: list[Pair]) -> SegmentedPairs:
    return _segment_chunk(_worker_segmentations, chunk)


def _segment_chunk(segmentations: tuple[Segmentation, Segmentation], chunk: Sequence[Pair]) -> SegmentedPairs:
    sources = [segmentations[0].segment(pair.source) for pair in chunk]
    targets = [segmentations[1].segment(pair.target) for pair in chunk]
    return SegmentedPairs(_indexed(sources), _indexed(targets), _link_segments(chunk, sources, targets))


def _indexed(lines: Iterable[Segments]) -> SegmentedLines:
    known: dict[str, int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    for pieces, _ in lines:
        lengths.append(len(pieces))
        ids.extend(known.setdefault(piece, len(known)) for piece in pieces)
    return SegmentedLines(list(known), np.array(ids, np.uint32), np.array(lengths, np.int64))


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
