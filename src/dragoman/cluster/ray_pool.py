"""Workers as Ray actors, on a cluster that runs already or on this machine alone.

Ray's own queue of an actor holds one task besides the one that is computed, so that no worker waits for the command. An
actor that ends is replaced; of its two tasks the first is lost, and the second is given to another actor.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.cluster.pool import Done, Lost
from dragoman.cluster.worker import ShardResult
from dragoman.errors import ConfigError, DragomanError, RunError
from dragoman.text.temporary import temporary_folder

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported: nothing is reported to anybody
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

OBJECT_STORE = 200 << 20
"""Bytes of shared memory of a Ray on this machine alone; the shards that are on their way are a small part of it."""
QUEUED = 2
"""Tasks of a worker: the one that it computes and the next."""
START_SECONDS = 300.0
"""Within so many seconds a worker must be ready, at the start and after all have ended."""
CONNECT_SECONDS = 5.0
MAX_FAILED_STARTS = 5
"""Workers that may end before they are ready, one after the other."""

Compute = Callable[[Sequence[Any]], ShardResult]


class _Actor:
    """A worker in a process of Ray; an error of the user is a result, because Ray would wrap it."""

    def __init__(self, opener: Callable[[], Compute]) -> None:
        self._opener = opener

    def open(self) -> str | None:
        """Open the models; the message of an error."""
        try:
            self._compute = self._opener()
        except DragomanError as error:
            return str(error)
        return None

    def compute(self, values: Sequence[Any]) -> ShardResult | str:
        try:
            return self._compute(values)
        except DragomanError as error:
            return str(error)


@dataclass
class _Worker:
    actor: Any
    opening: Any
    """The result of `open`; None once it is ready."""
    tasks: deque[tuple[int, Any, Sequence[Any]]] = field(default_factory=deque)
    """Number, result and values of its tasks, in the order in which it computes them."""


class RayPool:
    """A pool of Ray actors with one CPU each."""

    def __init__(self, opener: Callable[[], Compute], workers: int) -> None:
        """Ask Ray for workers, each of which calls `opener` once."""
        self._opener = opener
        self._workers = [self._start() for _ in range(workers)]
        self._again: deque[tuple[int, Sequence[Any]]] = deque()  # tasks of an actor that ended before it began them
        self._failed_starts = 0
        self._deadline: float | None = time.monotonic() + START_SECONDS

    def _start(self) -> _Worker:
        actor: Any = ray.remote(num_cpus=1, max_restarts=0)(_Actor).remote(self._opener)
        return _Worker(actor, actor.open.remote())

    def workers(self) -> int:
        """Workers that have opened their models."""
        return sum(worker.opening is None for worker in self._workers)

    def has_room(self) -> bool:
        """Whether a worker has no more than one task."""
        return not self._again and self._freest() is not None

    def _freest(self) -> _Worker | None:
        ready = [worker for worker in self._workers if worker.opening is None and len(worker.tasks) < QUEUED]
        return min(ready, key=lambda worker: len(worker.tasks), default=None)

    def submit(self, task: int, values: Sequence[Any]) -> None:
        """Give a task to the worker with the fewest; only after `has_room`."""
        worker = self._freest()
        if worker is None:
            self._again.append((task, values))
        else:
            worker.tasks.append((task, worker.actor.compute.remote(values), values))

    def wait(self, seconds: float) -> list[Done]:
        """The tasks that have ended.

        Raises:
            RunError: workers cannot open their models, or end before they are ready; all units of a task fail.
        """
        self._require_start()
        results = [worker.opening for worker in self._workers if worker.opening is not None]
        results += [result for worker in self._workers for _, result, _ in worker.tasks]
        if not results:
            return []
        ready, _ = ray.wait(results, num_returns=1, timeout=seconds)
        if ready:
            ready, _ = ray.wait(results, num_returns=len(results), timeout=0)
        found = set(ready)
        done = [end for worker in list(self._workers) for end in self._ended(worker, found)]
        while self._again and self._freest() is not None:
            self.submit(*self._again.popleft())
        return done

    def _ended(self, worker: _Worker, ready: set[Any]) -> Iterator[Done]:
        """The tasks of a worker that have ended; the worker is replaced if it has."""
        if worker.opening is not None:
            if worker.opening in ready:
                self._open(worker)
            return
        while worker.tasks and worker.tasks[0][1] in ready:
            task, result, _ = worker.tasks.popleft()
            try:
                outcome = ray.get(result)
            except RayTaskError as error:  # a bug: Ray has its traceback
                raise RuntimeError(str(error)) from error
            except RayError as error:
                self._replace(worker)
                yield Done(task, Lost(_reason(error)))
                return
            if isinstance(outcome, str):
                raise RunError(outcome)
            yield Done(task, outcome)

    def _open(self, worker: _Worker) -> None:
        try:
            message = ray.get(worker.opening)
        except RayTaskError as error:
            raise RuntimeError(str(error)) from error
        except RayError as error:
            self._failed_starts += 1
            if self._failed_starts > MAX_FAILED_STARTS:
                raise RunError(
                    f"workers end before they are ready: {_reason(error)}; start fewer (--workers)"
                ) from None
            self._replace(worker)
            return
        if message is not None:
            raise RunError(message)
        worker.opening, self._failed_starts, self._deadline = None, 0, None

    def _replace(self, worker: _Worker) -> None:
        """Start another worker in the place of one that has ended; its tasks are computed by others."""
        with suppress(RayError, ValueError):
            ray.kill(worker.actor)
        self._again.extend((task, values) for task, _, values in worker.tasks)
        self._workers[self._workers.index(worker)] = self._start()
        if not self.workers():
            self._deadline = time.monotonic() + START_SECONDS

    def _require_start(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise RunError(
                f"no worker was ready after {START_SECONDS:.0f} seconds; see `ray status`, whether CPUs are free and "
                "machines can be reached"
            )


def _reason(error: RayError) -> str:
    if isinstance(error, RayActorError) and "OOM" in str(error):
        return "the memory of its machine was full"
    return "its process or its machine ended"


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[int]:
    """Connect to Ray for a block, and give the number of workers to start.

    Args:
        address: of a cluster, "auto" for the one of this machine; None starts Ray on this machine, for the block.
        workers: None for one for each CPU.

    Raises:
        ConfigError: nobody listens at the address, or the cluster has no CPU.
    """
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in signals}
    _require_listener(address)
    # Ray prints what it knows of workers that end to standard output; the coordinator tells it in one line.
    with ExitStack() as settings:
        settings.enter_context(redirect_stdout(settings.enter_context(open(os.devnull, "w"))))
        # Sockets are in the folder, whose path may have some 60 characters: not in TMPDIR.
        folder = None if address else settings.enter_context(temporary_folder(Path("/tmp"), "dragoman-ray-"))
        settings.callback(_disconnect, handlers)
        _connect(address, workers, folder)
        for number, handler in handlers.items():  # Ray has put its own in their place
            signal.signal(number, handler)
        cpus = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
        if not cpus:
            raise ConfigError(f"the cluster at {address} has no CPU; start Ray on its machines with --num-cpus")
        yield min(workers or cpus, cpus)


def _disconnect(handlers: Mapping[signal.Signals, Any]) -> None:
    """Let go of Ray; what was started for this command ends."""
    ray.shutdown()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _require_listener(address: str | None) -> None:
    """Refuse HOST:PORT where nobody listens: Ray itself tries for minutes.

    Raises:
        ConfigError: it is not of that form, or no connection can be made.
    """
    if address in (None, "auto"):
        return
    host, _, port = str(address).rpartition("/")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"--address {address}: give HOST:PORT of a running Ray cluster, or auto")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"--address {address}: no Ray cluster answers there ({error}); `ray start --head` starts one and prints "
            "its address"
        ) from None


def _connect(address: str | None, workers: int | None, folder: Path | None) -> None:
    try:
        if folder is None:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(
                address="local",
                num_cpus=workers or _cores(),
                object_store_memory=OBJECT_STORE,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=str(folder),
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        first = str(error).strip().partition("\n")[0]
        raise ConfigError(f"--address: Ray cannot be reached or started {where}: {first}") from None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
