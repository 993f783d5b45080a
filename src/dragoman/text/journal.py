"""A journal: results of a long command, appended while it runs and read again after a kill.

    FILE    a line of JSON that says what the entries belong to; then for each its length, CRC-32 (of length and
            bytes) and bytes

What follows the last whole entry is cut off: the process was killed while it wrote, the disk was full, or the machine
lost its power, which leaves anything at the end of a file.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import InputError
from dragoman.text.lines import replace_file
from dragoman.text.temporary import writing

_MARK = b'{"dragoman-journal": 1, '
_HEAD = struct.Struct("<QI")
_SYNC = 1.0
"""Seconds of results that a power failure may take; a kill takes none."""


class Journal:
    """A journal that is open; its caller keeps other processes from it.

    with Journal(path, {"model": digest}) as journal:
        done = list(journal)  # the entries of an earlier start
        journal.append(b"...")
    journal.remove()
    """

    def __init__(self, path: Path, identity: Mapping[str, object]) -> None:
        """Open the file if it exists; the first `append` makes it.

        Args:
            identity: what the entries depend on, as JSON holds it. The entries of another identity are dropped by the
                first `append`.

        Raises:
            InputError: it cannot be read, or a file of that name is not a journal.
        """
        self._path = path
        self._line = _MARK + json.dumps({"of": identity}, sort_keys=True).encode()[1:] + b"\n"
        self.start = self.end = len(self._line)
        """Where the first entry begins, and where the next one is read or appended; `end` may be set back."""
        self._file: BinaryIO | None = None
        self._synced = time.monotonic()
        try:
            file = open(path, "r+b")  # noqa: SIM115 - closed by `close`
            first = file.readline(1 << 24)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        if first == self._line:
            self._file = file
            return
        file.close()
        if not first.startswith(_MARK[: len(first)]):
            raise InputError(
                f"{path}: is not a journal of dragoman, which keeps computed results under this name until its command "
                "is done; move the file, or give another output"
            )

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the entries from `end` on, up to the last whole one.

        Raises:
            InputError: the file cannot be read.
        """
        while (entry := self.at(self.end)) is not None:
            self.end += _HEAD.size + len(entry)
            yield entry

    def at(self, start: int) -> bytes | None:
        """The entry that begins at `start`, an earlier value of `end`; None if there is no whole one.

        Raises:
            InputError: the file cannot be read.
        """
        if self._file is None:
            return None
        try:
            self._file.seek(start)
            head = self._file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            length, check = _HEAD.unpack(head)
            if length > os.fstat(self._file.fileno()).st_size - start:
                return None
            entry = self._file.read(length)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read: {error.strerror}") from None
        return entry if len(entry) == length and _check(entry) == check else None

    def append(self, entry: bytes) -> None:
        """Add an entry at `end`, in place of what follows; it survives a kill of the process.

        Raises:
            InputError: it cannot be written.
        """
        if self._file is None:
            with replace_file(self._path, binary=True) as new:  # its first line is whole even after a power failure
                new.write(self._line)
        with writing(self._path, hint="; make room and give the same command again"):
            if self._file is None:
                self._file = open(self._path, "r+b")  # noqa: SIM115
            self._file.seek(self.end)
            self._file.truncate()
            self._file.write(_HEAD.pack(len(entry), _check(entry)) + entry)
            self._file.flush()
            if time.monotonic() - self._synced > _SYNC:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        self.end += _HEAD.size + len(entry)

    def close(self) -> None:
        """Close the file, which stays for the next start."""
        if self._file is not None:
            with suppress(OSError):  # `append` has reported what could not be written
                self._file.close()
            self._file = None

    def remove(self) -> None:
        """Close and delete the file.

        Raises:
            InputError: it cannot be deleted.
        """
        self.close()
        with writing(self._path, "cannot be removed"):
            self._path.unlink(missing_ok=True)


def _check(entry: bytes) -> int:
    """The CRC-32 of an entry and its length: zeros, which a power failure can leave, are no entry."""
    return zlib.crc32(entry, zlib.crc32(len(entry).to_bytes(8)))
