"""The rows of a search laid out as [sentences, width], so that what a sentence is remembered by is kept once."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


class Rows(NamedTuple):
    """The live rows of a search, grouped by sentence.

    Sentences with fewer rows than the widest are filled up with copies of their first one; `cells` says where in
    that layout each real row is.
    """

    sentences: int
    width: int
    cells: NDArray[np.int64]
    """[R] row -> cell of the layout, sentence * width + place."""


class Arranged(NamedTuple):
    """The layout of the next step, and where its cells come from."""

    rows: Rows
    sentences: NDArray[np.int64]
    """Those of the sentences before that still have rows."""
    taken: NDArray[np.int64]
    """[cells] which row of `parents` stands in each cell."""
    parents: NDArray[np.int64]
    """[cells] the cell before that each goes on from."""


def widened(x: NDArray[Number], width: int, filling: float) -> NDArray[Number]:
    """x [.., n] with more columns; the same array where it has as many."""
    if x.shape[-1] == width:
        return x
    wide = np.full((*x.shape[:-1], width), filling, dtype=x.dtype)
    wide[..., : x.shape[-1]] = x
    return wide


def first_rows(sentences: int) -> Rows:
    """One row a sentence."""
    return Rows(sentences, 1, np.arange(sentences))


def round_width(width: int) -> int:
    """The same up to 16, then up to an eighth more: eight widths between one power of two and the next."""
    return width + -width % (1 << max(0, width.bit_length() - 4))


def arrange(old: Rows, parents: NDArray[np.int64], *, rounded: bool = False) -> Arranged:
    """Lay out the rows that go on from rows `parents` of the layout before; `rounded`: in a round width."""
    parent_cells = old.cells[parents]
    counts = np.bincount(parent_cells // old.width, minlength=old.sentences)
    sentences = np.flatnonzero(counts)
    counts = counts[sentences]
    width = round_width(int(counts.max())) if rounded else int(counts.max())
    everyone = np.arange(len(parents))
    if len(sentences) * width == len(parents):  # as nearly always: all have as many rows, and no cell is empty
        return Arranged(Rows(len(sentences), width, everyone), sentences, everyone, parent_cells)
    first = np.cumsum(counts) - counts
    cells = np.repeat(np.arange(len(sentences)) * width - first, counts) + everyone
    taken = np.repeat(first, width)  # empty cells repeat the sentence's first row
    taken[cells] = everyone
    return Arranged(Rows(len(sentences), width, cells), sentences, taken, parent_cells[taken])
