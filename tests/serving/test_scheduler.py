"""The scheduler: every sentence once, in turn for all requests, in batches of similar length."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from dragoman.serving.responses import Refusal
from dragoman.serving.scheduler import (
    BATCH_SECONDS,
    FIRST_LIMIT,
    LARGEST_SHARE,
    LEAST_CHARACTERS,
    Lane,
    Scheduler,
    Task,
)


class Computer:
    """Computes upper case, one batch at a time when it is let; remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.permits = threading.Semaphore(0)

    def __call__(self, texts: list[str]) -> Sequence[str]:
        assert self.permits.acquire(timeout=30)
        self.batches.append(texts)
        if "bad" in texts:
            raise ValueError("bad")
        return [text.upper() for text in texts]


def _task(compute: Computer, lane: Lane, key: object = "one") -> Task:
    return Task(lane, key, compute, lambda text: f"{text}!", rows=1)


def test_requests_share_batches_and_each_gets_its_own_answers() -> None:
    async def run() -> None:
        compute, scheduler = Computer(), Scheduler(1, 100)
        task = _task(compute, Lane(1))
        first = asyncio.create_task(scheduler.run(task, ["first"]))
        await asyncio.sleep(0)  # alone in the first batch
        others = [asyncio.create_task(scheduler.run(task, [f"a{n}", f"b{n}"])) for n in range(3)]
        await asyncio.sleep(0)
        compute.permits.release(2)
        assert await first == ["FIRST!"]
        assert await asyncio.gather(*others) == [[f"A{n}!", f"B{n}!"] for n in range(3)]
        assert [len(batch) for batch in compute.batches] == [1, 6]
        assert scheduler.waiting == 0
        assert await scheduler.run(task, []) == []
        scheduler.close()

    asyncio.run(run())


def test_a_long_request_does_not_hold_up_a_short_one() -> None:
    async def run() -> None:
        compute, scheduler, lane = Computer(), Scheduler(1, 10_000), Lane(1)
        long = asyncio.create_task(scheduler.run(_task(compute, lane), ["word " * 100] * 50))
        await asyncio.sleep(0)
        short = asyncio.create_task(scheduler.run(_task(compute, lane, "other"), ["hello"]))
        await asyncio.sleep(0)
        compute.permits.release(3)  # one batch of the long request has begun, and one more is its turn
        assert await short == ["HELLO!"]
        assert not long.done()
        compute.permits.release(100)
        assert len(await long) == 50
        scheduler.close()

    asyncio.run(run())


def test_a_batch_has_sentences_of_similar_length_within_its_limit() -> None:
    async def run() -> None:
        compute, scheduler = Computer(), Scheduler(1, 10_000)
        compute.permits.release(1000)
        texts = [chr(97 + n % 26) * (1 + n * 37 % 500) for n in range(200)]
        assert await scheduler.run(_task(compute, Lane(1)), texts) == [f"{text.upper()}!" for text in texts]
        assert sorted(text for batch in compute.batches for text in batch) == sorted(texts)
        first = compute.batches[0]
        assert len(first) > 1
        assert max(map(len, first)) * len(first) <= FIRST_LIMIT
        for batch in compute.batches:
            between = [text for text in texts if min(map(len, batch)) < len(text) < max(map(len, batch))]
            assert set(between) <= {
                text for other in compute.batches[: compute.batches.index(batch) + 1] for text in other
            }
        scheduler.close()

    asyncio.run(run())


def test_the_limit_follows_the_measured_speed() -> None:
    lane = Lane(1)
    for _ in range(50):
        lane.measured(1000, 0.01)
    assert lane.limit() == pytest.approx(1000 * BATCH_SECONDS / 0.01, rel=0.01)
    lane.measured(1, 60)  # a stall of the machine
    assert lane.limit() > 1000


def test_sentences_gather_however_slow_single_ones_were() -> None:
    async def run() -> None:
        compute, scheduler, lane = Computer(), Scheduler(1, 100), Lane(1)
        for _ in range(50):
            lane.measured(1, 10.0)
        compute.permits.release(1000)
        first = asyncio.create_task(scheduler.run(_task(compute, lane), ["x" * 20]))
        await asyncio.sleep(0)
        assert len(await scheduler.run(_task(compute, lane), ["y" * 20] * LEAST_CHARACTERS)) == LEAST_CHARACTERS
        assert await first == ["X" * 20 + "!"]
        assert len(compute.batches[1]) == LEAST_CHARACTERS // 20
        scheduler.close()

    asyncio.run(run())


def test_sentences_of_a_cancelled_request_are_dropped() -> None:
    async def run() -> None:
        compute, scheduler, lane = Computer(), Scheduler(1, 100), Lane(1)
        running = asyncio.create_task(scheduler.run(_task(compute, lane), ["running"]))
        await asyncio.sleep(0)
        gone = asyncio.create_task(scheduler.run(_task(compute, lane), ["gone", "too"]))
        await asyncio.sleep(0)
        assert scheduler.waiting == 2
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert scheduler.waiting == 0
        compute.permits.release(2)
        assert await running == ["RUNNING!"]
        assert await scheduler.run(_task(compute, lane), ["next"]) == ["NEXT!"]
        assert compute.batches == [["running"], ["next"]]
        scheduler.close()

    asyncio.run(run())


def test_an_error_reaches_only_the_request_that_caused_it() -> None:
    async def run() -> None:
        compute, scheduler = Computer(), Scheduler(1, 100)
        task = _task(compute, Lane(1))
        blocking = asyncio.create_task(scheduler.run(task, ["x"]))
        await asyncio.sleep(0)
        good, bad = (asyncio.create_task(scheduler.run(task, [text])) for text in ("good", "bad"))
        await asyncio.sleep(0)
        compute.permits.release(10)
        assert await blocking == ["X!"]
        assert await good == ["GOOD!"]
        with pytest.raises(ValueError, match="bad"):
            await bad
        scheduler.close()

    asyncio.run(run())


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    async def run() -> None:
        compute, scheduler, lane = Computer(), Scheduler(1, 2), Lane(1)
        tasks = [asyncio.create_task(scheduler.run(_task(compute, lane), texts)) for texts in (["a"], ["b", "c"])]
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await scheduler.run(_task(compute, lane), ["d"])
        assert refused.value.status == 503
        assert 1 <= (refused.value.retry_after or 0) <= 60
        compute.permits.release(10)
        assert await asyncio.gather(*tasks) == [["A!"], ["B!", "C!"]]
        scheduler.close()

    asyncio.run(run())


def test_one_large_request_does_not_fill_the_queue() -> None:
    async def run() -> None:
        compute, scheduler, lane = Computer(), Scheduler(1, 2 * LARGEST_SHARE), Lane(1)
        large = asyncio.create_task(scheduler.run(_task(compute, lane), ["word"] * 5000))
        await asyncio.sleep(0)
        small = asyncio.create_task(scheduler.run(_task(compute, lane), ["hello"]))
        await asyncio.sleep(0)
        assert scheduler.waiting > 2 * LARGEST_SHARE
        compute.permits.release(3)  # one batch of the large request has begun, and one more is its turn
        assert await small == ["HELLO!"]
        assert not large.done()
        second = asyncio.create_task(scheduler.run(_task(compute, lane), ["word"] * 5000))
        await asyncio.sleep(0)
        with pytest.raises(Refusal):
            await scheduler.run(_task(compute, lane), ["hello"])
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        compute.permits.release(10_000)
        assert await scheduler.run(_task(compute, lane), ["hello"]) == ["HELLO!"]
        assert len(await large) == 5000
        assert scheduler.waiting == scheduler._counted == 0
        scheduler.close()

    asyncio.run(run())


def test_a_model_that_computes_one_batch_at_a_time_leaves_threads_to_others() -> None:
    async def run() -> None:
        slow, quick, scheduler = Computer(), Computer(), Scheduler(2, 100)
        lane = Lane(1)
        first = asyncio.create_task(scheduler.run(_task(slow, lane), ["a"]))
        await asyncio.sleep(0)
        second = asyncio.create_task(scheduler.run(_task(slow, lane), ["b"]))
        quick.permits.release(1)
        assert await scheduler.run(_task(quick, Lane(2), "quick"), ["c"]) == ["C!"]
        assert slow.batches == []
        slow.permits.release(2)
        assert [await first, await second] == [["A!"], ["B!"]]
        scheduler.close()

    asyncio.run(run())


def test_a_refused_request_may_come_again_when_half_of_the_sentences_are_computed() -> None:
    for waiting, seconds_per_sentence, threads, seconds in (
        (1000, 0.01, 1, 5),
        (1000, 0.01, 2, 3),
        (1001, 0.02, 2, 6),
        (0, 0.01, 1, 1),
        (10**6, 0.01, 1, 60),
    ):
        scheduler = Scheduler(threads, 0)
        scheduler.waiting, scheduler._seconds_per_sentence = waiting, seconds_per_sentence
        refusal = scheduler.refusal()
        assert refusal is not None
        assert refusal.retry_after == seconds
        scheduler.close()
