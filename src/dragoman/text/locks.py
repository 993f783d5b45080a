"""The lock of a folder: one process at a time writes to it; reading never waits.

    .NAME.dragoman.lock     of a run or an exported folder, which is exchanged as a whole: beside the folder NAME
    DIR/.dragoman-lock      of a folder whose files are written one by one: in the folder DIR

The file names the process that writes. The lock itself is the operating system's, which ends with the process: a file
that a killed process left behind locks nothing.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dragoman.errors import RunError
from dragoman.inputs import owning
from dragoman.stored_files import open_regular
from dragoman.systems import BINARY, IS_WINDOWS, NO_FOLLOW
from dragoman.text.temporary import is_locked_at

LOCK = ".dragoman-lock"
"""Name of the lock that lies in its folder."""
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_OWNER = re.compile(r"process \d+ on [\w.-]{1,100} \(since [0-9TZ:-]{1,40}\)")


@contextmanager
def lock_beside(folder: Path, what: str = "folder") -> Iterator[bool]:
    """Hold the lock of a folder that need not exist; the folder above it does. `what` it is called in the message.

    Yields whether other processes are kept out: not on a file system without locks, nor where nobody may write beside
    the folder, such as above a mounted one.

    Raises:
        RunError: another process holds it (the message names host, process and start), or the lock file cannot be
            created.
    """
    real = Path(os.path.realpath(folder))
    with _locked(folder, real.with_name(f".{real.name}.dragoman.lock"), what, optional=True) as is_locked:
        yield is_locked


@contextmanager
def lock_for_writing(folder: Path) -> Iterator[None]:
    """Hold the lock in an existing folder, whose files the command may read and replace.

    Raises:
        RunError: as for `lock_beside`; or nobody may write into the folder.
    """
    with _locked(folder, folder / LOCK, "folder"), owning(folder):
        yield


@contextmanager
def _locked(folder: Path, path: Path, what: str, *, optional: bool = False) -> Iterator[bool]:
    descriptor, is_locked = None, False
    try:
        descriptor, is_locked = _acquire(path)
    except BlockingIOError:
        raise RunError(
            f"{folder}: {_owner(path)} is writing to this {what}; wait until it has ended, or give another path"
        ) from None
    except OSError as error:
        if not optional or error.errno not in _NOT_ALLOWED:
            raise RunError(f"{folder}: its lock file {path.name} cannot be created: {error.strerror}") from None
    try:
        yield is_locked
    finally:
        if descriptor is not None:
            _release(path, descriptor)


def _acquire(path: Path) -> tuple[int, bool]:
    """The descriptor of the lock file, and whether it is locked: some file systems have no locks.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be created.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW | BINARY, 0o666)
        try:
            is_locked = is_locked_at(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise
        if is_locked is not False:
            owner = f"process {os.getpid()} on {socket.gethostname()} (since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ})"
            with suppress(OSError):  # of a full disk: others are told of another process
                os.ftruncate(descriptor, 0)
                os.write(descriptor, owner.encode())
            return descriptor, bool(is_locked)
        os.close(descriptor)  # its owner removed the file before this process had the lock


def _release(path: Path, descriptor: int) -> None:
    """Remove the file before the lock is released: afterwards it may be another process's. Windows needs it closed."""
    steps: list[Callable[[], None]] = [path.unlink, partial(os.close, descriptor)]
    for step in reversed(steps) if IS_WINDOWS else steps:
        with suppress(OSError):  # the file was removed, another process has opened it, or the disk has a fault
            step()


def _owner(path: Path) -> str:
    """The process that the lock file names, for messages."""
    with suppress(OSError, UnicodeDecodeError), open_regular(path) as file:
        if _OWNER.fullmatch(owner := file.read(300).decode()):
            return owner
    return "another process"
