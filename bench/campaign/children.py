"""Commands in forked children of this process, which has imported dragoman: a trial costs milliseconds, not seconds.

The parent must not have started threads, and must not have run a model: a forked copy of a thread pool hangs.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120
"""Seconds within which a child has to end by itself, and again after a signal that it may heed."""

LIBRARIES = (
    "sacremoses",
    "sentencepiece",
    "tensorboard.compat.proto.event_pb2",
    "tensorboard.summary.writer.record_writer",
)
"""What is imported by a first use and not by an import of dragoman."""


class Ended(NamedTuple):
    """How a child ended."""

    code: int
    """The exit code; minus the number of the signal that ended it."""
    out: bytes
    err: bytes

    @property
    def message(self) -> str:
        """Standard error as text."""
        return self.err.decode("utf-8", "backslashreplace").strip()

    def require(self, what: str) -> None:
        """Require that the command has made what trials need.

        Raises:
            RuntimeError: it has failed.
        """
        if self.code:
            raise RuntimeError(f"{what}: {self.message}")


def import_commands() -> None:
    """Import everything once, in this process; packages of extras are left out where they are missing."""
    import dragoman

    names = [module.name for module in pkgutil.walk_packages(dragoman.__path__, "dragoman.")]
    for name in (*LIBRARIES, *names):
        with suppress(ImportError):
            if not name.endswith("__main__"):
                importlib.import_module(name)
    import torch

    torch.set_num_threads(1)


def run_command(
    arguments: Sequence[str | Path],
    *,
    stdin: bytes = b"",
    folder: Path | None = None,
    before: Callable[[], object] = lambda: None,
    seconds: float = PATIENCE,
    stop: signal.Signals = signal.SIGKILL,
) -> Ended:
    """Run `dragoman ARGUMENTS` in a child; `before` is called in the child first.

    A child that takes longer than `seconds` is sent the signal `stop`; the code of one that is killed is -9.
    """

    def command() -> int:
        from dragoman.cli.main import main

        if folder is not None:
            os.chdir(folder)
        before()
        return main([str(argument) for argument in arguments])

    return run_function(command, stdin=stdin, seconds=seconds, stop=stop)


def run_function(
    function: Callable[[], int],
    *,
    stdin: bytes = b"",
    seconds: float = PATIENCE,
    stop: signal.Signals = signal.SIGKILL,
) -> Ended:
    """Call a function in a child, whose exit code it returns; an exception is a traceback and code 1, as usual."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process == 0:
            _be_child(function, (given.fileno(), out.fileno(), err.fileno()))
        code = _wait(process, seconds, stop)
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read())


def _be_child(function: Callable[[], int], streams: tuple[int, int, int]) -> None:
    """Run the function and end the process; never returns."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        # new objects: those of the parent may be replaced by a test runner, or keep what it had buffered
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        code = function()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _wait(process: int, seconds: float, stop: signal.Signals) -> int:
    end = time.monotonic() + seconds
    pause = 0.0005
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(process, stop)
            stop, end = signal.SIGKILL, time.monotonic() + PATIENCE
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
