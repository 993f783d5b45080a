"""Workers as Ray actors, on a cluster that runs already or on this machine alone; the only module that knows Ray."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

from dragoman.cluster.worker import Done, Lost, ShardResult
from dragoman.errors import ConfigError, DragomanError, RunError
from dragoman.systems import processors

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported: nothing is reported to anybody
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayError, RayTaskError

OBJECT_STORE = 200 << 20
"""Bytes of shared memory of a Ray on this machine alone; the shards that are on their way are a small part of it."""
START_SECONDS = 300.0
"""Within so many seconds a worker must be ready, at the start and after all have ended."""
CONNECT_SECONDS = 5.0
MAX_FAILED_STARTS = 5
"""Workers that may end before they are ready, one after the other."""

Opener = Callable[[], Callable[[Sequence[Any]], ShardResult]]
"""Opens the models of a worker, and returns the function that computes shards."""


class _Actor:
    """A worker in a process of Ray."""

    def open(self, opener: Opener) -> None:
        """Open the models; Ray reports an error of a constructor as the end of the process."""
        self._compute = opener()

    def compute(self, values: Sequence[Any]) -> ShardResult:
        return self._compute(values)


class RayPool:
    """A pool of Ray actors with one CPU each. One that ends is replaced by another."""

    def __init__(self, opener: Opener, workers: int) -> None:
        """Ask Ray for workers; each calls `opener` once."""
        self._opener = opener
        self._waiting: list[Any] = []
        """Actors that wait for a task."""
        self._working: dict[Any, tuple[Any, int | None]] = {}
        """Actor and task by the result that they compute; no task while an actor opens its models."""
        self._failed_starts = 0
        self._last_ready = time.monotonic()
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        actor: Any = ray.remote(num_cpus=1)(_Actor).remote()
        self._working[actor.open.remote(self._opener)] = actor, None

    def workers(self) -> int:
        """Count the workers that have opened their models."""
        return len(self._waiting) + sum(task is not None for _, task in self._working.values())

    def has_room(self) -> bool:
        """Whether a worker waits for a task."""
        return bool(self._waiting)

    def submit(self, task: int, values: Sequence[Any]) -> None:
        """Give a task to a worker; only after `has_room`."""
        actor = self._waiting.pop()
        self._working[actor.compute.remote(values)] = actor, task

    def wait(self, seconds: float) -> list[Done]:
        """Wait for a task to end, or for a worker to open its models.

        Raises:
            RunError: workers cannot open their models, or end before they are ready; all units of a task fail.
        """
        if self.workers():
            self._last_ready = time.monotonic()
        elif time.monotonic() - self._last_ready > START_SECONDS:
            raise RunError(
                f"no worker was ready after {START_SECONDS:.0f} seconds; see `ray status`, whether CPUs are free and "
                "machines can be reached"
            )
        ready, _ = ray.wait(list(self._working), timeout=seconds)
        return [done for result in ready for done in self._end(result)]

    def _end(self, result: Any) -> Iterator[Done]:
        actor, task = self._working.pop(result)
        try:
            outcome = ray.get(result)
        except RayTaskError as error:
            if isinstance(error.cause, DragomanError):
                raise error.cause from None
            raise RuntimeError(str(error)) from error  # a bug: Ray has its traceback
        except RayError as error:
            reason = "the memory of its machine was full" if "OOM" in str(error) else "its process or its machine ended"
            self._start()
            if task is not None:
                yield Done(task, Lost(reason))
                return
            self._failed_starts += 1
            if self._failed_starts > MAX_FAILED_STARTS:
                raise RunError(f"workers end before they are ready: {reason}; start fewer (--workers)") from None
            return
        self._waiting.append(actor)
        if task is None:
            self._failed_starts = 0
        else:
            yield Done(task, outcome)


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[int]:
    """Connect to Ray for a block, and give the number of workers to start.

    Args:
        address: of a cluster, "auto" for the one of this machine; None starts Ray on this machine, for the block.
        workers: None for one for each CPU.

    Raises:
        ConfigError: nobody listens at the address, or the cluster has no CPU.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}

    def restore_handlers() -> None:  # Ray puts its own in their place
        for number, handler in handlers.items():
            signal.signal(number, handler)

    _require_listener(address)
    # Ray prints what it knows of workers that end to standard output; the coordinator tells it in one line.
    with ExitStack() as settings:
        settings.enter_context(redirect_stdout(settings.enter_context(open(os.devnull, "w"))))
        # Sockets are in the folder, whose path may have some 60 characters: not in TMPDIR.
        folder = None
        if address is None:
            temporary = TemporaryDirectory(prefix="dragoman-ray-", dir="/tmp", ignore_cleanup_errors=True)
            folder = settings.enter_context(temporary)
        settings.callback(restore_handlers)
        settings.callback(ray.shutdown)
        local: dict[str, Any] = {
            "num_cpus": workers or processors(),
            "object_store_memory": OBJECT_STORE,
            "include_dashboard": False,
            "_temp_dir": folder,
        }
        started = {} if address else local
        try:
            ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **started)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = "on this machine" if address is None else f"at {address}"
            first = str(error).strip().partition("\n")[0]
            raise ConfigError(f"--address: Ray cannot be reached or started {where}: {first}") from None
        restore_handlers()
        cpus = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
        if not cpus:
            raise ConfigError(f"the cluster at {address} has no CPU; start Ray on its machines with --num-cpus")
        yield min(workers or cpus, cpus)


@contextmanager
def open_workers(opener: Opener, address: str | None, workers: int | None) -> Iterator[RayPool]:
    """Open workers for a block; arguments and errors as for `RayPool` and `connected`."""
    with connected(address, workers) as number:
        yield RayPool(opener, number)


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
