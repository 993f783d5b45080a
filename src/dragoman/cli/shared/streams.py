"""The standard streams of the command: closed, full or of another encoding, and messages on standard error."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from dragoman.errors import InputError, one_line, reason_of

log = logging.getLogger(__name__)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Make the standard streams usable whatever the command was started with, while it runs.

    A closed descriptor is opened on the null device, the wrong way round, so that no file that is opened later gets its
    number and receives messages or output. Reading or writing it fails with the usual error; only messages to a closed
    standard error are lost.

    What is printed is UTF-8, as in all files of dragoman; a terminal of another encoding shows escape sequences for
    characters that it lacks.
    """
    for descriptor, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    # Python has None for a stream that was closed when it started.
    sys.stdin = sys.stdin or io.TextIOWrapper(open(0, "rb", closefd=False))  # noqa: SIM115
    sys.stderr = sys.stderr or io.TextIOWrapper(open(2, "wb", closefd=False), errors="backslashreplace")  # noqa: SIM115
    before = sys.stdout
    if before is None or before is sys.__stdout__:
        sys.stdout = _standard_output(before)
    try:
        yield
    finally:
        _settle_output()
        sys.stdout = before


def _standard_output(before: TextIO | None) -> TextIO:
    at_terminal = os.isatty(1)
    if before is not None:
        with suppress(OSError):
            before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "wb", closefd=False)),
        encoding=before.encoding if before is not None and at_terminal else "utf-8",
        errors="backslashreplace",
        line_buffering=at_terminal,
    )


class _Output(io.FileIO):
    """Standard output, which remembers why it could not be written."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


@contextmanager
def printing() -> Iterator[None]:
    """Write what a command has printed, also if it ends by SystemExit, as after --help.

    Raises:
        InputError: the operating system refuses an operation that nobody has named: standard output cannot be written,
            there are too few file descriptors.
        BrokenPipeError: the reader of standard output has closed it.
    """
    try:
        try:
            yield
        except SystemExit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _explained(error) from error


def _explained(error: OSError) -> InputError:
    if error.filename is not None:
        return InputError(f"{os.fsdecode(error.filename)}: {reason_of(error)}")
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output) and raw.failure is error:
        return InputError(f"standard output: cannot be written: {reason_of(error)}")
    return InputError(reason_of(error))


def _settle_output() -> None:
    """Let later flushes succeed, the interpreter's own at exit among them, after standard output has failed."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)


def say(message: str) -> None:
    """Print a message as one line on standard error; if that is impossible, it is lost."""
    with suppress(OSError, ValueError):
        print(one_line(message), file=sys.stderr, flush=True)


class Warnings(logging.Handler):
    """Prints log records as warnings of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(f"dragoman: warning: {record.getMessage()}")


@contextmanager
def library_warnings_as_lines() -> Iterator[None]:
    """Print the Python warnings of libraries as warnings of the command: one line each, with the library's name.

    Python itself prints two lines: place and category, then the statement that warned.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _log_warning
        yield


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    log.warning("%s: %s", _library(filename), message)


def _library(filename: str) -> str:
    """The name of the package that a file belongs to: torch of .../site-packages/torch/nn/modules/rnn.py."""
    parts = Path(filename).parts
    installed = [index for index, part in enumerate(parts) if part in ("site-packages", "dist-packages")]
    return Path(parts[installed[-1] + 1]).stem if installed and installed[-1] + 1 < len(parts) else Path(filename).stem
