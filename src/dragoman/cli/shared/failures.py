"""Failures as one line: lack of memory, threads or open files, and mistakes that all ranks of torchrun make.

The lack of a resource is recognised in the errors of libraries and of the system. torchrun starts a process for each
rank of a machine.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import ConfigError, DragomanError, OtherRankError

_OUT_OF_MEMORY = (
    *("allocate memory", "out of memory", "bad_alloc", "bad allocation", "failed to allocate"),
    *("failed to map segment", "storage size calculation overflowed"),
)
"""What libraries say, in lower case, where memory or address space is missing."""


@contextmanager
def resources_checked(command: str) -> Iterator[None]:
    """Turn failures for lack of memory, file descriptors or threads into errors of one line.

    Raises:
        DragomanError: a resource is lacking; the message names the command, the resource, and what to lower or raise.
    """
    try:
        yield
    except Exception as error:
        lack = next(filter(None, map(_lack, _causes(error))), None)
        if lack is None:
            raise
        in_one_line = DragomanError(f"{command}: {lack}")
        for note in getattr(error, "__notes__", ()):
            in_one_line.add_note(note)
        raise in_one_line from error


def _lack(error: BaseException) -> str | None:
    text = str(error).lower()
    if isinstance(error, DragomanError):
        return None  # its words may be those of a user
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open; raise the limit (ulimit -n)"
    if "can't start new thread" in text:
        return "no further thread can be started; raise the limit (ulimit -u) or lower --threads"
    if isinstance(error, MemoryError) or any(words in text for words in _OUT_OF_MEMORY):
        return (
            "not enough memory; lower the beam, the batch (--chunk-size, training.batch.size) or the size of the "
            "model, give less input at a time, or raise a limit of the shell (ulimit -v)"
        )
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those that it was raised from or while."""
    for _ in range(10):
        if error is not None:
            yield error
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@contextmanager
def printed_once_under_torchrun() -> Iterator[None]:
    """A block in which all processes of a machine make the same mistake: only the first prints it.

    Raises:
        OtherRankError: in place of an error, on other ranks of this machine than its first.
    """
    try:
        yield
    except DragomanError as error:
        if os.environ.get("WORLD_SIZE", "1") != "1" and os.environ.get("LOCAL_RANK", "0") != "0":
            raise OtherRankError(error.exit_code) from None
        raise


def require_one_process(verb: str) -> None:
    """Refuse a training that cannot be divided among ranks.

    Raises:
        ConfigError: torchrun has started more than one process.
    """
    with printed_once_under_torchrun():
        if os.environ.get("WORLD_SIZE", "1") != "1":
            raise ConfigError(f"{verb} trains in one process; start it without torchrun, or unset WORLD_SIZE")
