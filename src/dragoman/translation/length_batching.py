"""Batches of similar length from a stream of items, with results in the order of the items.

The stream is read window by window: a window is sorted by length, computed in batches, several at once with several
workers, and its results are restored to the order of its items. Memory does not grow with the stream:

    with WorkerThreads(workers) as threads:
        for window in read_windows(items, len):
            batches = LengthBatches(window, [len(item) for item in window], 64, threads.workers)
            yield from batches.restore(list(threads.map_for(batches)(compute, batches)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, TypeVar

WINDOW_ITEMS = 2000
"""Items read ahead: enough for batches of nearly equal lengths."""
WINDOW_CHARACTERS = 2_000_000
"""The largest number of characters in a window of lines."""
BATCH_SEGMENTS = 4096
"""Segments of a batch on its longer side, padding included."""
MIN_BATCH_ITEMS = 8
"""Items that are worth a batch of their own, where several batches are computed at once."""

WindowItem = TypeVar("WindowItem")
ItemResult = TypeVar("ItemResult")


def read_windows(
    items: Iterable[WindowItem],
    weight: Callable[[WindowItem], int],
    *,
    max_items: int | None = None,
    max_weight: int | None = None,
    paused: Callable[[], bool] | None = None,
) -> Iterator[list[WindowItem]]:
    """Cut a stream into windows of `max_items`, fewer where the sum of their `weight` reaches `max_weight` before.

    None stands for `WINDOW_ITEMS` and `WINDOW_CHARACTERS`. The stream is never read further than the window that is
    about to be yielded. A window also ends where `paused` says that the next item would have to be waited for.
    """
    max_items, max_weight = max_items or WINDOW_ITEMS, max_weight or WINDOW_CHARACTERS
    window: list[WindowItem] = []
    total = 0
    for item in items:
        window.append(item)
        total += weight(item)
        if len(window) == max_items or total >= max_weight or (paused is not None and paused()):
            yield window
            window, total = [], 0
    if window:
        yield window


class LengthBatches(Generic[WindowItem]):
    """The items of a window in batches of similar length, shortest first.

    A batch has at most `max_items`, and at most `BATCH_SEGMENTS` segments unless it is a single item. With several
    `workers` the window is divided so that all of them have a batch to compute.
    """

    def __init__(self, items: Sequence[WindowItem], lengths: Sequence[int], max_items: int, workers: int = 1) -> None:
        """`lengths` are the segments of each item."""
        self._items = items
        max_items = min(max_items, max(MIN_BATCH_ITEMS, -(-len(items) // workers)))
        self._indices = list(_cut(lengths, max_items))

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[list[WindowItem]]:
        return ([self._items[index] for index in batch] for batch in self._indices)

    def restore(self, results: Sequence[Sequence[ItemResult]]) -> list[ItemResult]:
        """The results of each batch, one for each of its items, in the order of the items of the window."""
        by_index: dict[int, ItemResult] = {}
        for batch, own in zip(self._indices, results, strict=True):
            by_index.update(zip(batch, own, strict=True))
        return [by_index[index] for index in range(len(self._items))]


def _cut(lengths: Sequence[int], max_items: int) -> Iterator[list[int]]:
    """Indices into `lengths`, shortest first, cut into batches."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == max_items or (len(batch) + 1) * lengths[index] > BATCH_SEGMENTS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class WorkerThreads:
    """Threads that compute batches; with one worker, batches are computed in the calling thread."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def __enter__(self) -> WorkerThreads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:  # after an error or an interruption, batches that have not begun are cancelled
            self._pool.shutdown(cancel_futures=True)

    def map_for(self, batches: Sized) -> Callable[..., Iterable[Any]]:
        """`map` over these batches: the built-in one where there is a single batch or a single worker."""
        return map if self._pool is None or len(batches) == 1 else self._pool.map
