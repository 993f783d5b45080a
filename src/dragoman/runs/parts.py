"""The files of a run folder, and the marker file of a run.

RUN/run.json marks a folder as a dragoman run; a folder without it is never overwritten. A run is replaced only where
all files in its parts have the names that dragoman gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import NamedTuple

from msgspec import field

from dragoman.errors import RunError
from dragoman.inputs import owning, unnoted
from dragoman.stored_files import JsonFile, NewerFormat, dump_json, read_json, require_digest, sha256_of
from dragoman.text import temporary
from dragoman.text.folders import finish_abandoned
from dragoman.text.lines import replace_file
from dragoman.text.locks import lock_beside
from dragoman.translation import confidence

MARK = "run.json"
KIND = "dragoman run"
FORMAT = 1
"""Format version of a run folder; newer ones are refused."""

_SIDES = ("source", "target")
_STORE = (
    *(f"{side}.{kind}" for side, kind in product(_SIDES, ("ids", "offsets", "provisional"))),
    *("links.pairs", "links.offsets", "meta.json"),
)
_TOP = (MARK, "config.yaml", "model.safetensors", "log.jsonl", "report.html", confidence.FILE)
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


class RunFiles(NamedTuple):
    """The files of a run folder, divided into files of dragoman and others."""

    ours: list[Path]
    foreign: list[Path]
    """Files in the folders of a run with names that dragoman does not give."""


class Mark(JsonFile, frozen=True, kw_only=True):
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


def require_intact(run: Path, pattern: str) -> None:
    """Compare files in text/ and data/ with their digests in run.json: those that match, such as "text/source.*".

    A copy of a run without run.json is not checked; whoever reads a missing file reports it.

    Raises:
        RunError: a file was altered.
    """
    mark = read_mark(run)
    for folder, digests in (("text", mark.text), ("data", mark.data)) if mark else ():
        for name, digest in digests.items():
            path = run / folder / name
            if fnmatch(f"{folder}/{name}", pattern) and name in _FOLDERS[folder] and os.path.lexists(path):
                require_digest(path, digest, MARK, _REMEDY)


@unnoted()
def is_marked(run: Path) -> bool:
    """Whether run.json marks a folder as a dragoman run of this format; false if run.json is damaged.

    Raises:
        RunError: the run has a newer format.
    """
    try:
        return read_mark(run) is not None
    except NewerFormat:
        raise
    except RunError:
        return False


def read_mark(run: Path) -> Mark | None:
    """The contents of run.json; None if it is missing: a copy of a run without it may be read.

    Raises:
        RunError: it is damaged, of another program, or of a newer format.
    """
    try:
        mark = read_json(run / MARK, Mark, newest=FORMAT, remedy=_MARK_REMEDY)
    except FileNotFoundError:
        return None
    if mark.kind != KIND:
        raise RunError(f"{run / MARK}: kind: is not {KIND!r}; {_MARK_REMEDY}")
    return mark


def parts_in(run: Path) -> list[str]:
    """The names in `PARTS` that exist in a folder, whether or not it is a run."""
    return [name for name in PARTS if os.path.lexists(run / name)]


def is_part(name: str) -> bool:
    """Whether a name at the top level of a folder belongs to a part of a run, or to the temporary file of one."""
    unfinished = temporary.FILE.fullmatch(name)
    return name in PARTS or (unfinished is not None and unfinished[1] in _TOP)


def sort_files(run: Path) -> RunFiles:
    """List the files in the parts of a run, dragoman's and others; other names at the top level are left out."""
    files = RunFiles([], [])
    for part in filter(is_part, sorted(os.listdir(run))):
        for path in _files(run / part):
            inside = path.relative_to(run).parent.as_posix()
            unfinished = temporary.FILE.fullmatch(path.name)
            name = unfinished[1] if unfinished else path.name
            known = _TOP if inside == "." else _FOLDERS.get(inside, ())
            is_link = path.is_symlink() and path.relative_to(run).as_posix() in _FOLDERS  # removed, not followed
            ours = is_link or any(fnmatch(name, pattern) for pattern in known)
            (files.ours if ours else files.foreign).append(path)
    return files


def _files(path: Path) -> Iterator[Path]:
    """The files below a path, itself if it is one; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        yield path
    else:
        for inner in sorted(path.iterdir()):
            yield from _files(inner)


def segments_of(run: Path) -> Path:
    """The file for text that is segmented for a new run, which a kill leaves for the next start."""
    final = Path(os.path.realpath(run))
    return final.with_name(f".{final.name}.dragoman.segments")


@contextmanager
def changing(run: Path) -> Iterator[None]:
    """Hold the lock of a run that is there, after removing what killed processes had begun to write in it or beside it.

    Raises:
        RunError: another process writes to the run, or what was left cannot be removed.
    """
    with lock_beside(run, "run") as is_locked, owning(run):
        try:
            for path in sort_files(run).ours:
                if temporary.FILE.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            segments_of(run).unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"{run}: what a killed process left here cannot be removed: {error.strerror}") from None
        if is_locked:
            finish_abandoned(Path(os.path.realpath(run)), is_part)
        yield


def lies_in_parts(run: Path, path: Path) -> bool:
    """Whether a path, existing or not, is inside one of the parts of a run."""
    own, whole = Path(os.path.realpath(path)), Path(os.path.realpath(run))
    return own != whole and own.is_relative_to(whole) and is_part(own.relative_to(whole).parts[0])
