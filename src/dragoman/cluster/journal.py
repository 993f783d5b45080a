"""The shards of one output file that are computed so far, in the order in which they were done.

A journal is appended to, and read again after a kill. An entry is a line of JSON (number and digest of the shard, size
and CRC-32 of its text, lines that failed) and the text. What follows the last whole entry is cut off: the process was
killed while it wrote, or the disk was full.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from dragoman.errors import InputError
from dragoman.text.lines import replace_output
from dragoman.text.temporary import make_folder


class FailedLine(msgspec.Struct, frozen=True):
    """A line that has no output."""

    line: int
    """From 1, in its file."""
    reason: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A computed shard."""

    shard: int
    digest: str
    """Of the text of the shard, `Shard.digest`."""
    lines: int
    bytes: int
    crc: int
    failed: list[FailedLine] = []


class Journal:
    """The computed shards of one output file."""

    def __init__(self, path: Path) -> None:
        """Read a journal that is there, up to its last whole entry.

        Raises:
            InputError: it cannot be read.
        """
        self.entries: dict[int, Entry] = {}
        """By the number of the shard."""
        self._path = path
        self._places: dict[int, int] = {}  # of the text of each shard
        self._end = 0
        try:
            with path.open("rb") as file:
                for entry in _whole_entries(file):
                    self._note(entry, file.tell() - entry.bytes)
                    self._end = file.tell()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None

    def has(self, shard: int, digest: str) -> bool:
        """Whether a shard of that number and text is computed."""
        entry = self.entries.get(shard)
        return entry is not None and entry.digest == digest

    def append(self, shard: int, digest: str, lines: list[str], failed: list[FailedLine]) -> None:
        """Add a computed shard; it survives a kill of the process.

        Raises:
            InputError: it cannot be written.
        """
        text = "".join(f"{line}\n" for line in lines).encode()
        entry = Entry(
            shard=shard, digest=digest, lines=len(lines), bytes=len(text), crc=zlib.crc32(text), failed=failed
        )
        head = msgspec.json.encode(entry) + b"\n"
        try:
            make_folder(self._path.parent)
            with self._path.open("r+b" if self._end else "wb") as file:
                file.truncate(self._end)
                file.seek(self._end)
                file.write(head + text)
        except OSError as error:
            raise InputError(
                f"{self._path}: cannot be written: {error.strerror}; make room and give the same command again"
            ) from None
        self._note(entry, self._end + len(head))
        self._end += len(head) + len(text)

    def write_output(self, path: Path, shards: int) -> None:
        """Write the texts of the first `shards` shards in order to the output file, which is replaced at the end.

        Raises:
            InputError: it cannot be written, or the journal cannot be read.
        """
        with replace_output(path) as output:
            if shards:
                with self._path.open("rb") as file:
                    for shard in range(shards):
                        file.seek(self._places[shard])
                        output.write(file.read(self.entries[shard].bytes).decode())

    def remove(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)

    def _note(self, entry: Entry, place: int) -> None:
        self.entries[entry.shard] = entry
        self._places[entry.shard] = place


def _whole_entries(file: BinaryIO) -> Iterator[Entry]:
    """The entries of a journal; after each, the file stands behind its text."""
    while head := file.readline():
        try:
            entry = msgspec.json.decode(head, type=Entry)
        except msgspec.DecodeError:
            return
        text = file.read(entry.bytes)
        if len(text) != entry.bytes or zlib.crc32(text) != entry.crc:
            return
        yield entry
