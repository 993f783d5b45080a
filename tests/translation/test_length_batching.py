from __future__ import annotations

import threading

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.translation import length_batching
from dragoman.translation.length_batching import LengthBatches, WorkerThreads, read_windows
from tests.streams import EndlessStream, assert_read_by_windows


def run(items, work=None, sentences=4, workers=1):
    """Items are strings; the result of one is its upper case."""
    work = work or (lambda batch: [item.upper() for item in batch])
    with WorkerThreads(workers) as threads:
        for window in read_windows(items, len):
            batches = LengthBatches(window, [len(item) for item in window], sentences, workers)
            yield from batches.restore(list(threads.map_for(batches)(work, batches)))


@pytest.fixture
def small_windows(monkeypatch):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 10)
    monkeypatch.setattr(length_batching, "WINDOW_CHARACTERS", 100)
    monkeypatch.setattr(length_batching, "BATCH_SEGMENTS", 20)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 137])
def test_results_come_in_the_order_of_the_items(count):
    random = np.random.default_rng(count)
    items = ["".join(random.choice(list("abc"), size=random.integers(0, 9))) for _ in range(count)]
    assert list(run(items)) == [item.upper() for item in items]


@pytest.mark.usefixtures("small_windows")
def test_batches_hold_items_of_like_length_within_the_limits():
    batches = []

    def work(batch):
        batches.append([len(item) for item in batch])
        return batch

    list(run(["a" * length for length in (3, 9, 1, 3, 30, 8, 2, 1, 0, 3)], work))
    assert batches == [[0, 1, 1, 2], [3, 3, 3], [8, 9], [30]]


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("count", [1, 9, 61])
def test_several_batches_at_once_give_the_same_results_in_the_same_order(count, monkeypatch):
    monkeypatch.setattr(length_batching, "MIN_BATCH_ITEMS", 2)
    items = ["abcdefghi"[: number % 10] for number in range(count)]
    assert list(run(items, sentences=4, workers=3)) == [item.upper() for item in items]


def test_a_window_is_divided_among_the_workers(monkeypatch):
    monkeypatch.setattr(length_batching, "MIN_BATCH_ITEMS", 2)
    everybody = threading.Barrier(3, timeout=60)

    def work(batch):
        everybody.wait()  # none goes on before all three have begun
        return batch

    assert list(run(["ab"] * 9, work, sentences=100, workers=3)) == ["ab"] * 9


@pytest.mark.usefixtures("small_windows")
def test_an_error_in_one_of_several_batches_ends_the_stream():
    def work(batch):
        raise InputError("line 7: no")

    with pytest.raises(InputError, match="line 7: no"):
        list(run(["a"] * 50, work, sentences=2, workers=3))


@pytest.mark.usefixtures("small_windows")
def test_no_more_is_read_ahead_than_a_window():
    stream = EndlessStream("ab")
    assert_read_by_windows(stream, run(stream), window=10, count=40)


@pytest.mark.usefixtures("small_windows")
def test_a_window_ends_early_when_its_lines_are_long():
    read = []

    def items():
        for size in (60, 60, 1, 1):
            read.append(size)
            yield "a" * size

    next(run(items()))
    assert read == [60, 60]


def test_a_window_ends_where_the_stream_pauses():
    pauses = iter([False, True, False, False])
    windows = list(read_windows("abcdef", len, max_items=2, paused=lambda: next(pauses)))
    assert windows == [["a", "b"], ["c"], ["d", "e"], ["f"]]
