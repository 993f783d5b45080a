"""An endless stream of items -> padded batches of like length -> answers in the order of the items.

A window of the stream is held at a time, whatever its length: it is sorted by length, worked on batch by batch, perhaps
several of them at once, and its answers are handed out in the order in which the items came. Memory does not grow with
the stream.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import Engine
from dragoman.text.side import Encoded
from dragoman.text.vocabulary import EOS, PAD, UNK

WINDOW_ITEMS = 2000
"""Items read ahead: enough for batches of nearly equal lengths."""
WINDOW_CHARACTERS = 2_000_000
"""A window ends early when its lines hold more than this."""
BATCH_SEGMENTS = 4096
"""Segments of a batch, padding counted, on its longer side."""
MANY = 8
"""Items that are worth a batch of their own, where several batches are worked on at once."""
LONGEST = 1000
"""Segments of a line that a model is given. Nothing that these models learn reaches further, and time and memory for
attention grow with the product of the two lengths."""

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_length_order(
    items: Iterable[Item],
    work: Callable[[list[Item]], Sequence[Answer]],
    *,
    length: Callable[[Item], int],
    characters: Callable[[Item], int],
    sentences: int,
    read_ahead: int | None = None,
    workers: int = 1,
) -> Iterator[Answer]:
    """Yield `work`'s answer for each item, in order; `work` sees batches of at most `sentences` items.

    It may be called by `workers` threads at once; a window is divided so that all have something to do.

    `length` is an item's segments, `characters` what it weighs in memory. A batch holds items that follow each other
    in order of length, and at most `BATCH_SEGMENTS` segments unless it is a single item. A window has `read_ahead`
    items, `WINDOW_ITEMS` if None; whoever answers as it is asked wants few.
    """
    with mapping(workers) as at_once:
        for window in _windows(items, characters, read_ahead or WINDOW_ITEMS):
            answers: dict[int, Answer] = {}
            most = min(sentences, max(MANY, -(-len(window) // workers)))
            batches = list(_batches([length(item) for item in window], most))
            each = map if len(batches) == 1 else at_once
            found = each(work, ([window[index] for index in batch] for batch in batches))
            for batch, own in zip(batches, found, strict=True):
                answers.update(zip(batch, own, strict=True))
            yield from (answers[index] for index in range(len(window)))


@contextmanager
def mapping(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, in so many threads."""
    if workers == 1:
        yield map
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool.map
    finally:  # an error or an interruption does not wait for what has not been begun
        pool.shutdown(cancel_futures=True)


def source_batch(engine: Engine, lines: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Source ids without EOS -> `source` [B, S] and `source_lengths` [B] as `engine` reads them.

    A model that reads no end of sentence is given one unknown word in place of a line without segments: a recurrent
    encoder has nothing to say of an empty sequence.
    """
    if engine.source_eos:
        return padded([[*ids, EOS] for ids in lines])
    return padded([ids or [UNK] for ids in lines])


def padded(sequences: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sequences of ids -> array [B, longest], with PAD on the right, and their lengths [B]."""
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    array = np.full((len(sequences), int(lengths.max())), PAD, dtype=np.int64)
    for row, sequence in zip(array, sequences, strict=True):
        row[: len(sequence)] = sequence
    return array, lengths


class Shortener:
    """Cuts what is too long for a model, and says so the first time."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, encoded: Encoded, place: str) -> Encoded:
        """The first `LONGEST` segments of a line; `place` is what a warning calls it."""
        segments = len(encoded.ids)
        if segments <= LONGEST:
            return encoded
        if not self._said:
            log.warning(
                "%s has %d segments; of such a line only the first %d are used (said once)", place, segments, LONGEST
            )
            self._said = True
        return Encoded(encoded.ids[:LONGEST], encoded.pieces[:LONGEST], encoded.offsets[:LONGEST])


def _windows(items: Iterable[Item], characters: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Cut the stream; never reads further than the window it is about to yield."""
    window: list[Item] = []
    weight = 0
    for item in items:
        window.append(item)
        weight += characters(item)
        if len(window) == most or weight > WINDOW_CHARACTERS:
            yield window
            window, weight = [], 0
    if window:
        yield window


def _batches(lengths: Sequence[int], sentences: int) -> Iterator[list[int]]:
    """Indices into `lengths`, shortest first, cut into batches."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == sentences or (len(batch) + 1) * lengths[index] > BATCH_SEGMENTS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
