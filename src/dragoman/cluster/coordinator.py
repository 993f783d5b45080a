"""From input files to output files: reads shards, gives them to a pool of workers, and keeps what they compute.

A shard whose worker is lost is computed again; after `MAX_LOSSES` it is halved, until the one unit that ends its worker
is alone and counts as failed. What is computed is in the journal of its file at once, so that the same command goes on
there.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.cluster.journal import FailedLine, Journal
from dragoman.cluster.output_folder import OutputFolder
from dragoman.cluster.pool import Done, Lost, Pool
from dragoman.cluster.progress import Progress, Summary
from dragoman.cluster.shards import Inputs, Shard, read_shards
from dragoman.cluster.verbs import ClusterVerb
from dragoman.cluster.worker import ShardResult
from dragoman.errors import RunError
from dragoman.progress import Console

MAX_LOSSES = 3
"""Workers that the same units may end before they are halved."""
MAX_LOSSES_IN_A_ROW = 12
"""Workers that may end one after the other, without any result between them."""
WAIT = 1.0
"""Seconds to wait for results at most, before the next look at the workers."""
MAX_WARNINGS = 20
"""Warnings of workers that are printed."""


@dataclass
class _Output:
    """An output file that is being made."""

    inputs: Inputs
    journal: Journal
    digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    shards: int | None = None
    """None until the input has been read to its end."""
    done: int = 0


@dataclass
class _Sent:
    """A shard that is being computed."""

    shard: Shard
    output: _Output
    digest: str
    lines: dict[int, list[str]] = field(default_factory=dict)
    """The output of the units that are computed, by place."""
    failed: dict[int, str] = field(default_factory=dict)
    """Why units have no output, by place."""
    unfinished: int = 0


@dataclass
class _Task:
    """Some units of a shard, as a pool computes them."""

    sent: _Sent
    places: Sequence[int]
    losses: int = 0


def missing_inputs(inputs: Sequence[Inputs], folder: OutputFolder, verb: ClusterVerb) -> list[Inputs]:
    """The inputs whose outputs are not complete.

    Raises:
        InputError: an input or a complete output has changed since it was made.
    """
    return [one for one in inputs if not _is_complete(one, folder, verb)]


def _is_complete(inputs: Inputs, folder: OutputFolder, verb: ClusterVerb) -> bool:
    record = folder.require_same(inputs)
    if record is None:
        return False
    if [file.modified for file in inputs.files] != [file.modified for file in record.inputs]:
        digest = hashlib.blake2b(digest_size=16)  # a copy of the file has another time
        for shard in read_shards(inputs, verb):
            digest.update(shard.digest.encode())
        if digest.hexdigest() != record.digest:
            raise folder.changed(inputs)
    return True


class Coordinator:
    """Makes the outputs of one command."""

    def __init__(self, verb: ClusterVerb, pool: Pool, folder: OutputFolder, console: Console) -> None:
        self._verb = verb
        self._pool = pool
        self._folder = folder
        self._console = console
        self._tasks: dict[int, _Task] = {}
        self._waiting: deque[_Task] = deque()  # to be computed again
        self._numbers = 0
        self._losses_in_a_row = 0
        self._warnings = 0
        self._progress = Progress(console, 0)

    def run(self, inputs: Sequence[Inputs]) -> Summary:
        """Make the outputs of inputs, which have none (`missing_inputs`).

        Raises:
            InputError: an input cannot be read or changes, or an output cannot be written.
            RunError: workers end one after the other, or all lines of a shard fail.
        """
        self._progress = Progress(self._console, sum(one.bytes for one in inputs))
        shards = self._missing_shards(inputs)
        reading = True
        while reading or self._tasks or self._waiting:
            while self._pool.has_room() and (self._waiting or reading):
                if self._waiting:
                    self._submit(self._waiting.popleft())
                elif (sent := next(shards, None)) is None:
                    reading = False
                else:
                    self._send(sent)
            if reading or self._tasks or self._waiting:
                for done in self._pool.wait(WAIT):
                    self._handle(done)
                if self._pool.workers():
                    self._progress.start()
                self._progress.tell(self._pool.workers())
        self._folder.remove_unfinished()
        progress = self._progress
        return Summary(len(inputs), progress.lines, progress.unfinished, progress.seconds, self._pool.workers())

    def _missing_shards(self, inputs: Sequence[Inputs]) -> Iterator[_Sent]:
        """Read the inputs; yield the shards that are not computed, and finish outputs of which none is left."""
        for one in inputs:
            output = _Output(one, self._folder.journal(one))
            count = 0
            for shard in read_shards(one, self._verb):
                digest = shard.digest
                output.digest.update(digest.encode())
                size = self._progress.read(shard.position)
                count += 1
                if output.journal.has(shard.number, digest):
                    output.done += 1
                else:
                    self._progress.sent(shard.lines, size)
                    yield _Sent(shard, output, digest)
            output.shards = count
            self._progress.next_file(one.bytes)
            self._finish_if_done(output)

    def _send(self, sent: _Sent) -> None:
        for place, unit in enumerate(sent.shard.units):
            if unit.value is None:
                sent.failed[place] = unit.fault or "cannot be read"
        places = sent.shard.readable
        if places:
            self._submit(_Task(sent, places))
        else:
            self._keep(sent)

    def _submit(self, task: _Task) -> None:
        self._numbers += 1
        self._tasks[self._numbers] = task
        self._pool.submit(self._numbers, task.sent.shard.values(task.places))

    def _handle(self, done: Done) -> None:
        task = self._tasks.pop(done.task)
        if isinstance(done.outcome, Lost):
            self._handle_loss(task, done.outcome)
            return
        self._losses_in_a_row = 0
        self._add(task, done.outcome)

    def _handle_loss(self, task: _Task, lost: Lost) -> None:
        """Compute the units again: together, then in halves, so that one that ends its worker is found."""
        self._losses_in_a_row += 1
        self._console.warning(f"a worker ended: {lost.reason}; its {len(task.places):,} lines are computed again")
        if self._losses_in_a_row > MAX_LOSSES_IN_A_ROW:
            raise RunError(
                f"{self._losses_in_a_row} workers ended one after the other ({lost.reason}); what is computed is kept; "
                "start fewer workers if memory is short (--workers), and give the same command again"
            )
        task.losses += 1
        if task.losses < MAX_LOSSES:
            self._waiting.append(task)
        elif len(task.places) > 1:
            middle = len(task.places) // 2
            for places in (task.places[:middle], task.places[middle:]):
                self._waiting.append(_Task(task.sent, places, MAX_LOSSES - 1))
        else:
            self._add(task, ShardResult([[]], {0: f"its worker ended {task.losses} times ({lost.reason})"}))

    def _add(self, task: _Task, result: ShardResult) -> None:
        sent = task.sent
        for place, (number, lines) in zip(task.places, enumerate(result.units), strict=True):
            if number in result.failed:
                sent.failed[place] = result.failed[number]
            elif len(lines) != sent.shard.units[place].lines:
                sent.failed[place] = f"{len(lines)} lines of output for {sent.shard.units[place].lines} of input"
            else:
                sent.lines[place] = lines
        sent.unfinished += result.unfinished
        for warning in result.warnings:
            if self._warnings < MAX_WARNINGS:
                self._warnings += 1
                shard = sent.shard
                self._console.warning(f"{shard.inputs.files[0].path}, lines from {shard.first_line:,}: {warning}")
        if len(sent.lines) + len(sent.failed) == len(sent.shard.units):
            self._keep(sent)

    def _keep(self, sent: _Sent) -> None:
        """Add the shard to the journal of its file."""
        shard, lines, failed = sent.shard, list[str](), list[FailedLine]()
        line = shard.first_line
        for place, unit in enumerate(shard.units):
            if place in sent.failed:
                failed += [FailedLine(line + number, sent.failed[place]) for number in range(unit.lines)]
            lines += sent.lines.get(place, [""] * unit.lines)
            line += unit.lines
        sent.output.journal.append(shard.number, sent.digest, lines, failed)
        sent.output.done += 1
        self._progress.computed(shard.lines, sent.unfinished)
        self._finish_if_done(sent.output)

    def _finish_if_done(self, output: _Output) -> None:
        if output.shards is not None and output.done == output.shards:
            self._folder.finish(output.inputs, output.digest.hexdigest(), output.journal, output.shards)
