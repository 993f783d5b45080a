"""Repeated pairs and lines, identified by 64-bit digests: 24 bytes a pair.

In a corpus of ten million lines the probability that any two different ones share a digest is three in a million.
"""

from __future__ import annotations

import hashlib
from array import array

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragoman.text.raw_lines import as_read


class RepetitionFacts(Struct, frozen=True):
    """Counts of repetitions; lines are compared as models read them (`text.raw_lines.as_read`), empty ones included."""

    pairs: int
    """Exact duplicates of earlier pairs."""
    sources: int
    """Distinct source lines with more than one target."""
    targets: int
    """Distinct target lines with more than one source."""


class Repetition:
    """Collects the digests of all pairs."""

    def __init__(self) -> None:
        self._sources, self._targets = array("Q"), array("Q")

    def add(self, source: str, target: str) -> None:
        """Add a pair."""
        self._sources.append(digest(source))
        self._targets.append(digest(target))

    def first_positions(self) -> NDArray[np.int64]:
        """Return the place of the first occurrence of each pair, [pairs]; its own place for a pair that is new."""
        _, first, inverse = np.unique(self._pairs(), return_index=True, return_inverse=True)
        return np.asarray(first[inverse], np.int64)

    def facts(self) -> RepetitionFacts:
        """Count the repetitions."""
        first = np.unique(self._pairs(), return_index=True)[1]
        sources, targets = (np.frombuffer(column, np.uint64)[first] for column in (self._sources, self._targets))
        return RepetitionFacts(len(self._sources) - len(first), _several(sources), _several(targets))

    def _pairs(self) -> NDArray[np.uint64]:
        sources, targets = (np.frombuffer(column, np.uint64) for column in (self._sources, self._targets))
        # Not the sum of the two: (a, b) and (b, a) are different pairs. An odd factor loses nothing.
        return sources * np.uint64(0x9E3779B97F4A7C15) + targets


def digest(line: str) -> int:
    """Return a 64-bit digest of a line as models read it, the same in every process."""
    return int.from_bytes(hashlib.blake2b(as_read(line).encode(), digest_size=8).digest(), "little")


def _several(values: NDArray[np.uint64]) -> int:
    return int((np.unique(values, return_counts=True)[1] > 1).sum())
