"""A set of digests in bounded memory, to find repetitions in a corpus of any size."""

from __future__ import annotations

import numpy as np

MAX_DIGESTS = 40_000_000
"""The most digests that are remembered; 512 MiB."""
_LOAD = 0.6
"""Part of the slots that may be taken: more would make searches long."""


class DigestSet:
    """A hash table of 64 bits a digest with linear probing: 13 to 27 bytes a digest.

    The chance that two of n different lines have the same 64 bits is n^2 / 2^65: 10^-5 for 20 million.
    """

    def __init__(self, most: int = MAX_DIGESTS) -> None:
        self.full = False
        """Whether a digest could not be remembered."""
        self._most = most
        self._count = 0
        self._allocate(1 << 10)

    def _allocate(self, slots: int) -> None:
        self._slots = np.zeros(slots, np.uint64).data  # 0 is a free slot; indexed faster than an array
        self._limit = int(_LOAD * slots)

    def add(self, digest: bytes) -> bool:
        """Remember a digest of 8 bytes; return whether it is new."""
        value = int.from_bytes(digest, "little") or 1
        slots = self._slots
        mask = len(slots) - 1
        slot = value & mask
        while taken := slots[slot]:
            if taken == value:
                return False
            slot = (slot + 1) & mask
        if self._count == self._most:
            self.full = True
            return True
        slots[slot] = value
        self._count += 1
        if self._count > self._limit:
            self._grow()
        return True

    def _grow(self) -> None:
        before = self._slots
        self._allocate(2 * len(before))
        slots, mask = self._slots, len(self._slots) - 1
        for value in before:
            if value:
                slot = value & mask
                while slots[slot]:
                    slot = (slot + 1) & mask
                slots[slot] = value
