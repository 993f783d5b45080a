"""The files of a run folder, the marker file of a run, and the atomic replacement of a run by a new one.

RUN/run.json marks a folder as a dragoman run; a folder without it is never overwritten. Only files with the names that
dragoman gives are removed from a run, and symbolic links are removed, not followed.

A new run is prepared in a hidden folder inside RUN, which is on the same disk and also works for `--out .` and for
links. It replaces the old run by renaming, in steps that a later command completes if the process is killed:

    RUN/.dragoman-new.X/     the new run while it is prepared, locked by its process; the old run is unchanged
    RUN/.dragoman-complete/  the prepared run; from this renaming on, the new run is the valid one
    RUN/.dragoman-old.X/     the parts of the old run are moved here, and removed at the end
    RUN/.dragoman-moving/    the parts of the new run are moved from here into RUN
    RUN/.dragoman-segments   text that is segmented for the new run: what a kill leaves, the next start goes on with
"""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import NamedTuple

from msgspec import field

from dragoman.errors import RunError
from dragoman.inputs import unnoted
from dragoman.stored_files import JsonFile, NewerFormat, dump_json, read_json, sha256_of
from dragoman.text import temporary
from dragoman.text.lines import replace_file

MARK = "run.json"
KIND = "dragoman run"
FORMAT = 1
"""Format version of a run folder; newer ones are refused."""

_SIDES = ("source", "target")
_STORE = (
    *(f"{side}.{kind}" for side, kind in product(_SIDES, ("ids", "offsets", "provisional"))),
    *("links.pairs", "links.offsets", "meta.json"),
)
_TOP = (MARK, "config.yaml", "model.safetensors", "log.jsonl", "report.html")
_FOLDERS: dict[str, tuple[str, ...]] = {
    "text": tuple(f"{side}.{kind}" for side, kind in product(_SIDES, ("segmentation.json", "vocabulary", "model"))),
    "data": ("dev.jsonl", "dev.txt", "inspection.json"),
    "data/train": _STORE,
    "data/dev": _STORE,
    "checkpoints": ("latest.safetensors", "best-*.safetensors"),
    "tensorboard": ("events.out.tfevents.*",),
}
"""Patterns of the files that dragoman writes into each folder of a run."""
PARTS = (*_TOP, *(name for name in _FOLDERS if "/" not in name))
"""The files and folders at the top level of a run."""

_REMEDY = "restore the file from a copy of the run folder, or train again with --overwrite"
_MARK_REMEDY = "restore it from a copy of the run folder; without it the run can be read, but is not verified"

_PREFIX = ".dragoman-"
_COMPLETE, _MOVING = f"{_PREFIX}complete", f"{_PREFIX}moving"
SEGMENTS = f"{_PREFIX}segments"
_NEW, _OLD = f"{_PREFIX}new.", f"{_PREFIX}old."


class Files(NamedTuple):
    """The files of a run folder, divided into those of dragoman and others."""

    ours: list[Path]
    foreign: list[Path]
    """Files in the folders of a run with names that dragoman does not give."""


class _Mark(JsonFile, frozen=True, kw_only=True):
    """run.json; `text` and `data` are the SHA-256 of files in these folders, by name."""

    kind: str
    text: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)


def write_mark(run: Path) -> None:
    """Write run.json, which marks a folder as a run and has the SHA-256 of the files in text/ and data/.

    The stored corpora in data/train and data/dev have digests of their own.

    Raises:
        InputError: it cannot be written.
    """
    digests = {
        folder: {
            path.name: sha256_of(path)
            for path in sorted((run / folder).glob("*"))
            if path.is_file() and any(fnmatch(path.name, known) for known in _FOLDERS[folder])
        }
        for folder in ("text", "data")
    }
    with replace_file(run / MARK) as file:
        file.write(dump_json({"kind": KIND, "format": FORMAT, **digests}))


def require_intact_text(run: Path, side: str) -> None:
    """Compare the files of one side in text/ with the digests in run.json.

    A copy of a run without run.json is not checked.

    Raises:
        RunError: a file was altered.
    """
    mark = _read_mark(run)
    for name, digest in mark.text.items() if mark else ():
        if name in _FOLDERS["text"] and name.startswith(f"{side}."):
            _require_intact(run / "text" / name, digest)


def require_intact_data(run: Path, path: Path) -> None:
    """Compare a file in data/ with its digest in run.json, if there is one.

    Raises:
        RunError: the file was altered.
    """
    mark = _read_mark(run)
    if mark and path.name in mark.data:
        _require_intact(path, mark.data[path.name])


def _require_intact(path: Path, digest: str) -> None:
    if not os.path.lexists(path):
        return  # whoever reads it reports that
    try:
        found = sha256_of(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}; {_REMEDY}") from None
    if found != digest:
        raise RunError(f"{path}: is damaged: its SHA-256 differs from that in {MARK}; {_REMEDY}")


@unnoted()
def is_marked(run: Path) -> bool:
    """Whether run.json marks a folder as a dragoman run of this format; false if run.json is damaged.

    Raises:
        RunError: the run has a newer format.
    """
    try:
        return _read_mark(run) is not None
    except NewerFormat:
        raise
    except RunError:
        return False


def require_intact_mark(run: Path) -> None:
    """Check run.json if it exists; a copy of a run without it may be read.

    Raises:
        RunError: it is damaged, of another program, or of a newer format.
    """
    _read_mark(run)


def _read_mark(run: Path) -> _Mark | None:
    """The contents of run.json; None if it is missing."""
    try:
        mark = read_json(run / MARK, _Mark, newest=FORMAT, remedy=_MARK_REMEDY)
    except FileNotFoundError:
        return None
    if mark.kind != KIND:
        raise RunError(f"{run / MARK}: kind: is not {KIND!r}; {_MARK_REMEDY}")
    return mark


def parts_in(run: Path) -> list[str]:
    """The names in `PARTS` that exist in a folder, whether or not it is a run."""
    return [name for name in PARTS if os.path.lexists(run / name)]


def sort_files(run: Path) -> Files:
    """List the files in the parts of a run, dragoman's and others; other names at the top level are left out."""
    found = Files([], [])
    for entry in sorted(_entries(run), key=lambda entry: entry.name):
        _sort(entry, entry.name, _TOP, found, list_foreign=entry.name in PARTS)
    return found


def _sort(
    entry: os.DirEntry[str], inside: str, files: Sequence[str], found: Files, *, list_foreign: bool = True
) -> None:
    """Add a file, or the files of a folder, to `found`; `inside` is the path in the run, `files` the known patterns."""
    unfinished = temporary.FILE.fullmatch(entry.name)
    name = unfinished[1] if unfinished else entry.name
    if entry.is_dir(follow_symlinks=False):
        if inside in _FOLDERS:
            for child in sorted(_entries(Path(entry.path)), key=lambda entry: entry.name):
                _sort(child, f"{inside}/{child.name}", _FOLDERS[inside], found)
        elif list_foreign:
            found.foreign.append(Path(entry.path))
    elif any(fnmatch(name, known) for known in files) or (inside in _FOLDERS and entry.is_symlink()):
        found.ours.append(Path(entry.path))
    elif list_foreign:
        found.foreign.append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def remove_unfinished(run: Path, *, new: bool = False) -> None:
    """Remove what killed processes had begun to write or to remove; the caller holds the lock of the run.

    Args:
        new: whether a new run begins, which goes on with the text that is segmented.

    Raises:
        RunError: it cannot be removed.
    """
    try:
        for path in sort_files(run).ours:
            if temporary.FILE.fullmatch(path.name):
                path.unlink(missing_ok=True)
        temporary.remove_abandoned_folders(run, _NEW, remove_run)
        for old in run.glob(f"{_OLD}*"):
            remove_run(old)
        if not new and os.path.lexists(run / SEGMENTS):
            os.unlink(run / SEGMENTS)
    except OSError as error:
        raise RunError(f"{run}: what a killed process left here cannot be removed: {error.strerror}") from None


def lies_in_parts(run: Path, path: Path) -> bool:
    """Whether a path, existing or not, is inside one of the parts of a run."""
    place = Path(os.path.realpath(path))
    whole = Path(os.path.realpath(run))
    if not place.is_relative_to(whole) or place == whole:
        return False
    first = place.relative_to(whole).parts[0]
    return first in PARTS or first.startswith(_PREFIX)


# Preparing -----------------------------------------------------------------------------------------------------------


@contextmanager
def preparing(run: Path) -> Iterator[Path]:
    """Yield a new hidden folder inside `run`, which is removed at the end of the block unless it has been moved.

    The caller holds the lock of the run.
    """
    remove_unfinished(run, new=True)
    with temporary.temporary_folder(run, _NEW, remove_run) as new, temporary.preparing_for(run, new):
        yield new


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, which the system releases when the process ends; without it on a disk without locks.

    Raises:
        OSError: the folder does not exist.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove_run(folder: Path) -> None:
    """Remove the files that dragoman wrote into a run, then the folders that are empty."""
    for path in sort_files(folder).ours:
        path.unlink(missing_ok=True)
    for name in sorted(_FOLDERS, reverse=True):  # inner ones first
        with suppress(OSError):
            (folder / name).rmdir()
    with suppress(OSError):
        folder.rmdir()


# Replacing -----------------------------------------------------------------------------------------------------------


def take_place(new: Path, run: Path) -> None:
    """Replace the run in `run`, if there is one, by the run prepared in `new`.

    All files of the new run are synchronised to disk first, so that a power failure leaves the old run or the new one.

    Raises:
        RunError: synchronising or renaming fails; the message names the folder and the reason.
    """
    try:
        temporary.sync_tree(new)
        if os.path.lexists(run / SEGMENTS):
            os.unlink(run / SEGMENTS)
        os.rename(new, run / _COMPLETE)
        temporary.sync_folder(run)
    except OSError as error:
        raise RunError(f"{run}: the new run cannot be moved into place: {error.strerror}") from None
    complete_placing(run)


_FORBIDDEN = (errno.EACCES, errno.EPERM)


def complete_placing(run: Path) -> None:
    """Complete an interrupted replacement; does nothing if there is none.

    Raises:
        RunError: it fails, for example because this user may not write to the folder.
    """
    if not any(os.path.lexists(run / name) for name in (_COMPLETE, _MOVING)):
        return
    try:
        with _locked(run):
            if os.path.lexists(run / _COMPLETE):
                _move_old_parts(run)
                temporary.sync_folder(run)  # before the name that says that they are moved
                os.rename(run / _COMPLETE, run / _MOVING)
                temporary.sync_folder(run)
            if os.path.lexists(run / _MOVING):
                _move_up(run)
            for old in run.glob(f"{_OLD}*"):
                remove_run(old)
    except OSError as error:
        remedy = "as a user who may write to the folder" if error.errno in _FORBIDDEN else "when the disk is in order"
        raise RunError(
            f"{run}: a complete new run in this folder cannot be moved into place: {error.strerror}; "
            f"run the command again {remedy}"
        ) from None


def _move_old_parts(run: Path) -> None:
    present = parts_in(run)
    if present:
        old = Path(tempfile.mkdtemp(prefix=_OLD, dir=run))
        for name in present:
            os.rename(run / name, old / name)


def _move_up(run: Path) -> None:
    for name in parts_in(run / _MOVING):
        os.rename(run / _MOVING / name, run / name)
    temporary.sync_folder(run)
    remove_run(run / _MOVING)  # what is left are unfinished files
