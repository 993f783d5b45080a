"""The worker processes of the server: started when they are needed, kept for the next call, and ended at a limit.

A process is started anew rather than forked, because the server has threads. It ends when the server does, however that
happens: its input ends.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar, get_type_hints

import msgspec

from dragoman.serving.logs import event
from dragoman.serving.responses import Refusal, invalid
from dragoman.serving.worker import MEMORY, PROCESSOR_SECONDS, READY, Reply, read, write

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from dragoman.serving.worker import main; main()"
MAX_WAITING = 64
"""Calls that wait for a worker; more are refused."""


class Workers:
    """Up to `count` processes; used from one event loop."""

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="worker")
        self._free = asyncio.Semaphore(count)
        self._idle: list[_Worker] = []
        """The last is the one that was used last, so that few calls keep few processes."""
        self._busy: set[_Worker] = set()
        self._waiting = 0

    async def run(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """What a function of `worker.FUNCTIONS` returns, called in another process.

        If the caller is cancelled, the process is ended.

        Raises:
            Refusal: the function has refused its input (400), takes too much time or memory (413), or too many calls
                wait (503).
            RuntimeError: it has raised something else.
        """
        if self._waiting >= MAX_WAITING:
            raise Refusal(503, "The server is busy; try again later", retry_after=PROCESSOR_SECONDS)
        call = msgspec.msgpack.encode((function.__name__, args))
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            reply = await self._call(call)
        finally:
            self._free.release()
        if reply.refusal:
            raise invalid(reply.refusal)
        if reply.error:
            raise RuntimeError(f"{function.__name__}: {reply.error}")
        result: Result = msgspec.msgpack.decode(reply.result, type=get_type_hints(function)["return"])
        return result

    def close(self) -> None:
        """End all processes."""
        for worker in (*self._idle, *self._busy):
            worker.end()
        self._idle.clear()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _call(self, call: bytes) -> Reply:
        worker = self._idle.pop() if self._idle else _Worker()
        self._busy.add(worker)
        try:
            reply = await asyncio.get_running_loop().run_in_executor(self._executor, worker.call, call)
        except OSError as error:
            worker.end()
            event("worker process not started", level=logging.ERROR, reason=str(error))
            raise Refusal(503, "The server is busy; try again later", retry_after=PROCESSOR_SECONDS) from None
        except BaseException:  # also where the caller is cancelled
            worker.end()
            raise
        finally:
            self._busy.discard(worker)
        if reply is None:
            worker.end()
            event("worker process ended", level=logging.WARNING, code=worker.code)
            raise Refusal(
                413,
                f"Reading the request takes more than {PROCESSOR_SECONDS} seconds of a processor or "
                f"{MEMORY >> 20} MB of memory; send less at a time",
            )
        if reply.last:
            worker.end()
        else:
            self._idle.append(worker)
        return reply


class _Worker:
    """A process, which is started with its first call."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._calling = threading.Lock()
        self._ended = False
        self.code: int | None = None
        """Its exit code, once it has ended."""

    def call(self, call: bytes) -> Reply | None:
        """The reply to a call; None if the process ends before it has replied. For a thread.

        Raises:
            OSError: the process cannot be started.
        """
        try:
            with self._calling:
                if self._process is not None and self._process.poll() is not None:  # between two calls
                    self._clean()
                started = self._process is None
                process = self._process = self._process or _start()
                if self._ended:  # meanwhile, so that nothing has ended this process
                    process.kill()
                assert process.stdin is not None
                assert process.stdout is not None
                with suppress(BrokenPipeError):
                    if started and read(process.stdout) != READY:
                        return None
                    write(process.stdin, call)
                    content = read(process.stdout)
                    return None if content is None else msgspec.msgpack.decode(content, type=Reply)
                return None
        finally:
            if self._ended:
                self.end()

    def end(self) -> None:
        """End the process."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()
        if self._calling.acquire(blocking=False):  # else the thread does what follows when its call has ended
            try:
                self._clean()
            finally:
                self._calling.release()

    def _clean(self) -> None:
        """Close what belongs to a process that has ended."""
        if self._process is not None:
            self.code = self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
            self._process = None


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _PROGRAM, *sys.path]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
