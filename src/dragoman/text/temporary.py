"""Temporary files and folders beside the place where their contents are to be, and their removal after a kill.

    .NAME.dragoman-new      the file that replaces NAME; dragoman-new2 and so on while several processes write to NAME
    .NAME.dragoman-X/       the folder that is to be NAME; X is drawn

A process locks what it writes (flock). The system releases the lock when the process ends, however it ends: what is
there and can be locked was left behind by a process that was killed, and the next one that writes to NAME removes it.
On a file system without locks nothing is removed, because whether its process still runs cannot be known there.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from dragoman.errors import DragomanError
from dragoman.inputs import require_no_input_in

FILE = re.compile(r"\.(.+)\.dragoman-new\d*")
"""The name of a temporary file; group 1 is the name of the file that it is to replace."""

_PREPARED: set[Path] = set()
"""Folders that this process prepares; a failure removes them."""


def is_prepared(path: str | Path) -> bool:
    """Whether a file is in a folder that this process prepares, and that is not yet in its place."""
    return not _PREPARED.isdisjoint(Path(path).parents)


@contextmanager
def preparing_for(final: Path, folder: Path) -> Iterator[None]:
    """A block in which `folder` is prepared, which is to be `final`; errors name its files by their later paths."""
    _PREPARED.add(folder)
    try:
        yield
    except DragomanError as error:
        error.args = tuple(str(argument).replace(str(folder), str(final)) for argument in error.args)
        raise
    except OSError as error:
        if isinstance(error.filename, str):
            error.filename = error.filename.replace(str(folder), str(final))
        raise
    finally:
        _PREPARED.remove(folder)


def create_temporary_file(final: Path) -> tuple[int, Path]:
    """Create the file that is to replace `final`, and lock it; gives its descriptor, for writing, and its path.

    Raises:
        OSError: it cannot be created.
    """
    for number in count(1):
        path = final.with_name(f".{final.name}.dragoman-new{'' if number == 1 else number}")
        while not os.path.lexists(path) or _remove_abandoned(path, os.unlink):
            with suppress(FileExistsError):  # another process was quicker
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
                if _lock(descriptor, path):
                    return descriptor, path
                os.close(descriptor)
    raise AssertionError


@contextmanager
def temporary_folder(parent: Path, prefix: str, remove: Callable[[Path], object] = shutil.rmtree) -> Iterator[Path]:
    """Yield a new folder PREFIX + X in `parent`, locked, which is removed at the end unless it has been moved.

    Args:
        remove: removes such a folder that a killed process left behind.

    Raises:
        OSError: it cannot be created.
    """
    for abandoned in parent.glob(f"{prefix}*"):
        _remove_abandoned(abandoned, remove)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        descriptor = os.open(folder, os.O_RDONLY)
        if _lock(descriptor, folder):
            break
        os.close(descriptor)  # another process took it for abandoned before it was locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned_folders(parent: Path, prefix: str, remove: Callable[[Path], object] = shutil.rmtree) -> None:
    """Remove the folders of `temporary_folder` whose processes were killed."""
    for abandoned in parent.glob(f"{prefix}*"):
        _remove_abandoned(abandoned, remove)


def _remove_abandoned(path: Path, remove: Callable[[Path], object]) -> bool:
    """Remove a temporary file or folder, unless its process still runs; says whether the name is free."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # of another user, or not a file that dragoman writes
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, descriptor):
            remove(path)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lock(descriptor: int, path: Path) -> bool:
    """Lock what this process has just created; False if another process took it for abandoned."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return _is_at(path, descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


# Power failures -----------------------------------------------------------------------------------------------------


def sync_folder(folder: Path) -> None:
    """Let the names in a folder, new or changed, survive a power failure.

    Raises:
        OSError: the disk has a fault.
    """
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
            with open(os.path.join(parent, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


# Folders ------------------------------------------------------------------------------------------------------------


@contextmanager
def new_folder(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder that is renamed to `final` at the end of a successful block.

    Args:
        replace: replace an older folder there, in one step where the file system can exchange two names (on Linux the
            local ones can), so that there is the old one or the new one at any time.

    Raises:
        ConfigError: a file of the older folder is an input of the command.
        OSError: the folder cannot be written, or is there already.
    """
    require_no_input_in(final)
    with temporary_folder(final.parent, f".{final.name}.dragoman-") as beside:
        new = beside / "new"
        new.mkdir()
        with preparing_for(final, new):
            yield new
        sync_tree(new)
        require_no_input_in(final)  # again: it may have been read in the meantime
        if not replace or not os.path.lexists(final):
            os.rename(new, final)
        elif not _exchange(new, final):
            os.rename(final, beside / "old")
            try:
                os.rename(new, final)
            except BaseException:
                os.rename(beside / "old", final)
                raise
        sync_folder(final.parent)


_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where system or file system cannot do that."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    done: int = rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    return done == 0
