"""The log of corrections, which only grows: a JSON object a line, on disk before the correction is learnt.

The lines can also be read as a corpus: they have the keys "source" and "target". Each line has a digest of its other
fields. Text behind the last line end was being written when a process was killed, and is not a correction.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from dragoman.errors import RunError
from dragoman.stored_files import decode_json, read_regular
from dragoman.text.lines import replace_file
from dragoman.text.temporary import sync_folder, writing

log = logging.getLogger(__name__)


def folder_beside(run: Path) -> str:
    """RUN.learned, the folder of what a run learns; also for a run whose path ends in a dot or two."""
    return f"{run if run.name not in ('', '..') else run.resolve()}.learned"


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source and what a person made of its translation."""

    source: str
    target: str
    base: str
    """The digest of the run that was corrected."""
    beside: int
    """How many pairs of the training text of the run were available."""


class _Line(Correction, frozen=True, forbid_unknown_fields=True):
    check: str = ""
    """A digest of the correction; lines without one are read, too."""


class CorrectionLog:
    """The corrections in a file, which need not exist."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            RunError: the file cannot be read, or a line of it is damaged.
        """
        self._path = path
        self.entries: list[Correction] = []
        self._digest = hashlib.sha256()
        self._digests = [self._digest.hexdigest()]
        self._size = 0
        for number, line in enumerate(self._whole_lines(), 1):
            try:
                entry = _decoded(line)
            except ValueError as error:
                raise RunError(
                    f"{path}:{number}: is damaged: {error}; remove the line, or take the file from a copy"
                ) from None
            self._count(entry, line + b"\n")

    def digest(self, count: int) -> str:
        """The SHA-256 of the first `count` lines."""
        return self._digests[count]

    def append(self, entry: Correction) -> None:
        """Add a correction; it is on disk when this returns.

        Raises:
            InputError: the correction cannot be written; the file may have the beginning of a line more than before.
        """
        line = _encoded(entry)
        with writing(self._path):
            is_new = not self._path.exists()
            with open(self._path, "xb" if is_new else "r+b") as file:
                file.truncate(self._size)
                file.seek(self._size)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self._path.parent)
        self._count(entry, line)

    def replace(self, entries: Sequence[Correction]) -> CorrectionLog:
        """The log with other corrections, in place of this one: the old file or the new one is there at any time.

        Raises:
            InputError: it cannot be written.
        """
        with replace_file(self._path, binary=True, edits=True) as file:
            file.writelines(map(_encoded, entries))
        return CorrectionLog(self._path)

    def _whole_lines(self) -> Iterator[bytes]:
        try:
            content = read_regular(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"{self._path}: cannot be read: {error.strerror}") from None
        *lines, rest = content.split(b"\n")
        if rest:
            log.warning("%s:%d: is not a whole line, so it is no correction", self._path, len(lines) + 1)
        yield from lines

    def _count(self, entry: Correction, line: bytes) -> None:
        self.entries.append(entry)
        self._size += len(line)
        self._digest.update(line)
        self._digests.append(self._digest.hexdigest())


def _encoded(entry: Correction) -> bytes:
    fields = msgspec.structs.asdict(entry) | {"check": _check(entry)}
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _decoded(line: bytes) -> Correction:
    """
    Raises:
        ValueError: the line has changed since it was written.
    """
    read = decode_json(line, _Line)
    entry = Correction(read.source, read.target, read.base, read.beside)
    if read.check and read.check != _check(entry):
        raise ValueError("its check does not match its contents")
    return entry


def _check(entry: Correction) -> str:
    return hashlib.sha256(json.dumps(msgspec.structs.astuple(entry)).encode()).hexdigest()[:16]
