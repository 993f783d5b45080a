"""The parts of a run folder, the mark that says that we wrote them, and how a new run takes the place of an older one.

RUN/run.json is the mark: a folder without it is nobody's run, whatever else lies in it. Of a run only files are ever
removed that have the names of ours, and links are removed, not followed.

A new run is prepared in a hidden folder inside RUN, so that it is on the same disk, and it works for `--out .` and for
links too. It then takes its place by renaming, in steps that a later command completes if the process is killed:

    RUN/.dragoman-new.X/     being prepared, by a process that holds a lock on it; the older run is whole
    RUN/.dragoman-complete/  prepared; from here on the new run counts. The parts of the older one leave
    RUN/.dragoman-old.X/     for here,
    RUN/.dragoman-moving/    then the parts of the new one move up from here,
                             and the older ones are removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.errors import RunError
from dragoman.text.lines import replace_file

MARK = "run.json"
KIND = "dragoman run"
FORMAT = 1
"""Version of the folder; a reader refuses a newer one."""

_SIDES = ("source", "target")
_STORE = (
    *(f"{side}.{kind}" for side, kind in product(_SIDES, ("ids", "offsets", "provisional"))),
    *("links.pairs", "links.offsets", "meta.json"),
)
_TOP = (MARK, "config.yaml", "model.safetensors", "log.jsonl", "report.html")
_FOLDERS: dict[str, tuple[str, ...]] = {
    "text": tuple(f"{side}.{kind}" for side, kind in product(_SIDES, ("segmentation.json", "vocabulary", "model"))),
    "data": ("dev.jsonl", "inspection.json"),
    "data/train": _STORE,
    "data/dev": _STORE,
    "checkpoints": ("latest.safetensors", "best-*.safetensors"),
    "tensorboard": ("events.out.tfevents.*",),
}
"""The files that we write into each folder of a run."""
PARTS = (*_TOP, *(name for name in _FOLDERS if "/" not in name))
"""What a run has at its top level."""

_PREFIX = ".dragoman-"
_COMPLETE, _MOVING = f"{_PREFIX}complete", f"{_PREFIX}moving"
_UNFINISHED = re.compile(r"\.(.+)\.\d+\.new")  # of a process that was killed while it replaced a file


class Files(NamedTuple):
    """The files in the parts of a run folder."""

    ours: list[Path]
    foreign: list[Path]
    """In our folders, but with names that we do not give."""


def write_mark(run: Path) -> None:
    """Mark a folder as a run, with the SHA-256 of each file in its text/.

    Raises:
        InputError: it cannot be written.
    """
    text = {path.name: _sha256(path) for path in sorted((run / "text").glob("*"))}
    with replace_file(run / MARK) as file:
        file.write(json.dumps({"kind": KIND, "format": FORMAT, "text": text}) + "\n")


def require_intact_text(run: Path, side: str) -> None:
    """Compare the files of one side in text/ with the digests in the mark.

    A copy of a run without the mark is not checked.

    Raises:
        RunError: a file was altered.
    """
    digests = _read_mark(run).get("text")
    for name, digest in digests.items() if isinstance(digests, dict) else ():
        path = run / "text" / Path(name).name
        if name.startswith(f"{side}.") and path.is_file() and _sha256(path) != digest:
            raise RunError(
                f"{path}: is damaged: its SHA-256 differs from that in {MARK}; restore the file from a copy of the run "
                "folder, or train again with --overwrite"
            )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_marked(run: Path) -> bool:
    """Whether a folder is a run of ours, of this format.

    Raises:
        RunError: it is one of a newer format.
    """
    mark = _read_mark(run)
    if not mark:
        return False
    if mark["format"] > FORMAT:
        raise RunError(
            f"{run}: a run of format {mark['format']}, which is newer than this version of dragoman reads ({FORMAT}); "
            "upgrade dragoman"
        )
    return True


def _read_mark(run: Path) -> dict[str, Any]:
    """The contents of the mark; empty if there is none of ours."""
    try:
        mark: Any = json.loads((run / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(mark, dict) and mark.get("kind") == KIND and isinstance(mark.get("format"), int)
    return mark if ours else {}


def parts_in(run: Path) -> list[str]:
    """Which names of ours are taken in a folder, by whomever."""
    return [name for name in PARTS if os.path.lexists(run / name)]


def sort_files(run: Path) -> Files:
    """Tell the files of a run from others in its parts; what else lies at its top level is left out."""
    found = Files([], [])
    for entry in sorted(_entries(run), key=lambda entry: entry.name):
        _sort(entry, entry.name, _TOP, found, strangers=entry.name in PARTS)
    return found


def _sort(entry: os.DirEntry[str], inside: str, files: Sequence[str], found: Files, *, strangers: bool = True) -> None:
    unfinished = _UNFINISHED.fullmatch(entry.name)
    name = unfinished[1] if unfinished else entry.name
    if entry.is_dir(follow_symlinks=False):
        if inside in _FOLDERS:
            for one in sorted(_entries(Path(entry.path)), key=lambda entry: entry.name):
                _sort(one, f"{inside}/{one.name}", _FOLDERS[inside], found)
        elif strangers:
            found.foreign.append(Path(entry.path))
    elif any(fnmatch(name, known) for known in files) or (inside in _FOLDERS and entry.is_symlink()):
        found.ours.append(Path(entry.path))
    elif strangers:
        found.foreign.append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def remove_unfinished(run: Path) -> None:
    """Remove files that a killed process had begun to write; the caller holds the lock of the run."""
    for path in sort_files(run).ours:
        if _UNFINISHED.fullmatch(path.name):
            path.unlink(missing_ok=True)


def lies_in_parts(run: Path, path: Path) -> bool:
    """Whether a file that exists or is yet to be written lies where a run keeps its own."""
    place = Path(os.path.realpath(path))
    whole = Path(os.path.realpath(run))
    if not place.is_relative_to(whole) or place == whole:
        return False
    first = place.relative_to(whole).parts[0]
    return first in PARTS or first.startswith(_PREFIX)


# Preparing -----------------------------------------------------------------------------------------------------------


@contextmanager
def preparing(run: Path) -> Iterator[Path]:
    """A hidden folder inside an existing one; whatever is still in it at the end of the block is removed."""
    for left in run.glob(f"{_PREFIX}new.*"):
        _remove_unused(left)
    new = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}new.", dir=run))
    try:
        with _locked(new):
            yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _remove_unused(new: Path) -> None:
    """What a killed process prepared. One that lives holds the lock; without locks on this disk we cannot know."""
    with suppress(OSError), _locked(new, wait=False):
        remove_run(new)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a folder; it ends with the process.

    Raises:
        OSError: it is not there; or, with `wait` false, another process has the lock, or there are no locks.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            if not wait:
                raise
        yield
    finally:
        os.close(descriptor)


def remove_run(folder: Path) -> None:
    """Remove the files of a run that have names of ours, and each folder that is empty then."""
    for path in sort_files(folder).ours:
        path.unlink(missing_ok=True)
    for name in sorted(_FOLDERS, reverse=True):  # inner ones first
        with suppress(OSError):
            (folder / name).rmdir()
    with suppress(OSError):
        folder.rmdir()


# Taking the place ----------------------------------------------------------------------------------------------------


def take_place(new: Path, run: Path) -> None:
    """Put a run that was prepared inside `run` in the place of the one there.

    Raises:
        RunError: that fails; the message says what is where.
    """
    try:
        os.rename(new, run / _COMPLETE)
    except OSError as error:
        raise RunError(f"{run}: the new run cannot take its place: {error.strerror}") from None
    complete_placing(run)


def complete_placing(run: Path) -> None:
    """Go on with whatever step of taking a place is due; nothing is if no new run is there.

    Raises:
        RunError: that fails, for example because this user may not write to the folder.
    """
    if not any(os.path.lexists(run / name) for name in (_COMPLETE, _MOVING)):
        return
    try:
        with _locked(run):
            if os.path.lexists(run / _COMPLETE):
                _move_old_parts(run)
                os.rename(run / _COMPLETE, run / _MOVING)
            if os.path.lexists(run / _MOVING):
                _move_up(run)
            for old in run.glob(f"{_PREFIX}old.*"):
                remove_run(old)
    except OSError as error:
        raise RunError(
            f"{run}: a new run is complete but has yet to take its place here, and that fails: {error.strerror}; "
            "run the command again as a user who may write to the folder"
        ) from None


def _move_old_parts(run: Path) -> None:
    present = parts_in(run)
    if present:
        old = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}old.", dir=run))
        for name in present:
            os.rename(run / name, old / name)


def _move_up(run: Path) -> None:
    for name in parts_in(run / _MOVING):
        os.rename(run / _MOVING / name, run / name)
    remove_run(run / _MOVING)  # a file that was never finished
