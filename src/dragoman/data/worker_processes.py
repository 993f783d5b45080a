"""Processes that apply a function to a stream of items; the results come in the order of the items.

They are `python -m dragoman.data.worker`, never copies of the program that uses them; see there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, BinaryIO, Generic, TypeVar, cast

from dragoman.data.worker import message, read_message

AHEAD = 2
"""Items that a process has at a time: it begins the next one while the parent reads the result of the last."""

Item = TypeVar("Item")
Value = TypeVar("Value")

log = logging.getLogger(__name__)


class WorkerProcesses(Generic[Item, Value]):
    """A context manager; the processes end with its block, and with this process if it is killed.

    with WorkerProcesses(function, 4, "count words") as workers:
        for item, value in workers.map(items):
            ...
    """

    def __init__(self, function: Callable[[Item], Value], count: int, task: str) -> None:
        """Start `count` processes; they are ready after a second or so.

        Args:
            function: can be pickled, and is defined in an importable module.
            task: what the processes do, in a warning: "segment the corpus".
        """
        self._function = function
        self._task = task
        self._warned = False
        self._workers: list[_Worker] = []
        try:
            first = message(function)
            for _ in range(count):
                self._workers.append(_Worker(first))
        except OSError as error:  # no memory or no process left: those that have started do the work
            self._warn(f"could not be started: {error.strerror or error}")

    def __enter__(self) -> WorkerProcesses[Item, Value]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.stop()

    def wait(self) -> WorkerProcesses[Item, Value]:
        """Wait until every process is ready, or has ended; `map` does not need it."""
        for worker in self._workers:
            worker.wait()
        return self

    def map(self, items: Iterable[Item]) -> Iterator[tuple[Item, Value]]:
        """Yield each item with its value, in order; no more than `AHEAD` items a process are read ahead.

        While no process is ready, and when all have ended, this process computes, also an item for which a process
        failed. An exception of the function is raised here.
        """
        remaining = iter(items)
        waiting: deque[tuple[Item, _Worker]] = deque()
        while True:
            while (worker := self._free()) is not None:
                try:
                    item = next(remaining)
                except StopIteration:
                    break
                worker.send(item)
                waiting.append((item, worker))
            if not waiting:
                try:
                    item = next(remaining)
                except StopIteration:
                    return
                yield item, self._function(item)
                continue
            item, worker = waiting.popleft()
            computed, value = worker.receive()
            yield item, value if computed else self._function(item)

    def _free(self) -> _Worker | None:
        """The process with the fewest items that can take another one."""
        for worker in self._workers:
            if worker.ended and not self._warned:
                self._warn(f"ended early ({worker.status()})")
        able = [worker for worker in self._workers if worker.ready and not worker.ended and worker.items < AHEAD]
        return min(able, key=lambda worker: worker.items, default=None)

    def _warn(self, what: str) -> None:
        self._warned = True
        log.warning("one of the processes that %s %s; this process and the others do its work", self._task, what)


class _Worker:
    """One process."""

    def __init__(self, function: bytes) -> None:
        """`function` is the message that has the function. Raises OSError."""
        self.items = 0
        """Items sent whose results have not been read."""
        self.ready = False
        self.ended = False
        # All that this process can import, in the same order; -P: the current folder only if it is among that.
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dragoman.data.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a worker that ends is reported once, by its parent
            env={**os.environ, "PYTHONPATH": path},
        )
        # Starting takes a second or so, in which the pipe cannot take a large message.
        self._starting = threading.Thread(target=self._start, args=(function,), daemon=True)
        self._starting.start()

    def _start(self, function: bytes) -> None:
        self._write(function)
        self.ready = self._read() is not None

    def wait(self) -> None:
        """Wait until the process is ready or has ended."""
        self._starting.join()

    def send(self, item: object) -> None:
        """Send an item; the process has less than `AHEAD` items, so it reads at once."""
        self.items += 1
        self._write(message(item))

    def receive(self) -> tuple[bool, Any]:
        """Whether the process has computed the first item whose result has not been read, and the value."""
        self.items -= 1
        return self._read() or (False, None)

    def status(self) -> str:
        """How the process ended, for messages."""
        try:
            status = self._process.wait(1.0)  # its pipes are closed a moment before it ends
        except subprocess.TimeoutExpired:
            return "it closed its pipes"
        return f"exit status {status}" if status >= 0 else signal.Signals(-status).name

    def stop(self) -> None:
        """End the process if it has not ended."""
        self._process.kill()
        self._process.wait()
        self.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # closing flushes what could not be written
                if pipe is not None:
                    pipe.close()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError:
            self.ended = True

    def _read(self) -> Any:
        """The next message; None if the process has ended."""
        try:
            return read_message(cast(BinaryIO, self._process.stdout))
        except (EOFError, OSError):
            self.ended = True
            return None
