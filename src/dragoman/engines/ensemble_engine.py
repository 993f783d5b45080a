"""The ensemble engine: the word distributions of several models are averaged at every step.

The distributions p_m of the members are combined with weights w_m that sum to 1:

    probabilities       log sum_m w_m p_m                   the arithmetic mean; Luong 2016 (thesis), in words
    log-probabilities   sum_m w_m log p_m                   the code of Jean et al. 2015; not normalised, so that the
                                                            score of a translation is the mean of the members' scores
    logits              the same, normalised                nmt.matlab: a mean of logits differs from that of the
                                                            log-probabilities by a constant, which a softmax removes

Members may read different segments of a line, so their attention is compared by the words of the raw line: each
member's weights are summed over the segments of a word (weight on EOS is left out), and then over the members with
their weights w_m. Where members differ in `Engine.attention_shift`, the weights of those without a shift are returned
one step later. Members without attention do not count.

Letters: B sentences, S source length of a member, I words of the raw line, R rows in search, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import Combination
from dragoman.engines.protocol import Distributions, Engine, EngineStep, ForcedScores
from dragoman.errors import ConfigError
from dragoman.text.vocabulary import BOS


class EnsembleMember(NamedTuple):
    """One model of an ensemble."""

    engine: Engine
    weight: float
    """w_m"""


class MemberSource(NamedTuple):
    """A batch of lines as one member reads them."""

    source: NDArray[np.int64]
    """[B, S]"""
    lengths: NDArray[np.int64]
    """[B]"""
    words: NDArray[np.int64]
    """[B, S] the word of the raw line that each segment belongs to; I for none."""


@dataclass(frozen=True)
class _EnsembleState:
    members: list[object]
    sentences: NDArray[np.int64]
    """[R] places in the batch."""
    delayed: list[NDArray[np.float32] | None]
    """For each member, [R, I] the weights that the next step returns."""


def normalised_weights(weights: Sequence[float] | None, members: int) -> list[float]:
    """One weight for each member, divided by their sum; None weights all members equally.

    Raises:
        ConfigError: the number of weights is wrong, or one is not above 0.
    """
    weights = [1.0] * members if weights is None else weights
    if len(weights) != members:
        raise ConfigError(f"{len(weights)} weights for {members} models; give one for each, in their order")
    if not all(0 < weight < np.inf for weight in weights):
        raise ConfigError(f"weights {', '.join(f'{weight:g}' for weight in weights)}: each must be above 0")
    return [weight / sum(weights) for weight in weights]


class EnsembleEngine:
    """The combined members for one batch of lines; `words` is I, the largest number of raw words in a line."""

    source_eos = False

    def __init__(
        self,
        members: Sequence[EnsembleMember],
        combination: Combination,
        sources: Sequence[MemberSource],
        words: int,
    ) -> None:
        """`sources` has one entry for each member; `words` is I, at least 1."""
        self._members = members
        self._combination = combination
        self._sources = sources
        self._words = words
        self.attention_shift = max(member.engine.attention_shift for member in members)
        self.attends = any(member.engine.attends for member in members)
        self.vocabulary_size = members[0].engine.vocabulary_size
        assert all(member.engine.vocabulary_size == self.vocabulary_size for member in members), "one target vocabulary"

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _EnsembleState:
        """Encode the lines of the batch; of `source` [B, I] only the shape counts."""
        assert len(source) == len(self._sources[0].source), "the lines that this engine was made for"
        states = [
            member.engine.start(own.source, own.lengths)
            for member, own in zip(self._members, self._sources, strict=True)
        ]
        return _EnsembleState(states, np.arange(len(source)), [None] * len(states))

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> EngineStep:
        total, attention, after = self._advance(state, parents, tokens)
        best = np.argpartition(total, -k, axis=1)[:, -k:]  # [R, V] -> [R, k]
        order = np.argsort(-np.take_along_axis(total, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        log_probabilities = self._logarithms(np.take_along_axis(total, best, axis=1))
        return EngineStep(log_probabilities, best, attention, after)

    def step_all(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]) -> Distributions:
        total, attention, after = self._advance(state, parents, tokens)
        return Distributions(self._logarithms(total), attention, after)

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        """Score the targets step by step, because whole distributions are combined."""
        log_probabilities = np.zeros(target.shape, dtype=np.float32)
        attention = np.zeros((*target.shape, source.shape[1]), dtype=np.float32)
        attends = False
        rows, state = np.arange(len(source)), self.start(source, source_lengths)
        tokens = np.full(len(source), BOS, dtype=np.int64)
        for column in range(target.shape[1]):
            kept = np.flatnonzero(target_lengths[rows] > column)
            rows = rows[kept]
            total, weights, state = self._advance(state, kept, tokens[kept])
            wanted = target[rows, column]
            log_probabilities[rows, column] = self._logarithms(total[np.arange(len(rows)), wanted])
            if weights is not None:
                attends = True
                attention[rows, column] = weights
            tokens = wanted
        return ForcedScores(log_probabilities, attention if attends else None)

    def _advance(
        self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32] | None, _EnsembleState]:
        """The combined distributions [R, V] (see `_logarithms`), the alignment weights, and the state after."""
        assert isinstance(state, _EnsembleState)
        sentences = state.sentences[parents]
        total: NDArray[np.float64] | None = None
        steps = []
        for member, before in zip(self._members, state.members, strict=True):
            step = member.engine.step_all(before, parents, tokens)
            if self._combination == "probabilities":
                own = np.exp(step.log_probabilities, dtype=np.float64)
            else:
                own = step.log_probabilities.astype(np.float64)
            own *= member.weight
            total = own if total is None else np.add(total, own, out=total)
            steps.append(step)
        assert total is not None
        if self._combination == "logits":
            largest = total.max(axis=1, keepdims=True)
            total -= largest + np.log(np.exp(total - largest).sum(axis=1, keepdims=True))
        attention, delayed = self._attention(steps, sentences, parents, state.delayed)
        return total, attention, _EnsembleState([step.state for step in steps], sentences, delayed)

    def _logarithms(self, combined: NDArray[np.float64]) -> NDArray[np.float32]:
        """The log-probabilities, at most 0, of values that `_advance` combines: [R, V], or a part of them."""
        with np.errstate(divide="ignore"):  # a word outside of a shortlist has probability 0
            logarithms = np.log(combined) if self._combination == "probabilities" else combined
        return np.minimum(logarithms, 0.0).astype(np.float32)

    def _attention(
        self,
        steps: Sequence[Distributions],
        sentences: NDArray[np.int64],
        parents: NDArray[np.int64],
        delayed: Sequence[NDArray[np.float32] | None],
    ) -> tuple[NDArray[np.float32] | None, list[NDArray[np.float32] | None]]:
        """[R, I] the weighted sum over the members with attention, and the weights that the next step returns."""
        share = sum(
            member.weight for member, step in zip(self._members, steps, strict=True) if step.attention is not None
        )
        if not share:
            return None, [None] * len(steps)
        total = np.zeros((len(sentences), self._words), dtype=np.float32)
        later: list[NDArray[np.float32] | None] = []
        for member, step, own, before in zip(self._members, steps, self._sources, delayed, strict=True):
            late = member.engine.attention_shift < self.attention_shift and step.attention is not None
            now = None if step.attention is None else self._by_word(step.attention, own.words[sentences])
            later.append(now if late else None)
            if late:
                now = None if before is None else before[parents]
            if now is not None:
                total += now * np.float32(member.weight / share)
        return total, later

    def _by_word(self, attention: NDArray[np.float32], words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Sum weights of segments [R, S] over the word that each belongs to, `words` [R, S] -> [R, I]."""
        summed = np.zeros((len(attention), self._words + 1), dtype=np.float32)
        np.add.at(summed, (np.arange(len(attention))[:, None], words), attention)
        return summed[:, : self._words]  # [R, I + 1] -> [R, I]
