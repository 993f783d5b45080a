"""The rows of a search laid out as [sentences, width], so that the encoded source of a sentence is stored once."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Dtype = TypeVar("Dtype", bound=np.generic)


class RowLayout(NamedTuple):
    """The layout of the live rows of a search, grouped by sentence.

    Sentences with fewer rows than the widest are filled up with copies of their first row; `cells` are the places of
    the real rows.
    """

    sentences: int
    width: int
    cells: NDArray[np.int64]
    """[R] row -> cell of the layout, sentence * width + place."""


class RowArrangement(NamedTuple):
    """The layout of the next step, and where its cells come from."""

    rows: RowLayout
    sentences: NDArray[np.int64]
    """The sentences of the layout before that still have rows."""
    taken: NDArray[np.int64]
    """[cells] the row of `parents` in each cell."""
    parents: NDArray[np.int64]
    """[cells] the cell of the layout before that each continues."""


def widened(x: NDArray[Dtype], width: int, filling: float) -> NDArray[Dtype]:
    """x [.., n] with `width` columns, filled up on the right; the same array where it has as many."""
    if x.shape[-1] == width:
        return x
    wide = np.full((*x.shape[:-1], width), filling, dtype=x.dtype)
    wide[..., : x.shape[-1]] = x
    return wide


def first_rows(sentences: int) -> RowLayout:
    """The layout with one row for each sentence."""
    return RowLayout(sentences, 1, np.arange(sentences))


def round_width(width: int) -> int:
    """Round up: not at all up to 16, then by at most an eighth (eight widths between two powers of two)."""
    return width + -width % (1 << max(0, width.bit_length() - 4))


def arrange(old: RowLayout, parents: NDArray[np.int64], *, rounded: bool = False) -> RowArrangement:
    """Lay out the rows that continue rows `parents` of the layout before; with `rounded`, in a round width."""
    parent_cells = old.cells[parents]
    counts = np.bincount(parent_cells // old.width, minlength=old.sentences)
    sentences = np.flatnonzero(counts)
    counts = counts[sentences]
    width = round_width(int(counts.max())) if rounded else int(counts.max())
    everyone = np.arange(len(parents))
    if len(sentences) * width == len(parents):  # as nearly always: all have as many rows, and no cell is empty
        return RowArrangement(RowLayout(len(sentences), width, everyone), sentences, everyone, parent_cells)
    first = np.cumsum(counts) - counts
    cells = np.repeat(np.arange(len(sentences)) * width - first, counts) + everyone
    taken = np.repeat(first, width)  # empty cells repeat the sentence's first row
    taken[cells] = everyone
    return RowArrangement(RowLayout(len(sentences), width, cells), sentences, taken, parent_cells[taken])
