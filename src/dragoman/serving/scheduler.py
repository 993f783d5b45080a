"""Which sentences are computed together, and when: small batches of similar length, in turn for all requests.

A batch starts as soon as a thread is free, so a sentence that comes alone is not kept waiting; while all threads are
busy, sentences gather and form larger batches. Requests are served in turn: one that brings a thousand sentences does
not hold up one that brings a single sentence. A batch is limited to what takes about `BATCH_SECONDS` of the processor
at the speed that was measured with the batches before it. Time in which the machine does something else does not count:
smaller batches would only cost more of it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from dragoman.serving.responses import Refusal

BATCH_SECONDS = 0.1
"""The time that a batch should not exceed."""
WINDOW = 8
"""Batches' worth of sentences among which sentences of similar length are chosen."""
FIRST_LIMIT = 2000
"""Cost of a batch before any was measured: characters times rows of the search."""
LEAST_CHARACTERS = 500
"""Characters that a batch may have whatever was measured: a sentence alone costs several times its share of a
batch, and would otherwise remain alone."""
LARGEST_SHARE = 100
"""Sentences that a request counts for at most where the waiting ones are limited. Requests take turns, so that how long
a new one waits depends on how many others wait, and hardly on how long they are."""
SMOOTHING = 0.3
"""Weight of the newest batch in the estimate of the speed."""

Compute = Callable[[list[str]], Sequence[Any]]


@dataclass(eq=False)
class Lane:
    """The batches of one model: how many may be computed at once, and how fast they were."""

    workers: int
    running: int = 0
    seconds_per_cost: float | None = None

    def limit(self) -> float:
        """The largest cost of a batch."""
        return FIRST_LIMIT if self.seconds_per_cost is None else BATCH_SECONDS / self.seconds_per_cost

    def measured(self, cost: float, seconds: float) -> None:
        """Count a batch. A single batch changes the limit by no more than a factor of 4."""
        before = BATCH_SECONDS / FIRST_LIMIT if self.seconds_per_cost is None else self.seconds_per_cost
        rate = min(max(seconds / max(cost, 1), before / 4), before * 4)
        self.seconds_per_cost = before + SMOOTHING * (rate - before)


class Task(NamedTuple):
    """How the sentences of a request are computed. Those of equal `key` may share a batch."""

    lane: Lane
    key: Hashable
    compute: Compute
    """One result for each sentence; called in a thread with sentences of several requests."""
    finish: Callable[[Any], Any]
    """What a request needs of a result; called in the same thread."""
    rows: int
    """Rows of the search for each sentence."""


@dataclass(eq=False)
class _Job:
    """The sentences of a request."""

    task: Task
    texts: Sequence[str]
    answers: list[Any]
    waiting: list[int]
    """Places of sentences in no batch yet, longest first."""
    done: asyncio.Future[list[Any]]
    left: int = field(init=False)
    """Sentences without an answer."""

    def __post_init__(self) -> None:
        self.left = len(self.texts)

    @property
    def share(self) -> int:
        """What its waiting sentences count for."""
        return min(len(self.waiting), LARGEST_SHARE)


class _Chosen(NamedTuple):
    length: int
    job: _Job
    text_index: int


class _Batch(NamedTuple):
    lane: Lane
    sentences: list[_Chosen]
    cost: int


class Scheduler:
    """Computes the sentences of all requests in `threads` threads; used from one event loop."""

    def __init__(self, threads: int, max_waiting: int) -> None:
        """Requests are refused while `max_waiting` sentences wait, of each request at most `LARGEST_SHARE` counted."""
        self._threads = threads
        self._max_waiting = max_waiting
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self._jobs: dict[_Job, None] = {}
        """Those with waiting sentences; the one that has waited longest for its turn comes first."""
        self._running = 0
        self.waiting = 0
        """Sentences in no batch yet."""
        self._counted = 0
        """The sum of the shares of all requests."""
        self.on_batch: Callable[[int, float], None] = lambda sentences, seconds: None
        """Called after each batch."""
        self._seconds_per_sentence = 0.01

    async def run(self, task: Task, texts: Sequence[str]) -> list[Any]:
        """The answer for each of the texts.

        If the caller is cancelled, its sentences that wait are dropped.

        Raises:
            Refusal: too many sentences wait.
            Exception: what `compute` or `finish` raises.
        """
        if not texts:
            return []
        refusal = self.refusal()
        if refusal is not None:
            raise refusal
        waiting = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        job = _Job(task, texts, [None] * len(texts), waiting, done)
        self._jobs[job] = None
        self.waiting += len(texts)
        self._counted += job.share
        self._start()
        try:
            return await done
        finally:
            self._wait_for(job, [])
            self._jobs.pop(job, None)

    def refusal(self) -> Refusal | None:
        """What a request is answered that comes now, if too many sentences wait.

        It is to come again, after 1 to 60 seconds, when about half of what waits now has been computed.
        """
        if self._counted < self._max_waiting:
            return None
        seconds = self.waiting * self._seconds_per_sentence / self._threads / 2
        return Refusal(503, "The server is busy; try again later", retry_after=min(max(math.ceil(seconds), 1), 60))

    def close(self) -> None:
        """Let the threads end; sentences that wait are dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Start batches while there are sentences and free threads."""
        while self._running < self._threads:
            batch = self._next_batch()
            if batch is None:
                return
            self._running += 1
            batch.lane.running += 1
            began = time.perf_counter()
            computing = asyncio.get_running_loop().run_in_executor(self._executor, _timed, batch.sentences)
            computing.add_done_callback(partial(self._finished, batch, began))

    def _finished(self, batch: _Batch, began: float, computed: asyncio.Future[tuple[list[Any], float]]) -> None:
        seconds = time.perf_counter() - began
        self._running -= 1
        batch.lane.running -= 1
        if computed.cancelled():
            return
        answers, processor_seconds = computed.result()
        batch.lane.measured(batch.cost, processor_seconds)
        per_sentence = seconds / len(batch.sentences)
        self._seconds_per_sentence += SMOOTHING * (per_sentence - self._seconds_per_sentence)
        self.on_batch(len(batch.sentences), seconds)
        for (_, job, index), answer in zip(batch.sentences, answers, strict=True):
            if job.done.done():
                continue
            if isinstance(answer, Exception):
                job.done.set_exception(answer)
                continue
            job.answers[index] = answer
            job.left -= 1
            if job.left == 0:
                job.done.set_result(job.answers)
        self._start()

    def _next_batch(self) -> _Batch | None:
        """Take the next batch from the jobs; None if no sentence may be computed now."""
        first = next((job for job in self._jobs if job.task.lane.running < job.task.lane.workers), None)
        if first is None:
            return None
        lane, rows = first.task.lane, first.task.rows
        limit = max(lane.limit() / rows, LEAST_CHARACTERS)
        window = list(self._window(first, WINDOW * limit))
        chosen = _alike(window, limit)
        taken: dict[_Job, set[int]] = {}
        for one in chosen:
            taken.setdefault(one.job, set()).add(one.text_index)
        for job, indices in taken.items():
            self._wait_for(job, [index for index in job.waiting if index not in indices])
            del self._jobs[job]
            if job.waiting:
                self._jobs[job] = None  # to the end
        return _Batch(lane, chosen, max(one.length for one in chosen) * len(chosen) * rows)

    def _wait_for(self, job: _Job, indices: list[int]) -> None:
        """From now on these sentences of a request wait."""
        before = job.share
        self.waiting += len(indices) - len(job.waiting)
        job.waiting = indices
        self._counted += job.share - before

    def _window(self, first: _Job, most: float) -> Iterator[_Chosen]:
        """About `most` characters of sentences that may be computed with the first of `first`, of all jobs in turn."""
        jobs = [job for job in self._jobs if job.task.key == first.task.key]
        total, turn = 0, 0
        while jobs and total < most:
            for job in jobs:
                index = job.waiting[turn]
                length = len(job.texts[index])
                total += length
                yield _Chosen(length, job, index)
            turn += 1
            jobs = [job for job in jobs if turn < len(job.waiting)]


def _alike(window: list[_Chosen], limit: float) -> list[_Chosen]:
    """The first sentence of the window with others of similar length, so that padded they have up to `limit`
    characters.
    """
    first = window[0]
    ordered = sorted(window, key=lambda one: one.length)
    low = high = ordered.index(first)
    while True:
        down = first.length - ordered[low - 1].length if low else None
        up = ordered[high + 1].length - first.length if high + 1 < len(ordered) else None
        if down is not None and (up is None or down <= up):
            longest, step = ordered[high].length, (-1, 0)
        elif up is not None:
            longest, step = ordered[high + 1].length, (0, 1)
        else:
            break
        if (high - low + 2) * longest > limit:
            break
        low, high = low + step[0], high + step[1]
    return ordered[low : high + 1]


def _timed(sentences: list[_Chosen]) -> tuple[list[Any], float]:
    """What `_computed` returns, and the seconds of the processor that this thread took."""
    began = time.thread_time()
    return _computed(sentences), time.thread_time() - began


def _computed(sentences: list[_Chosen]) -> list[Any]:
    """The answer or the exception of each sentence, computed together; where that fails, each request by itself."""
    try:
        return _results(sentences)
    except Exception as error:
        jobs = {one.job for one in sentences}
        if len(jobs) == 1:
            return [error] * len(sentences)
    answers: dict[_Chosen, Any] = {}
    for job in jobs:
        own = [one for one in sentences if one.job is job]
        answers.update(zip(own, _computed(own), strict=True))
    return [answers[one] for one in sentences]


def _results(sentences: list[_Chosen]) -> list[Any]:
    results = sentences[0].job.task.compute([one.job.texts[one.text_index] for one in sentences])
    return [one.job.task.finish(result) for one, result in zip(sentences, results, strict=True)]
