"""The lock of a run: one process at a time writes to a run; reading never waits.

.RUN.dragoman.lock exists beside RUN while a process trains or imports the run, and names that process. The lock itself
is the operating system's, which ends with the process: a file that a killed process left behind locks nothing.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragoman.errors import RunError
from dragoman.inputs import owning
from dragoman.stored_files import decode_json, read_regular
from dragoman.systems import BINARY, IS_WINDOWS, lock

LOCK = ".dragoman-lock"
"""Name of the lock of a folder of outputs, which lies in it."""
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def lock_run(run: Path) -> Iterator[None]:
    """Hold the lock of a run folder, which need not exist; the folder above it does.

    Where nobody may write beside the run, such as above a mounted folder, there is no lock.

    Raises:
        RunError: as for `lock_for_writing`.
    """
    real = Path(os.path.realpath(run))
    with _locked(run, real.with_name(f".{real.name}.dragoman.lock"), "run", optional=True):
        yield


@contextmanager
def lock_for_writing(folder: Path, what: str = "folder") -> Iterator[None]:
    """Hold the lock of an existing folder: `what` it is called in the message.

    Raises:
        RunError: another process holds it (the message names host, process and start), or the lock file cannot be
            created.
    """
    with _locked(folder, folder / LOCK, what):
        yield


@contextmanager
def _locked(folder: Path, path: Path, what: str, *, optional: bool = False) -> Iterator[None]:
    descriptor = None
    try:
        descriptor = _acquire(path)
    except BlockingIOError:
        raise RunError(
            f"{folder}: {_owner(path)} is writing to this {what}; wait until it has ended, or give another path"
        ) from None
    except OSError as error:
        if not optional or error.errno not in _NOT_ALLOWED:
            raise RunError(f"{path}: the lock file cannot be created: {error.strerror}") from None
    try:
        with owning(folder):
            yield
    finally:
        if descriptor is not None:
            _release(path, descriptor)


def _release(path: Path, descriptor: int) -> None:
    """Remove the file before the lock is released: afterwards it may be another process's. Windows needs it closed."""
    with suppress(OSError):  # of a file that has been removed
        if IS_WINDOWS:
            os.close(descriptor)
    with suppress(OSError):  # or that another process has opened
        path.unlink()
    with suppress(OSError):
        if not IS_WINDOWS:
            os.close(descriptor)


def _acquire(path: Path) -> int:
    """Lock the file, write this process into it, and return its descriptor.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be created.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o666)
        try:
            _lock(descriptor)
            if _is_at(path, descriptor):
                _write_owner(path, descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its owner removed the file before this process had the lock


def _write_owner(path: Path, descriptor: int) -> None:
    """Write this process into the file; without room for that, the file is removed."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps(_this_process()).encode() + b"\n")
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def _lock(descriptor: int) -> None:
    try:
        lock(descriptor)
    except BlockingIOError:
        raise
    except OSError:
        return  # a file system without locks: training without a lock is better than refusing


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _this_process() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


class _Owner(Struct):
    host: str
    process: int
    since: str


def _owner(path: Path) -> str:
    """The process that the file names, for messages."""
    try:
        owner = decode_json(read_regular(path), _Owner)
    except (OSError, ValueError):
        return "another process"
    return f"process {owner.process} on {owner.host[:100]} (since {owner.since[:40]})"
