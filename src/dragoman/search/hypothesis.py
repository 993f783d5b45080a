"""Hypotheses, and how they are rebuilt from the back-pointers of a search.

Beam search and sampling share these. Neither copies a growing history from step to step: each step stores, for every
row, the row that it continues and the symbol that it reads, and whole hypotheses are read backwards at the very end.

Letters: B sentences of a batch, S source length, T hypothesis length, R rows in search, N hypotheses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import EngineStep
from dragoman.text.vocabulary import EOS


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """A translation in ids."""

    tokens: list[int]
    """Symbols; the last one is EOS, always (see `finished`)."""
    log_probability: float
    """Natural logarithm of the probability of `tokens`, EOS included, under the model itself: that of forced decoding
    of the same tokens."""
    score: float
    """`log_probability` after length normalisation."""
    attention: NDArray[np.float32] | None
    """[T, S] alignment weights: row t was in use when `tokens[t]` was predicted; the columns are the source segments
    of the sentence (and its EOS, if the model reads it), without padding."""
    token_log_probabilities: NDArray[np.float64]
    """[T] natural logarithm of the probability of each token given those before it; their sum is `log_probability`."""
    finished: bool
    """False if the longest permitted length was reached and EOS was appended; nmt.matlab does the same
    when no hypothesis has ended."""


def end_log_probabilities(step: EngineStep) -> NDArray[np.float64]:
    """[R] log-probability of EOS after each row, permitted or not; -inf where EOS is not among the k returned."""
    ends = np.where(step.tokens == EOS, step.log_probabilities.astype(np.float64), -np.inf)
    return np.asarray(ends.max(axis=1), dtype=np.float64)


class End(NamedTuple):
    """Where a hypothesis ended: enough to rebuild it from the history."""

    score: float
    log_probability: float
    step: int
    row: int
    finished: bool


@dataclass(slots=True)
class History:
    """The steps of a search, as back-pointers."""

    parents: list[NDArray[np.int64]] = field(default_factory=list)
    """Per step, [R]: the row of the previous step that each row continues."""
    tokens: list[NDArray[np.int64]] = field(default_factory=list)
    """Per step, [R]: the symbol that each row reads. Step 0 reads BOS."""
    attention: list[NDArray[np.float32]] = field(default_factory=list)
    """Per step, [R, S]: the weights with which the next symbol of each row was predicted. Empty without attention."""
    log_probabilities: list[NDArray[np.float64]] = field(default_factory=list)
    """Per step, [R]: the log-probability of each row, with the symbol that it reads."""

    def append(
        self,
        parents: NDArray[np.int64],
        tokens: NDArray[np.int64],
        log_probabilities: NDArray[np.float64],
        attention: NDArray[np.float32] | None,
    ) -> None:
        """Add a step of R rows: `attention` is [R, S], the others are [R]."""
        self.parents.append(parents)
        self.tokens.append(tokens)
        self.log_probabilities.append(log_probabilities)
        if attention is not None:
            self.attention.append(attention)

    def rebuild(self, ends: list[list[End]], source_lengths: NDArray[np.int64]) -> list[list[Hypothesis]]:
        """The hypotheses of `ends`, sentence by sentence; `source_lengths` [B] cut the padding off attention."""
        flat = [end for sentence in ends for end in sentence]
        widths = [int(length) for length, sentence in zip(source_lengths, ends, strict=True) for _ in sentence]
        if not flat:
            return [[] for _ in ends]
        tokens, totals, attention = self._walk_back(
            np.array([end.step for end in flat], dtype=np.int64), np.array([end.row for end in flat], dtype=np.int64)
        )
        hypotheses = iter(
            Hypothesis(
                tokens=tokens[n, : end.step + 1].tolist(),
                log_probability=end.log_probability,
                score=end.score,
                # A copy of its own: a view would keep the weights of the whole batch alive with each hypothesis.
                attention=None if attention is None else attention[n, : end.step + 1, :width].copy(),
                token_log_probabilities=np.diff(totals[n, : end.step + 1], append=end.log_probability),
                finished=end.finished,
            )
            for n, (end, width) in enumerate(zip(flat, widths, strict=True))
        )
        return [[next(hypotheses) for _ in sentence] for sentence in ends]

    def _walk_back(
        self, steps: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float32] | None]:
        """Tokens [N, T], log-probabilities [N, T] before each of them, and attention [N, T, S] of hypotheses that ended
        after row `rows[n]` of step `steps[n]`.
        """
        longest = int(steps.max()) + 1
        tokens = np.full((len(steps), longest), EOS, dtype=np.int64)
        totals = np.zeros((len(steps), longest))
        attention = None
        if self.attention:
            attention = np.zeros((len(steps), longest, self.attention[0].shape[1]), dtype=np.float32)
        rows = rows.copy()
        for step in reversed(range(longest)):
            alive = np.flatnonzero(steps >= step)
            here = rows[alive]
            totals[alive, step] = self.log_probabilities[step][here]
            if attention is not None:
                attention[alive, step] = self.attention[step][here]
            if step > 0:
                tokens[alive, step - 1] = self.tokens[step][here]
                rows[alive] = self.parents[step][here]
        return tokens, totals, attention
