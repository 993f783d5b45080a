"""Digests of the blocks of a large file: computed while it is written, verified when a block is first read.

A stored corpus may be larger than memory, and an epoch reads it in random order, so it is not verified as a whole when
it is opened. A block is the amount that Linux reads from disk around the first access to a memory-mapped page, so that
verifying a block reads little more than the access does.

SHA-256, as for all other files of a run: a checksum such as CRC-32 is not faster on processors with instructions for
SHA-256, and misses deliberate changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError

BLOCK = 1 << 17
"""Bytes of a block; part of the format of a stored corpus."""


class DigestingWriter:
    """Writes bytes to a file and computes the SHA-256 of each block."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._finished: list[str] = []
        self._block = hashlib.sha256()
        self._filled = 0

    def write(self, content: bytes) -> None:
        """Append bytes to the file."""
        self._file.write(content)
        rest = memoryview(content)
        while rest:
            part = rest[: BLOCK - self._filled]
            self._block.update(part)
            self._filled += len(part)
            rest = rest[len(part) :]
            if self._filled == BLOCK:
                self._finished.append(self._block.hexdigest())
                self._block, self._filled = hashlib.sha256(), 0

    def digests(self) -> list[str]:
        """The SHA-256 of each block written so far; the last block may be shorter."""
        return [*self._finished, self._block.hexdigest()] if self._filled else self._finished.copy()


def count_blocks(size: int) -> int:
    """The number of blocks of a file of `size` bytes."""
    return -(-size // BLOCK)


Fault = Callable[[int, int], str | None]
"""Says what is wrong with the items [start, stop) of a block whose digest is right, or None."""


class BlockVerifier:
    """Compares the blocks of a memory-mapped array with their digests, each once, before it is first used."""

    def __init__(
        self, path: Path, items: NDArray[Any], digests: Sequence[str], remedy: str, fault: Fault | None = None
    ) -> None:
        """
        Args:
            path: the file, for messages.
            items: its contents, one-dimensional; the size of an item divides the size of a block.
            digests: of each block.
            remedy: the end of messages: what the user can do.
            fault: a further check of each block.
        """
        assert len(digests) == count_blocks(items.nbytes)
        self.path = path
        self._items, self._digests, self._remedy, self._fault = items, digests, remedy, fault
        self._per_block = BLOCK // items.itemsize
        self._unverified = np.ones(len(digests), np.bool_)
        self._left = len(digests)

    def require(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Verify the blocks of all ranges of items [starts[i], stops[i]).

        Raises:
            RunError: a block is damaged; the message names the file and the bytes.
        """
        if not self._left:
            return
        is_range = stops > starts
        first, last = starts[is_range] // self._per_block, (stops[is_range] - 1) // self._per_block
        touched = np.concatenate((first, last))
        if (last - first > 1).any():  # a range longer than a block
            touched = np.concatenate([np.arange(*ends) for ends in zip(first, last + 1, strict=True)])
        for block in np.unique(touched[self._unverified[touched]]).tolist():
            self._verify(block)

    def require_all(self) -> None:
        """Verify every block.

        Raises:
            RunError: as for `require`.
        """
        for block in np.flatnonzero(self._unverified).tolist():
            self._verify(block)

    def _verify(self, block: int) -> None:
        start, stop = block * self._per_block, min((block + 1) * self._per_block, len(self._items))
        if hashlib.sha256(self._items[start:stop].data).hexdigest() != self._digests[block]:
            raise self.damaged(
                f"the SHA-256 of bytes {block * BLOCK:,} to {stop * self._items.itemsize:,} differs from that in "
                "meta.json"
            )
        if self._fault is not None and (fault := self._fault(start, stop)) is not None:
            raise self.damaged(fault)
        self._unverified[block] = False
        self._left -= 1

    def damaged(self, what: str) -> RunError:
        """The error for a damaged file."""
        return RunError(f"{self.path}: is damaged: {what}; {self._remedy}")
