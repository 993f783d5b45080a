"""The protocol of segmentations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.text.lines import replace_file

FORMAT = 2
"""Version of the file that describes a segmentation."""

SPACE_SYMBOL = "▁"
"""A space inside a piece (U+2581, as in SentencePiece), so that pieces are visible and fit on a line."""


class Segments(NamedTuple):
    """The pieces of a line and their places."""

    pieces: list[str]
    offsets: list[tuple[int, int]]
    """[start, end) in characters of the raw line, one for each piece; starts never decrease. The span of a lone "▁" is
    empty and lies at the start of the word that follows."""


@dataclass(frozen=True, slots=True)
class SegmentedLines:
    """The segments of L lines of one side, as indices into a list of distinct pieces: small to send to a process."""

    pieces: list[str]
    """Each piece once, in the order of appearance."""
    ids: NDArray[np.uint32]
    """Indices into `pieces`, line after line: uint32 [segments of all lines]."""
    lengths: NDArray[np.int64]
    """Segments of each line, int64 [L]."""


def index_pieces(lines: Iterable[Sequence[str]]) -> SegmentedLines:
    """The pieces of each line as indices into a list of distinct ones."""
    known: dict[str, int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    for pieces in lines:
        lengths.append(len(pieces))
        ids.extend(known.setdefault(piece, len(known)) for piece in pieces)
    return SegmentedLines(list(known), np.array(ids, np.uint32), np.array(lengths, np.int64))


def in_order_of_appearance(
    pieces: Sequence[str], ids: NDArray[np.integer[Any]], lengths: NDArray[np.int64]
) -> SegmentedLines:
    """The segments of lines, as indices into any list of pieces, with the pieces that occur in the order they do."""
    # Where each piece first appears, found without sorting: of the assignments to a piece the last one stays.
    first = np.full(len(pieces), len(ids))  # [pieces]
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(ids))]
    rank = np.empty(len(first), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return SegmentedLines([pieces[number] for number in order.tolist()], rank[ids], lengths)


Entries = Mapping[str, object]
"""Entries of the file that describes a segmentation, as JSON knows them."""
NONE: Entries = MappingProxyType({})


class Segmentation(Protocol):
    """Segments raw lines into pieces, and joins pieces to text.

    It takes any line: a blank line (`text/raw_lines.py`) has no pieces, control characters count as whitespace, and no
    piece contains a line end or a tab.
    """

    def segment(self, line: str) -> Segments:
        """Segment a raw line."""

    def join(self, pieces: Sequence[str]) -> str:
        """Join any pieces, in any order, to raw text."""

    def save(self, path: Path, entries: Entries = NONE) -> None:
        """Write a small JSON file with the kind and more entries, and beside it any other file that the kind needs."""


def save_description(path: Path, kind: str, entries: Entries = NONE) -> None:
    """Write the JSON file that `load_segmentation` reads."""
    with replace_file(path) as file:
        json.dump({"format": FORMAT, "kind": kind, **entries}, file, ensure_ascii=False, indent=2)
        file.write("\n")


@dataclass(frozen=True, slots=True)
class SegmentLinks:
    """Links between the segments of L pairs."""

    links: NDArray[np.uint32]
    """(source segment, target segment), both from 0 within their line: uint32 [links of all pairs, 2]."""
    lengths: NDArray[np.int64]
    """Links of each pair, int64 [L]."""


class SegmentedPairs(NamedTuple):
    """The segments of L pairs, and the links between them if the pairs have links."""

    source: SegmentedLines
    target: SegmentedLines
    linked: SegmentLinks | None
