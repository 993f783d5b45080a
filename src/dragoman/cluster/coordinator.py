"""From input files to output files: reads shards, gives them to a pool of workers, and keeps what they compute.

A shard whose worker is lost is computed again; after `MAX_LOSSES` it is halved, until the one unit that ends its worker
is alone and counts as failed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.cluster.inputs import Inputs
from dragoman.cluster.outputs import ComputedShard, FailedLine, OutputFolder
from dragoman.cluster.units import Shard
from dragoman.cluster.verbs import ClusterVerb, Computed
from dragoman.cluster.worker import Done, Lost, WorkerPool
from dragoman.errors import RunError
from dragoman.progress import Console, as_duration

MAX_LOSSES = 3
"""Workers that the same units may end before they are halved."""
MAX_LOSSES_IN_A_ROW = 12
"""Workers that may end one after the other, without any result between them."""
WAIT = 1.0
"""Seconds to wait for results at most, before the next look at the workers."""
MAX_WARNINGS = 20
"""Warnings of workers that are printed."""
INTERVAL = 10.0
"""Seconds between two lines of progress."""


@dataclass
class Progress:
    """What a command has done so far; `str()` is its summary."""

    files: int
    bytes: int
    """Size of the first input files of all outputs that it makes."""
    lines: int = 0
    """Lines that were computed now."""
    unfinished: int = 0
    """Translations that were truncated at the longest length, among the lines that were computed now."""
    searched_again: int = 0
    """Translations that looped or ran to it and were searched again, among these lines."""
    workers: int = 0
    bytes_before: int = 0
    """Of shards that were computed by an earlier command."""
    _bytes_computed: int = 0
    _began: float | None = None  # with the first worker
    _shown: float = field(default_factory=time.monotonic)

    def add(self, shard: Shard, results: Sequence[Computed]) -> None:
        """Count a shard that has been computed."""
        self._bytes_computed += shard.bytes
        self.lines += sum(len(result.lines) for result in results)
        self.unfinished += sum(result.unfinished for result in results)
        self.searched_again += sum(result.searched_again for result in results)

    def show(self, console: Console, workers: int) -> None:
        """Print a line if the last one was some seconds ago."""
        self.workers, now = workers, time.monotonic()
        if workers and self._began is None:
            self._began = now
        if now - self._shown < INTERVAL:
            return
        self._shown = now
        if not self.lines:
            console.status(f"{workers} workers; no lines yet")
            return
        seconds, rate = self._speed()
        left = max(0, self.bytes - self.bytes_before - self._bytes_computed)
        more = f", about {as_duration(left * seconds / self._bytes_computed)} left" if self._bytes_computed else ""
        console.status(
            f"{self.lines:,} lines, {1 - left / self.bytes:.0%} of the input done, {rate:,.1f} lines a second, "
            f"{workers} workers{more}"
        )

    def _speed(self) -> tuple[float, float]:
        """Seconds since there is a worker, and lines a second."""
        seconds = 0.0 if self._began is None else time.monotonic() - self._began
        return seconds, self.lines / seconds if seconds else 0.0

    def __str__(self) -> str:
        seconds, rate = self._speed()
        return (
            f"{self.lines:,} lines computed in {as_duration(seconds)}: {rate:,.1f} a second, "
            f"{rate / max(1, self.workers):,.1f} a second and worker, {self.workers} workers; {self.files:,} files"
        )


@dataclass
class _UnfinishedOutput:
    """An output file that is being made."""

    inputs: Inputs
    shards: list[str] = field(default_factory=list)
    """The digests of those that have been read."""
    waiting: int = 1
    """Shards that are being computed, and one more until the input has been read to its end."""


@dataclass
class _Pending:
    """A shard that is being computed."""

    shard: Shard
    output: _UnfinishedOutput
    results: list[Computed | None]
    """The results of its units; None where they are not computed yet."""


@dataclass
class _Task:
    """Some units of a shard, as a pool computes them."""

    pending: _Pending
    indices: Sequence[int]
    """The indices of the units in the shard, from 0."""
    losses: int = 0


class Coordinator:
    """Makes the outputs of one command."""

    def __init__(self, verb: ClusterVerb, pool: WorkerPool, folder: OutputFolder, console: Console) -> None:
        self._verb, self._pool, self._folder, self._console = verb, pool, folder, console
        self._running: dict[int, _Task] = {}
        self._again: deque[_Task] = deque()  # tasks that have lost their workers
        self._tasks = self._losses_in_a_row = self._warnings = 0
        self._progress = Progress(0, 0)

    def run(self, inputs: Sequence[Inputs]) -> Progress:
        """Make the outputs of inputs, which have none.

        Raises:
            InputError: an input cannot be read or changes, or an output cannot be written.
            RunError: workers end one after the other, or all lines of a shard fail.
        """
        self._progress = Progress(len(inputs), sum(one.bytes for one in inputs))
        tasks = self._missing_tasks(inputs)
        reading = True
        while True:
            while self._pool.has_room() and (self._again or reading):
                task = self._again.popleft() if self._again else next(tasks, None)
                if task is None:
                    reading = False
                    continue
                self._tasks += 1
                self._running[self._tasks] = task
                self._pool.submit(self._tasks, [task.pending.shard.units[index].value for index in task.indices])
            if not (reading or self._running or self._again):
                return self._progress
            for done in self._pool.wait(WAIT):
                self._handle(done)
            self._progress.show(self._console, self._pool.workers())

    def _missing_tasks(self, inputs: Sequence[Inputs]) -> Iterator[_Task]:
        """Read the inputs, yield the shards that are not computed, and finish outputs that lack none."""
        for one in inputs:
            output = _UnfinishedOutput(one)
            for shard in self._verb.read_shards(one):
                digest = shard.digest
                output.shards.append(digest)
                if self._folder.has_shard(one.name, shard.number, digest):
                    self._progress.bytes_before += shard.bytes
                    continue
                output.waiting += 1
                results = [None if unit.fault is None else Computed([""], failed=unit.fault) for unit in shard.units]
                pending = _Pending(shard, output, results)
                indices = [index for index, result in enumerate(results) if result is None]
                if indices:
                    yield _Task(pending, indices)
                else:
                    self._keep(pending)
            self._count_down(output)

    def _handle(self, done: Done) -> None:
        task = self._running.pop(done.task)
        if isinstance(done.outcome, Lost):
            self._handle_loss(task, done.outcome.reason)
            return
        self._losses_in_a_row = 0
        shard = task.pending.shard
        for warning in done.outcome.warnings[: MAX_WARNINGS - self._warnings]:
            self._warnings += 1
            self._console.warning(f"{shard.inputs.files[0].path}, lines from {shard.first_line:,}: {warning}")
        self._add(task, done.outcome.units)

    def _handle_loss(self, task: _Task, reason: str) -> None:
        """Compute the units again: together, then in halves, until the one that ends its worker is found."""
        self._losses_in_a_row += 1
        self._console.warning(f"a worker ended: {reason}; its {len(task.indices):,} lines are computed again")
        if self._losses_in_a_row > MAX_LOSSES_IN_A_ROW:
            raise RunError(
                f"{self._losses_in_a_row} workers ended one after the other ({reason}); what is computed is kept; "
                "start fewer workers if memory is short (--workers), and give the same command again"
            )
        task.losses += 1
        middle = len(task.indices) // 2
        if task.losses < MAX_LOSSES:
            self._again.append(task)
        elif middle:
            for indices in (task.indices[:middle], task.indices[middle:]):
                self._again.append(_Task(task.pending, indices, MAX_LOSSES - 1))
        else:
            value = task.pending.shard.units[task.indices[0]].value
            self._add(task, [Computed.failure(value, f"its worker ended {task.losses} times ({reason})")])

    def _add(self, task: _Task, results: Sequence[Computed]) -> None:
        for index, result in zip(task.indices, results, strict=True):
            task.pending.results[index] = result
        if None not in task.pending.results:
            self._keep(task.pending)

    def _keep(self, pending: _Pending) -> None:
        """Write a shard whose units are all computed."""
        shard, results = pending.shard, [result for result in pending.results if result is not None]
        computed = ComputedShard([], [])
        for result in results:
            first = shard.first_line + len(computed.lines)
            if result.failed is not None:
                computed.failed.extend(FailedLine(first + k, result.failed) for k in range(len(result.lines)))
            computed.lines.extend(result.lines)
        self._folder.keep_shard(shard.inputs.name, shard.number, pending.output.shards[shard.number], computed)
        self._progress.add(shard, results)
        self._count_down(pending.output)

    def _count_down(self, output: _UnfinishedOutput) -> None:
        output.waiting -= 1
        if not output.waiting:
            self._folder.finish(output.inputs, output.shards)
