"""What a search needs to know of a model: encode sources, advance rows by one symbol, score given targets.

numpy is the whole language of this protocol. Search (beam.py, sampling.py) and forced scoring are written
against it; an engine is one file that puts a model behind it. What happens inside, on which device and in
which precision, is the engine's business, and so is taking the k best where the logits are.

Letters: B sentences of a batch, S source length (padded), T target length (padded), R rows in search
(sentences x live hypotheses).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError


class Step(NamedTuple):
    """What one step says about R rows."""

    log_probabilities: NDArray[np.float32]
    """[R, k] natural logarithms, normalised over the FULL vocabulary, largest first."""
    tokens: NDArray[np.int64]
    """[R, k] the symbols they belong to. The order among equal log-probabilities is left to the engine."""
    attention: NDArray[np.float32] | None
    """[R, S] alignment weights over the S columns of the `source` given to `start` (the column of the end of
    sentence included where the source has one, zero on padding), or None for a model without attention. Search keeps
    this array until the end, so the engine must not write into it again."""
    state: object
    """Its row r follows from row r of this step's `parents` and `tokens`."""


class Forced(NamedTuple):
    """What the model says about B given targets."""

    log_probabilities: NDArray[np.float32]
    """[B, T] natural logarithm of each target symbol given the source and the symbols before; 0 on padding."""
    attention: NDArray[np.float32] | None
    """[B, T, S] the weights with which each symbol was predicted, or None."""
    centres: NDArray[np.float32] | None = None
    """[B, T] p_t of a local scope, in positions of the source from 0; None for a global one, and from an engine that
    does not hand it out."""


class Engine(Protocol):
    """A model, as search sees it.

    Promises that every caller in this package keeps, so that an engine may rely on them:

    - `source` is padded with PAD on the right, every length is at least 1, and the end of sentence stands at the
      end of each source (and counts in its length) exactly if `source_eos` is true.
    - Rows are grouped by sentence: those of one sentence are adjacent, and sentences keep the order they have in
      the batch. `parents` never leads a row from one sentence to another, and never decreases from one sentence to
      the next; inside a sentence it may repeat, reorder and drop rows. Once a sentence has no row it never returns.
    - The first `step` after `start` has `parents = arange(B)` and `tokens = BOS`: one row a sentence, all of them.
    - 1 <= k <= `vocabulary_size`; k may change from step to step. R >= 1.
    - A state is stepped from at most once, so a step may reuse its memory.

    An engine promises in turn that a row's numbers do not depend, beyond rounding, on the other rows.
    """

    @property
    def vocabulary_size(self) -> int:
        """Target symbols, the four special ones included."""

    @property
    def source_eos(self) -> bool:
        """Whether the model reads an end of sentence after the source (config: model.source_eos)."""

    @property
    def attention_shift(self) -> int:
        """0 where the weights of step t belong to the word that step predicts (Bahdanau et al. 2015), 1 where those
        of step t + 1 belong to the word of step t, because they are computed after reading it (Luong et al. 2015,
        footnote on alignments; content scores with update-then-look)."""

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> object:
        """Encode `source` [B, S] with `source_lengths` [B]; the state has B rows."""

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        """Read `tokens` [R] in rows `parents` [R] of `state`; answer the k best symbols that may follow each."""

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        """Score `target` [B, T], which holds words, then EOS (counted in `target_lengths` [B]), then PAD."""


@runtime_checkable
class SharedSourceEngine(Protocol):
    """An engine that can score many targets of sources that it has encoded once."""

    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        """Score `target` [N, T] as `force` does; row n belongs to sentence `owners[n]` of what `start` gave.

        Owners ascend. A state that `start` gave may be scored from any number of times; the attention has the width
        of the longest source among the owners.
        """


@runtime_checkable
class ShortlistEngine(Protocol):
    """An engine whose `step` may speak of a few likely words only; all others have log-probability -inf.

    Log-probabilities are then normalised over these few. `force` is over the whole vocabulary.
    """

    def full_vocabulary(self) -> Engine:
        """The same model, whose steps are over the whole vocabulary: for what must be able to write any word."""


@runtime_checkable
class ConcurrentEngine(Protocol):
    """An engine that computes on the thread that calls it, and may be called by several at once."""

    @property
    def workers(self) -> int:
        """Calls at once that the processor has threads for."""


def refuse_nan(log_probabilities: NDArray[np.float32]) -> None:
    """Stop at once when a model's answers are not numbers, instead of searching among them.

    Raises:
        RunError: some log-probability is NaN.
    """
    if np.isnan(log_probabilities).any():
        raise RunError(
            "the model answers with log-probabilities that are not numbers: its weights are damaged or training "
            "diverged; use the weights of another checkpoint, or train again with a smaller learning rate"
        )
