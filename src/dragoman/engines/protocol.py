"""The interface between search and a model: encode sources, advance rows by one symbol, score given targets.

The interface is in numpy alone. Search and forced decoding are written against it, and each engine puts one kind of
model behind it. Device and precision are chosen by the engine, which also selects the k best where the logits are.
The rows of a search can be laid out as [sentences, width], so that the encoded source of a sentence is stored once.

Letters: B sentences of a batch, S source length (padded), T target length (padded), R rows in search
(sentences x live hypotheses).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError


class EngineStep(NamedTuple):
    """The result of one step for R rows."""

    log_probabilities: NDArray[np.float32]
    """[R, k] natural logarithms, normalised over the FULL vocabulary, largest first."""
    tokens: NDArray[np.int64]
    """[R, k] their symbols. The order among equal log-probabilities is up to the engine."""
    attention: NDArray[np.float32] | None
    """[R, S] alignment weights over the S columns of the `source` given to `start` (with the column of EOS where the
    source has one, zero on padding), or None for a model without attention. Search keeps this array until the end, so
    the engine must not write into it again."""
    state: object
    """Its row r follows from row r of this step's `parents` and `tokens`."""


class Distributions(NamedTuple):
    """The result of one step for R rows, with all V symbols in their order."""

    log_probabilities: NDArray[np.float32]
    """[R, V] natural logarithms."""
    attention: NDArray[np.float32] | None
    """As in `EngineStep`."""
    state: object
    """As in `EngineStep`."""


class ForcedScores(NamedTuple):
    """The log-probabilities of B given targets."""

    log_probabilities: NDArray[np.float32]
    """[B, T] natural logarithm of each target symbol given the source and the symbols before; 0 on padding."""
    attention: NDArray[np.float32] | None
    """[B, T, S] the weights with which each symbol was predicted, or None."""
    centres: NDArray[np.float32] | None = None
    """[B, T] p_t of local attention, in positions of the source from 0; None for global attention, and from an engine
    that does not return it."""


class Engine(Protocol):
    """A model behind the interface of search.

    Every caller in this package keeps these promises, so that an engine may rely on them:

    - `source` is padded with PAD on the right, every length is at least 1, and EOS stands at the end of each source
      (and counts in its length) exactly if `source_eos` is true.
    - Rows are grouped by sentence: those of one sentence are adjacent, and sentences keep the order they have in
      the batch. `parents` never leads a row from one sentence to another, and never decreases from one sentence to
      the next; inside a sentence it may repeat, reorder and drop rows. Once a sentence has no row it never returns.
    - The first `step` after `start` has `parents = arange(B)` and `tokens = BOS`: one row a sentence, all of them.
    - 1 <= k <= `vocabulary_size`; k may change from step to step. R >= 1.
    - A state is stepped from at most once, so a step may reuse its memory.

    In turn, an engine guarantees that the results of a row depend on the other rows through rounding only.
    """

    @property
    def vocabulary_size(self) -> int:
        """V, the number of target symbols, the four special ones included."""

    @property
    def source_eos(self) -> bool:
        """Whether the model reads EOS after the source (config: model.source_eos)."""

    @property
    def attention_shift(self) -> int:
        """0 where the weights of step t belong to the word that step predicts (Bahdanau et al. 2015), 1 where those
        of step t + 1 belong to the word of step t, because they are computed after reading it (Luong et al. 2015,
        footnote on alignments; content scores with update-then-look)."""

    @property
    def attends(self) -> bool:
        """Whether the model has attention; without it, every `attention` is None."""

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> object:
        """Encode `source` [B, S] with `source_lengths` [B]; the state has B rows."""

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> EngineStep:
        """Read `tokens` [R] in rows `parents` [R] of `state`; return the k most probable next symbols, [R, k]."""

    def step_all(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]) -> Distributions:
        """Read `tokens` [R] in rows `parents` [R] of `state`; return the probabilities of all next symbols, [R, V]."""

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        """Score `target` [B, T], which holds segments, then EOS (counted in `target_lengths` [B]), then PAD."""


@runtime_checkable
class SharedSourceEngine(Protocol):
    """An engine that can score many targets of a source that it has encoded once."""

    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        """Score `target` [N, T] as `force` does; row n belongs to sentence `owners[n]` of the `state` from `start`.

        Owners ascend. A state from `start` may be scored from any number of times; the attention has the width of the
        longest source among the owners.
        """


@runtime_checkable
class ShortlistEngine(Protocol):
    """An engine whose `step` may be restricted to a shortlist: all other words have log-probability -inf.

    Log-probabilities are then normalised over the shortlist. `force` is over the full vocabulary.
    """

    def full_vocabulary(self) -> Engine:
        """The same model without the restriction: for a search that must be able to produce any word."""


@runtime_checkable
class ConcurrentEngine(Protocol):
    """An engine that computes in the thread that calls it, and may be called by several threads at once."""

    @property
    def workers(self) -> int:
        """The number of calls that the processor can compute at once."""


@runtime_checkable
class ThreadedEngine(Protocol):
    """An engine whose products are divided among threads."""

    def threads(self, count: int) -> AbstractContextManager[None]:
        """Compute on so many threads in a `with` block."""


def refuse_nan(log_probabilities: NDArray[np.float32]) -> None:
    """Stop a search or a score at once when a model returns NaN among log-probabilities of any shape.

    Raises:
        RunError: some log-probability is NaN.
    """
    if np.isnan(log_probabilities).any():
        raise RunError(
            "the model returns log-probabilities that are not numbers: its weights are damaged or training diverged; "
            "use the weights of another checkpoint, or train again with a smaller learning rate"
        )


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
    """x [.., n] with `width` columns, filled up on the right: [.., width]; the same array where it has as many."""
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
    """Lay out the rows that continue rows `parents` [R] of the layout before; with `rounded`, in a round width."""
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
