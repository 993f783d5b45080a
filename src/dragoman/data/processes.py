"""A function applied to a stream of items by other processes; the values come in the order of the items."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, TypeVar

from dragoman.errors import reason_of
from dragoman.systems import ENDING_SIGNALS

AHEAD = 2
"""Items that a process has at a time: it begins the next one while this process reads the result of the last."""

Item = TypeVar("Item")
Value = TypeVar("Value")

log = logging.getLogger(__name__)


def map_in_processes(
    function: Callable[[Item], Value], items: Iterable[Item], count: int, task: str
) -> Iterator[Value]:
    """Yield the value of each item, in order; no more than `AHEAD` items a process are read ahead.

    The processes end with the iterator, and with this process if it is killed. When one of them dies, or none can be
    started, this process computes what is left.

    Args:
        function: can be pickled, and is defined in an importable module. An exception of it is raised here.
        task: what the processes do, in a warning: "segment the corpus".
    """
    remaining, waiting = iter(items), deque[tuple[Item, Future[Value] | None]]()
    pool: ProcessPoolExecutor | None = None
    try:
        pool = ProcessPoolExecutor(count, _Context(), _begin, (function,))
    except (OSError, NotImplementedError) as error:  # a system without shared semaphores
        _warn(task, error)
    try:
        while True:
            for item in islice(remaining, AHEAD * count - len(waiting) if pool else not waiting):
                try:
                    waiting.append((item, pool.submit(_apply, item) if pool else None))
                except (OSError, BrokenProcessPool) as error:
                    _stop(pool, task, error)
                    pool = None
                    waiting.append((item, None))
            if not waiting:
                return
            item, future = waiting.popleft()
            try:
                value = future.result() if future else function(item)
            except BrokenProcessPool as error:
                _stop(pool, task, error)
                pool = None
                value = function(item)
            except Exception:
                value = function(item)  # raises the error in this process
            yield value
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)


def _stop(pool: ProcessPoolExecutor | None, task: str, error: Exception) -> None:
    if pool:
        for process in active_children():
            if isinstance(process, _Process):  # those that started, where the next one could not, would wait for ever
                process.kill()
                process.join()
        pool.shutdown(cancel_futures=True)
        _warn(task, error)


def _warn(task: str, error: Exception) -> None:
    reason = "one ended early" if isinstance(error, BrokenProcessPool) else reason_of(error)
    log.warning("the processes that %s cannot go on: %s; this process does their work", task, reason)


class _Process(SpawnProcess):
    """A process that does not import the main program again, and run it again where it is not guarded."""

    @staticmethod
    def _Popen(process: Any) -> Any:
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            return SpawnProcess._Popen(process)
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Process


_function: Callable[[Any], Any]
"""What a process applies."""


def _begin(function: Callable[[Any], Any]) -> None:
    """Prepare a process: it prints nothing, and ends when its parent ends, not at a signal sent to both."""
    global _function
    _function = function
    for ignored in ENDING_SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _apply(item: Any) -> Any:
    return _function(item)
