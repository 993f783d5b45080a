"""Sentence pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from dragoman.text.links import Link
from dragoman.text.raw_lines import as_read

Item = TypeVar("Item")

Corpora = Sequence[Sequence[Path]]

GivenCorpora = Sequence[Sequence[str | Path]]
"""Each corpus is two files (source, target) or one of a kind of `pair_files.KINDS` or `pair_files.INFLECTIONS`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A line, its translation, and their origin for messages, such as "train.en:17".

    >>> pair = next(dragoman.read_test_set(["test.low", "test.up"]))
    >>> pair.origin, pair.references == (pair.target,)
    ('test.low:1', True)
    """

    source: str
    target: str
    origin: str
    links: Sequence[Link] | None = None
    """Between words (`text/words.py`); None where no alignment was given."""
    other_references: tuple[str, ...] = ()
    """More translations of the source, in a test set with several references."""
    corpus: int = 0
    """The number of its corpus, from 0, among those that are read together."""

    @property
    def references(self) -> tuple[str, ...]:
        """The target and all other references."""
        return self.target, *self.other_references

    def with_references(self, references: Sequence[str]) -> Pair:
        """The pair with other references; empty references are left out unless all are empty."""
        given = [reference for reference in references if reference.strip()] or references[:1]
        return replace(self, target=given[0], other_references=tuple(given[1:]))


def as_paths(corpora: GivenCorpora) -> list[list[Path]]:
    """The files of corpora as paths.

    Raises:
        TypeError: files are given in place of lists of files.
    """
    for files in (corpora, *corpora):
        if isinstance(files, str | Path):
            raise TypeError(
                f"{str(files)!r} stands where a list is expected; corpora are lists of files: [[source, target]]"
            )
    return [[Path(file) for file in files] for files in corpora]


def evenly_spaced(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items, as far apart as possible."""
    shown = min(most, len(items))
    return [items[index * len(items) // shown] for index in range(shown)]


def digest(pair: Pair) -> bytes:
    """Return 16 bytes that identify the two lines of a pair as models read them, the same in every process."""
    source, target = as_read(pair.source).encode(), as_read(pair.target).encode()
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return hashlib.blake2b(b"%d " % len(source) + source + target, digest_size=16).digest()
