"""Temporary files and folders beside the place where their contents are to be, and their removal after a kill.

    .NAME.dragoman-new      the file that replaces NAME; dragoman-new2 and so on while several processes write to NAME
    .NAME.dragoman-X/new    the folder that is to be NAME, and after an exchange the old one; X is drawn
    .NAME.dragoman-X/old    the old folder, where the file system cannot exchange two names

A process locks what it writes. The system releases the lock when the process ends, however it ends: what is there and
can be locked was left behind by a process that was killed, and the next one that writes to NAME removes it. On a file
system without locks nothing is removed, because whether its process still runs cannot be known there.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from dragoman.errors import DragomanError
from dragoman.inputs import require_no_input_in
from dragoman.systems import BINARY, IS_WINDOWS, NO_FOLLOW, lock

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
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | BINARY, 0o666)
                if _lock(descriptor, path):
                    return descriptor, path
                os.close(descriptor)
    raise AssertionError


def _remove_tree(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary_folder(parent: Path, prefix: str, remove: Callable[[Path], object] = _remove_tree) -> Iterator[Path]:
    """Yield a new folder PREFIX + X in `parent`, locked, which is removed at the end.

    Args:
        remove: removes the folder, or one that a killed process left behind; what it does not remove is kept.

    Raises:
        OSError: it cannot be created.
    """
    remove_abandoned_folders(parent, prefix, remove)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        descriptor = _open_folder(folder)
        if descriptor is None or _lock(descriptor, folder):
            break
        os.close(descriptor)  # another process took it for abandoned before it was locked
    try:
        yield folder
    finally:
        with suppress(OSError):
            remove(folder)
        if descriptor is not None:
            os.close(descriptor)


def remove_abandoned_folders(parent: Path, prefix: str, remove: Callable[[Path], object] = _remove_tree) -> None:
    """Remove the folders of `temporary_folder` whose processes were killed."""
    for abandoned in parent.glob(f"{glob.escape(prefix)}*"):
        _remove_abandoned(abandoned, remove)


def _open_folder(folder: Path) -> int | None:
    """The descriptor of a folder; None on Windows, which has none."""
    return None if IS_WINDOWS else os.open(folder, os.O_RDONLY | NO_FOLLOW)


def _remove_abandoned(path: Path, remove: Callable[[Path], object]) -> bool:
    """Remove a temporary file or folder, unless its process still runs; says whether the name is free."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # of another user, not a file that dragoman writes, or a folder on Windows
    try:
        lock(descriptor)
        if _is_at(path, descriptor):
            if IS_WINDOWS:
                os.close(descriptor)  # an open file cannot be removed there
                descriptor = -1
            remove(path)
    except OSError:
        return False
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return True


def _lock(descriptor: int, path: Path) -> bool:
    """Lock what this process has just created; False if another process took it for abandoned."""
    try:
        lock(descriptor)
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


# Folders ------------------------------------------------------------------------------------------------------------


class PreparedFolder:
    """A folder that is prepared beside its place, and takes it at once; a context manager.

    At any time there is the old folder or the new one. Where the file system cannot exchange two names (on Linux the
    local ones can), a kill can leave neither; then `restore_folder` and the next writer put the old one back.
    """

    def __init__(self, final: Path, is_part: Callable[[str], bool] = lambda name: True) -> None:
        """
        Args:
            final: its place; the folder above exists.
            is_part: whether a name belongs to such a folder; what does not is moved from the old one to the new one.
        """
        self._final, self._is_part = Path(os.path.realpath(final)), is_part
        self._prefix = f".{self._final.name}.dragoman-"
        self._named = final

    @contextmanager
    def open(self) -> Iterator[Path]:
        """Yield the new folder, empty; it is removed at the end of the block unless it has taken its place.

        Raises:
            OSError: it cannot be created.
        """
        with temporary_folder(self._final.parent, self._prefix, self._remove) as beside:
            self.path = beside / "new"
            self.path.mkdir()
            with preparing_for(self._named, self.path):
                yield self.path

    def take_place(self, *, replace: bool) -> None:
        """Move the folder to its place; its files survive a power failure.

        Args:
            replace: replace a folder that is there; the new one gets its owner and permissions where that is permitted.

        Raises:
            OSError: it cannot be moved; at the end of the block the old folder is in its place.
        """
        final, new = self._final, self.path
        sync_tree(new)
        if not replace or not os.path.lexists(final):
            _move(new, final)
        else:
            _give_mode(new, final)
            if not _exchange(new, final):
                os.rename(final, new.with_name("old"))
                _move(new, final)
        sync_folder(final.parent)
        self._move_others(new.parent)

    def finish_abandoned(self) -> None:
        """Complete what killed processes had begun to replace, and remove what they left."""
        remove_abandoned_folders(self._final.parent, self._prefix, self._remove)

    def _move_others(self, beside: Path) -> None:
        """Move what is no part of an old folder to the present one."""
        for old in (beside / "new", beside / "old"):
            for entry in sorted(old.iterdir()) if old.is_dir() else ():
                if not self._is_part(entry.name) and not os.path.lexists(self._final / entry.name):
                    os.rename(entry, self._final / entry.name)

    def _remove(self, beside: Path) -> None:
        """Remove what is left beside the place, once nothing of it is needed there."""
        _put_back(beside, self._final)
        if self._final.is_dir():
            self._move_others(beside)
        _remove_tree(beside)


@contextmanager
def new_folder(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder that is renamed to `final` at the end of a successful block.

    Args:
        replace: replace an older folder there, as `PreparedFolder` does.

    Raises:
        ConfigError: a file of the older folder is an input of the command.
        OSError: the folder cannot be written, or is there already.
    """
    require_no_input_in(final)
    prepared = PreparedFolder(final)
    with prepared.open() as new:
        yield new
        require_no_input_in(final)  # again: it may have been read in the meantime
        prepared.take_place(replace=replace)


def restore_folder(final: Path) -> None:
    """Put a folder back into its place, where a process was killed between moving it away and replacing it."""
    with suppress(OSError, ValueError):  # or a name that no folder can have
        final = Path(os.path.realpath(final))
        if not os.path.lexists(final):
            for beside in final.parent.glob(f".{glob.escape(final.name)}.dragoman-*"):
                if not _is_in_use(beside):
                    _put_back(beside, final)


def _is_in_use(folder: Path) -> bool:
    """Whether the process that prepares a folder still runs; false where that cannot be known."""
    descriptor = _open_folder(folder)
    try:
        if descriptor is not None:
            lock(descriptor)
    except BlockingIOError:
        return True
    except OSError:
        pass
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return False


def _put_back(beside: Path, final: Path) -> None:
    if not os.path.lexists(final) and os.path.lexists(beside / "old"):
        os.rename(beside / "old", final)


def _move(folder: Path, final: Path) -> None:
    """Rename a folder; on Windows, where files in it may not be open, give its files second names."""
    if not IS_WINDOWS:
        os.rename(folder, final)
        return
    final.mkdir()
    try:
        shutil.copytree(folder, final, copy_function=os.link, dirs_exist_ok=True)
    except BaseException:
        _remove_tree(final)
        raise


def _give_mode(folder: Path, model: Path) -> None:
    """Give a folder the owner and the permissions of another one, where that is permitted."""
    status = os.stat(model)
    with suppress(OSError, AttributeError):  # not on Windows
        os.chown(folder, status.st_uid, status.st_gid)
    with suppress(OSError):
        os.chmod(folder, stat.S_IMODE(status.st_mode))


_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where system or file system cannot do that."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    done: int = rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    return done == 0
