"""The chunks of a corpus that are segmented so far, so that a preparation that was killed goes on.

Segmenting is most of the work of preparing a large corpus. A chunk is taken from the journal only if its lines, their
links and the segmentations are those that it was made from, whatever files they come from. So the same command reads
and cleans the text again, and goes on segmenting where it was stopped; the stored corpus is that of a command that was
never stopped, byte for byte. The file appears once segmenting has taken a while.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import dragoman.text.segmentation
from dragoman.corpora.pairs import Pair
from dragoman.errors import InputError
from dragoman.text.journal import Journal
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import SegmentedPairs

PATIENCE = 5.0
"""Seconds of segmenting before anything is written: a small corpus is prepared anew as quickly."""

log = logging.getLogger(__name__)


class SegmentJournal:
    """The segmented chunks of one corpus; the caller holds a lock that keeps other processes from the file."""

    def __init__(self, path: Path) -> None:
        """`path`: the file; it need not exist."""
        self.taken = 0
        """Pairs whose segments were in the journal."""
        self._path = path
        self._journal: Journal | None = None
        self._began = 0.0
        self._waiting: list[bytes] = []  # entries that are not written yet

    def begin(self, segmentations: tuple[Segmentation, Segmentation]) -> None:
        """Begin at the start of a corpus that is segmented so."""
        self._began = time.monotonic()
        try:
            self._journal = Journal(self._path, {"segmented": _made_by(segmentations)})
        except InputError as error:
            self._give_up(error)

    def take(self, chunk: Sequence[Pair]) -> SegmentedPairs | None:
        """The segments of the next chunk of the corpus; None if this and all later chunks must be segmented.

        Raises:
            InputError: the file cannot be read.
        """
        if self._journal is None:
            return None
        start = self._journal.end
        for entry in self._journal:
            digest, segmented = msgspec.msgpack.decode(entry, type=tuple[bytes, SegmentedPairs], dec_hook=_array)
            if digest == _digest(chunk):
                self.taken += len(chunk)
                return segmented
            self._journal.end = start
            break
        return None

    def append(self, chunk: Sequence[Pair], segmented: SegmentedPairs) -> None:
        """Add the next chunk; once it is written it survives a kill of the process.

        Where the disk cannot take it, one warning says so, and the preparation goes on without a journal.
        """
        if self._journal is None:
            return
        self._waiting.append(msgspec.msgpack.encode((_digest(chunk), segmented), enc_hook=_packed))
        if time.monotonic() - self._began < PATIENCE:
            return
        try:
            for entry in self._waiting:
                self._journal.append(entry)
        except InputError as error:
            self._give_up(error)
        self._waiting.clear()

    def close(self) -> None:
        """Close the file, which stays for the next start."""
        if self._journal is not None:
            self._journal.close()

    def _give_up(self, error: InputError) -> None:
        log.warning("segmented text cannot be kept for a later start; the preparation goes on without: %s", error)
        self.close()
        self._journal = None
        with suppress(OSError):  # a part of an entry does no harm
            os.unlink(self._path)


def _digest(chunk: Sequence[Pair]) -> bytes:
    text = msgspec.msgpack.encode([(pair.source, pair.target, pair.links) for pair in chunk])
    return hashlib.blake2b(text, digest_size=16).digest()


def _made_by(segmentations: tuple[Segmentation, Segmentation]) -> str:
    """A digest of the segmentations and of the programs that segment; segments depend on both, besides the text."""
    digest = hashlib.blake2b(pickle.dumps(segmentations, protocol=5), digest_size=32)
    digest.update(version("sentencepiece").encode())
    for path in sorted(Path(dragoman.text.segmentation.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _packed(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _array(_: type, packed: tuple[str, Sequence[int], bytes]) -> NDArray[Any]:
    kind, shape, content = packed
    return np.frombuffer(content, kind).reshape(shape)
