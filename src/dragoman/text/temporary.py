"""Temporary files beside the place where their contents are to be, and what lets files survive a power failure.

    .NAME.dragoman-new      the file that replaces NAME; dragoman-new2 and so on while several processes write to NAME

A process locks what it writes. The system releases the lock when the process ends, however it ends: what is there and
can be locked was left behind by a process that was killed, and the next one that writes to NAME removes it. On a file
system without locks nothing is removed, because whether its process still runs cannot be known there.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from dragoman.errors import InputError
from dragoman.systems import BINARY, IS_WINDOWS, NO_FOLLOW, lock

FILE = re.compile(r"\.(.+)\.dragoman-new\d*")
"""The name of a temporary file; group 1 is the name of the file that it is to replace."""


def create_temporary_file(final: Path) -> tuple[int, Path]:
    """Create the file that is to replace `final`, and lock it; gives its descriptor, for writing, and its path.

    Raises:
        OSError: it cannot be created.
    """
    for number in count(1):
        path = final.with_name(f".{final.name}.dragoman-new{'' if number == 1 else number}")
        _remove_abandoned(path)
        with suppress(FileExistsError):  # of a process that runs
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | BINARY, 0o666)
            with suppress(BlockingIOError):  # another process took it for abandoned before it was locked
                if is_locked_at(path, descriptor) is not False:
                    return descriptor, path
            os.close(descriptor)
    raise AssertionError


def _remove_abandoned(path: Path) -> None:
    """Remove a temporary file, unless its process may still run, or it is not one that dragoman writes."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW)
        try:
            if is_locked_at(path, descriptor):
                if IS_WINDOWS:  # where an open file cannot be removed
                    os.close(descriptor)
                path.unlink()
        finally:
            with suppress(OSError):
                os.close(descriptor)


def is_locked_at(path: Path, descriptor: int) -> bool | None:
    """Lock an open file; False if it has lost its name to another process, None on a file system without locks.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    try:
        lock(descriptor)
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
    except BlockingIOError:
        raise
    except OSError:
        return None


@contextmanager
def writing(path: str | Path, failed: str = "cannot be written", hint: str = "") -> Iterator[None]:
    """A block that writes a file or folder: an error of the system names it, and says what `failed` and what to do.

    Raises:
        InputError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {failed}: {error.strerror}{hint}") from error


def sync_folder(folder: Path) -> None:
    """Let the names in a folder, new or changed, survive a power failure.

    Raises:
        OSError: the disk has a fault.
    """
    if IS_WINDOWS:
        return  # which writes names by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot do this for folders
            raise
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder and those above it where they are missing; their names survive a power failure.

    Raises:
        OSError: one cannot be created; FileExistsError: there is a file of that name.
    """
    missing = [folder for folder in (path, *path.parents) if not os.path.exists(folder)]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def sync_tree(folder: Path) -> None:
    """Let all files below a folder survive a power failure.

    Raises:
        OSError: the disk has a fault.
    """
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            with open(os.path.join(parent, name), "r+b" if IS_WINDOWS else "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))
