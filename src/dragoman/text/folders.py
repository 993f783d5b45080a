"""Folders that are prepared beside their place, and take it at once.

    .NAME.dragoman-X/new    the folder that is to be NAME, and after an exchange the old one; X is drawn
    .NAME.dragoman-X/old    the old folder, where the file system cannot exchange two names

At any time there is the old folder or the new one. Where the file system cannot exchange two names (on Linux the local
ones can), a kill can leave neither; then `restore_folder` and the next writer put the old one back. Whoever holds the
lock of NAME knows that the processes which prepared such folders have ended: what they had begun it completes, and
removes what they left.
"""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dragoman.errors import DragomanError, RunError
from dragoman.inputs import require_no_input_in
from dragoman.systems import IS_WINDOWS
from dragoman.text.locks import lock_beside
from dragoman.text.temporary import make_folder, sync_folder, sync_tree, writing

IsPart = Callable[[str], bool]
"""Whether a name belongs to such a folder; what does not is moved from the old folder to the new one."""


class PreparedFolder:
    """A folder that is prepared; `open` gives one."""

    def __init__(self, final: Path, path: Path, is_part: IsPart) -> None:
        self.path = path
        """The new folder: `take_place` moves it to its place."""
        self._final, self._is_part = final, is_part

    @classmethod
    @contextmanager
    def open(cls, final: Path, what: str = "folder", is_part: IsPart = lambda name: True) -> Iterator[PreparedFolder]:
        """Hold the lock of a place, which `what` names in messages, and give a new folder for it, which is empty.

        At the end of the block the new folder is removed unless it has taken its place. Errors name its files by their
        later paths.

        Raises:
            RunError: another process writes to this place; or as for `require_exchangeable`.
            OSError: the folder cannot be created.
        """
        require_exchangeable(final)
        make_folder(final.parent)
        real = Path(os.path.realpath(final))
        with lock_beside(final, what) as is_locked:
            if is_locked:
                finish_abandoned(real, is_part)
            beside = Path(tempfile.mkdtemp(prefix=f".{real.name}.dragoman-", dir=real.parent))
            try:
                (beside / "new").mkdir()
                with _naming_files_in(final, beside / "new"):
                    yield cls(real, beside / "new", is_part)
            finally:
                with suppress(OSError):
                    _finish(beside, real, is_part)

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
        _finish(new.parent, final, self._is_part)


@contextmanager
def new_folder(final: Path, *, replace: bool = False, refuse: Callable[[], object] = lambda: None) -> Iterator[Path]:
    """Yield an empty folder that is renamed to `final` at the end of a successful block.

    Args:
        replace: replace an older folder there.
        refuse: refuses what may not be replaced; called when the folder is complete.

    Raises:
        ConfigError: a file of the older folder is an input of the command.
        RunError: another process writes to the folder.
        InputError: it cannot be written, or is there already.
    """
    require_no_input_in(final)
    with writing(final), PreparedFolder.open(final) as prepared:
        yield prepared.path
        refuse()
        require_no_input_in(final)  # again: it may have been read in the meantime
        prepared.take_place(replace=replace)


def require_exchangeable(final: Path) -> None:
    """Refuse a place that no other folder can take.

    Raises:
        RunError: it is the current folder, one above it, or a mounted file system.
    """
    if not os.path.isdir(final):  # where the current folder was removed, a new one elsewhere can still be written
        return
    if os.path.ismount(final) or Path.cwd().is_relative_to(os.path.realpath(final)):
        what = "a mounted file system" if os.path.ismount(final) else "the current folder, or above it"
        raise RunError(f"{final}: is {what}, and the whole folder is replaced; give another path to --out")


def require_free(final: Path, what: str, foreign: Callable[[Path], Sequence[str] | None], *, overwrite: bool) -> None:
    """Refuse a place where a new folder would destroy anything other than, with `overwrite`, an older one of its kind.

    Args:
        what: the kind of folder, such as "exported site".
        foreign: gives the names in a folder that are no part of it; None for a folder of another kind.

    Raises:
        RunError: there is something else.
    """
    if final.is_symlink() or (final.exists() and not final.is_dir()):
        raise RunError(f"{final}: is there already and is no folder; give another path")
    if not final.exists() or not any(final.iterdir()):
        return
    names = foreign(final)
    if names is None:
        raise RunError(f"{final}: holds other files; give the path of a new folder")
    if not overwrite:
        raise RunError(f"{final}: an {what} is there already; --overwrite replaces it, or give another path")
    if names:
        raise RunError(
            f"{final}: --overwrite replaces the {what}, but {final / names[0]} is no part of it; move what is not part "
            "of it elsewhere"
        )


def finish_abandoned(final: Path, is_part: IsPart) -> None:
    """Complete what killed processes had begun to replace, and remove what they left; the caller holds the lock.

    Not on Windows, where a kill can leave a new folder that is not complete (see `_move`): the old one is kept.
    """
    for beside in () if IS_WINDOWS else _prepared_for(final):
        with suppress(OSError):  # a file that cannot be moved from the old folder to the new one is kept
            _finish(beside, final, is_part)


def restore_folder(final: Path) -> None:
    """Put a folder back into its place, where a process was killed between moving it away and replacing it."""
    with suppress(OSError, ValueError, RunError):  # a name that no folder can have; or a process is replacing it
        final = Path(os.path.realpath(final))
        if not os.path.lexists(final) and (left := _prepared_for(final)):
            with lock_beside(final):
                for beside in left:
                    _put_back(beside, final)


def _prepared_for(final: Path) -> list[Path]:
    """The folders beside a place in which folders for it are prepared, or were."""
    drawn = "?" * 8
    named = final.parent.glob(f".{glob.escape(final.name)}.dragoman-{drawn}")
    return [beside for beside in named if beside.is_dir() and not beside.is_symlink()]


def _finish(beside: Path, final: Path, is_part: IsPart) -> None:
    """Remove a folder beside the place, once nothing of it is needed there."""
    _put_back(beside, final)
    for old in (beside / "new", beside / "old"):
        for entry in sorted(old.iterdir()) if old.is_dir() and final.is_dir() else ():
            if not is_part(entry.name) and not os.path.lexists(final / entry.name):
                os.rename(entry, final / entry.name)
    shutil.rmtree(beside, ignore_errors=True)


def _put_back(beside: Path, final: Path) -> None:
    if not os.path.lexists(final) and os.path.lexists(beside / "old"):
        os.rename(beside / "old", final)


@contextmanager
def _naming_files_in(final: Path, folder: Path) -> Iterator[None]:
    """A block in which `folder` is prepared, which is to be `final`: errors name its files by their later paths."""
    try:
        yield
    except DragomanError as error:
        error.args = tuple(str(argument).replace(str(folder), str(final)) for argument in error.args)
        raise
    except OSError as error:
        if isinstance(error.filename, str):
            error.filename = error.filename.replace(str(folder), str(final))
        raise


def _move(folder: Path, final: Path) -> None:
    """Rename a folder; on Windows, where files in it may not be open, give its files second names."""
    if not IS_WINDOWS:
        os.rename(folder, final)
        return
    final.mkdir()
    try:
        shutil.copytree(folder, final, copy_function=os.link, dirs_exist_ok=True)
    except BaseException:
        shutil.rmtree(final, ignore_errors=True)
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
