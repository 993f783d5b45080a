"""The chunks of a corpus that are segmented so far, so that a preparation that was killed goes on.

Segmenting is most of the work of preparing a large corpus. What is in the journal is found by its text: a chunk is
taken from it only if its lines, their links and the segmentations are those that it was made from, whatever files they
come from. So the same command reads and cleans the text again, and goes on segmenting where it was stopped; the stored
corpus is that of a command that was never stopped, byte for byte.

    FILE        entries in the order of the text: length and CRC-32 of the content, digest of the text, content

The file appears once segmenting has taken a while. What follows the last whole entry is cut off: the process was killed
while it wrote, or the machine lost its power.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

import dragoman.text.segmentation
from dragoman.data.segmented_pairs import SegmentedPairs, SegmentLinks
from dragoman.text.corpus import Pair
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import SegmentedLines

PATIENCE = 5.0
"""Seconds of segmenting before anything is written: a small corpus is prepared anew as quickly."""
_HEAD = struct.Struct("<QI16s")

log = logging.getLogger(__name__)


class _Lines(msgspec.Struct, array_like=True):
    pieces: list[str]
    ids: bytes
    lengths: bytes


class _Content(msgspec.Struct, array_like=True):
    source: _Lines
    target: _Lines
    links: tuple[bytes, bytes] | None


class SegmentJournal:
    """The segmented chunks of one corpus; the caller holds a lock that keeps other processes from the file."""

    def __init__(self, path: Path) -> None:
        """`path`: the file; it need not exist."""
        self.taken = 0
        """Pairs whose segments were in the journal."""
        self._path = path
        self._file: BinaryIO | None = None
        self._began = 0.0
        self._waiting: list[bytes] = []  # entries that are not written yet
        self._made_by = b""
        self._writes = True

    def begin(self, segmentations: tuple[Segmentation, Segmentation]) -> None:
        """Begin at the start of a corpus that is segmented so."""
        self._began = time.monotonic()
        self._made_by = _made_by(segmentations)
        try:
            self._file = open(self._path, "r+b")  # noqa: SIM115 - closed by `close`
        except FileNotFoundError:
            pass
        except OSError as error:
            self._give_up(error)

    def take(self, chunk: Sequence[Pair]) -> SegmentedPairs | None:
        """The segments of the next chunk of the corpus; None if this and all later chunks must be segmented."""
        if self._file is None:
            return None
        try:
            start = self._file.tell()
            content = self._read(chunk)
            if content is not None:
                self.taken += len(chunk)
                return _segmented(content)
            self._file.seek(start)
            self._file.truncate()
        except OSError as error:
            self._give_up(error)
        return None

    def _read(self, chunk: Sequence[Pair]) -> _Content | None:
        assert self._file is not None
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, crc, digest = _HEAD.unpack(head)
        if digest != self._digest(chunk):
            return None
        content = self._file.read(length)
        if len(content) < length or zlib.crc32(content) != crc:
            return None
        return msgspec.msgpack.decode(content, type=_Content)

    def append(self, chunk: Sequence[Pair], segmented: SegmentedPairs) -> None:
        """Add the next chunk; once it is written it survives a kill of the process.

        A disk that cannot take it is told once: the preparation goes on without a journal.
        """
        if not self._writes:
            return
        content = msgspec.msgpack.encode(_content(segmented))
        self._waiting.append(_HEAD.pack(len(content), zlib.crc32(content), self._digest(chunk)) + content)
        try:
            if self._file is None:
                if time.monotonic() - self._began < PATIENCE:
                    return
                self._file = open(self._path, "x+b")  # noqa: SIM115
            for entry in self._waiting:
                self._file.write(entry)
            self._file.flush()
        except OSError as error:
            self._give_up(error)
        self._waiting.clear()

    def close(self) -> None:
        """Close the file, which stays for the next start."""
        self._waiting.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _give_up(self, error: OSError) -> None:
        log.warning(
            "%s: segmented text cannot be kept there for a later start: %s; the preparation goes on without",
            self._path,
            error.strerror,
        )
        self._writes = False
        with suppress(OSError):  # it is told already; a part of an entry does no harm
            self.close()
            os.unlink(self._path)

    def _digest(self, chunk: Sequence[Pair]) -> bytes:
        text = msgspec.msgpack.encode([(pair.source, pair.target, pair.links) for pair in chunk])
        return hashlib.blake2b(text, digest_size=16, key=self._made_by).digest()


def _made_by(segmentations: tuple[Segmentation, Segmentation]) -> bytes:
    """A digest of what the segments depend on beside the text: the segmentations, and the programs that segment."""
    digest = hashlib.blake2b(pickle.dumps(segmentations, protocol=5), digest_size=32)
    digest.update(version("sentencepiece").encode())
    for path in sorted(Path(dragoman.text.segmentation.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _content(segmented: SegmentedPairs) -> _Content:
    sides = (
        _Lines(side.pieces, side.ids.astype("<u4").tobytes(), side.lengths.astype("<i8").tobytes())
        for side in (segmented.source, segmented.target)
    )
    linked = segmented.linked
    links = None if linked is None else (linked.links.astype("<u4").tobytes(), linked.lengths.astype("<i8").tobytes())
    return _Content(next(sides), next(sides), links)


def _segmented(content: _Content) -> SegmentedPairs:
    sides = (
        SegmentedLines(side.pieces, np.frombuffer(side.ids, "<u4"), np.frombuffer(side.lengths, "<i8"))
        for side in (content.source, content.target)
    )
    linked = None
    if content.links is not None:
        links, lengths = content.links
        linked = SegmentLinks(np.frombuffer(links, "<u4").reshape(-1, 2), np.frombuffer(lengths, "<i8"))
    return SegmentedPairs(next(sides), next(sides), linked)
