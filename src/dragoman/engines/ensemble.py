"""Ensembles: several models choose each word together.

Members may differ in architecture, source segmentation and source vocabulary, so each reads the raw lines in its own
way; the target vocabulary is one. At every step the distributions p_m of the members are combined with weights w_m
that sum to 1:

    probabilities       log sum_m w_m p_m                   the arithmetic mean; Luong 2016 (thesis), in words
    log-probabilities   sum_m w_m log p_m                   the code of Jean et al. 2015; not normalised, so that the
                                                            score of a translation is the mean of the members' scores
    logits              the same, normalised                nmt.matlab: a mean of logits differs from that of the
                                                            log-probabilities by a constant, which a softmax takes out

Attention is what the members have in common: the words of the raw line. Each member's weights are added up over the
segments of each word (what falls on an end of sentence is left out), and then over the members with their weights.
Where the members differ in the step whose weights speak of a word (Engine.attention_shift), those of the members
without a shift are handed out one step later. A member without attention has no say.

Letters: B sentences, S source length of a member, I words of the raw line, R rows in search, V vocabulary.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, words_of
from dragoman.engines.protocol import Engine, Forced, Step
from dragoman.errors import ConfigError
from dragoman.text.side import TextSide, raw_words
from dragoman.text.vocabulary import BOS, Vocabulary
from dragoman.translation.length_batching import Shortener, source_batch
from dragoman.translation.source_encoding import Read, SourceBatch, bare_words, workers

Combination = Literal["probabilities", "log-probabilities", "logits"]

COMBINATIONS: tuple[str, ...] = get_args(Combination)


class Member(NamedTuple):
    """One model of an ensemble."""

    engine: Engine
    source: TextSide
    weight: float


class Ensemble:
    """The source sides of the members; makes an engine for each batch of lines (a Reader, see reading.py)."""

    def __init__(
        self,
        members: Sequence[tuple[Engine, TextSide]],
        combination: Combination = "probabilities",
        weights: Sequence[float] | None = None,
    ) -> None:
        """`weights`, one a member, are divided by their sum; None weighs all alike.

        Raises:
            ConfigError: the weights are not one a member, or not above 0.
        """
        weights = [1.0] * len(members) if weights is None else weights
        if len(weights) != len(members):
            raise ConfigError(f"{len(weights)} weights for {len(members)} models; give one for each, in their order")
        if not all(0 < weight < np.inf for weight in weights):
            raise ConfigError(f"weights {', '.join(f'{weight:g}' for weight in weights)}: each must be above 0")
        assert len({engine.vocabulary_size for engine, _ in members}) == 1, "one target vocabulary"
        self.members = [Member(*pair, weight / sum(weights)) for pair, weight in zip(members, weights, strict=True)]
        self.combination = combination
        self._shorten = Shortener()

    @property
    def attention_shift(self) -> int:
        return max(member.engine.attention_shift for member in self.members)

    @property
    def workers(self) -> int:
        return min(workers(member.engine) for member in self.members)

    def read(self, text: str, place: str) -> Read:
        """As each member reads it; the columns of the attention are the words of the raw line."""
        words = raw_words(text)
        parts = [self._shorten(member.source.encode(text), place) for member in self.members]
        return Read(parts, [text[start:end] for start, end in words], words)

    def batch(self, lines: Sequence[Read]) -> SourceBatch:
        """An engine that reads these lines only; its `source` [B, I] says no more than how many words there are."""
        engine = EnsembleEngine(self, lines)
        words = np.array([max(1, len(line.offsets)) for line in lines], dtype=np.int64)
        segments = np.array([line.segments for line in lines], dtype=np.int64)
        return SourceBatch(engine, np.ones((len(lines), int(words.max())), dtype=np.int64), words, segments)

    def copied_words(self, text: str, line: Read) -> list[Span]:
        return bare_words(text)


@dataclass(frozen=True)
class _State:
    members: list[object]
    sentences: NDArray[np.int64]
    """[R] places in the batch."""
    delayed: list[NDArray[np.float32] | None]
    """For each member, [R, I] the weights that are to be handed out with the next step."""


class EnsembleEngine:
    """The members at work on one batch of lines."""

    source_eos = False

    def __init__(self, ensemble: Ensemble, lines: Sequence[Read]) -> None:
        self._members = ensemble.members
        self._combination = ensemble.combination
        self.attention_shift = ensemble.attention_shift
        self.vocabulary_size = ensemble.members[0].engine.vocabulary_size
        self._words = max(1, *(len(line.offsets) for line in lines))
        self._sources = [
            source_batch(member.engine, [line.parts[place].ids for line in lines])
            for place, member in enumerate(self._members)
        ]
        self._owners = [
            self._owner_of_columns([line.parts[place].offsets for line in lines], lines, source.shape[1])
            for place, (source, _) in enumerate(self._sources)
        ]

    def _owner_of_columns(self, spans: list[list[Span]], lines: Sequence[Read], columns: int) -> NDArray[np.int64]:
        """[B, S] the word each segment of a member belongs to; I for none."""
        owners = np.full((len(lines), columns), self._words, dtype=np.int64)
        for row, segments, line in zip(owners, spans, lines, strict=True):
            words = words_of(segments, line.offsets)
            row[: len(words)] = np.where(words >= 0, words, self._words)
        return owners

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _State:
        assert len(source) == len(self._sources[0][0]), "the lines this engine was made for"
        states = [member.engine.start(*own) for member, own in zip(self._members, self._sources, strict=True)]
        return _State(states, np.arange(len(source)), [None] * len(states))

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        assert isinstance(state, _State)
        sentences = state.sentences[parents]
        steps = [
            member.engine.step(own, parents, tokens, self.vocabulary_size)
            for member, own in zip(self._members, state.members, strict=True)
        ]
        combined = self._combined(steps)
        best = np.argpartition(-combined, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(combined, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        attention, delayed = self._attention(steps, sentences, parents, state.delayed)
        after = _State([step.state for step in steps], sentences, delayed)
        return Step(np.take_along_axis(combined, best, axis=1).astype(np.float32), best, attention, after)

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        """By steps, because what is combined are whole distributions."""
        log_probabilities = np.zeros(target.shape, dtype=np.float32)
        attention = np.zeros((*target.shape, source.shape[1]), dtype=np.float32)
        attends = False
        rows, state = np.arange(len(source)), self.start(source, source_lengths)
        tokens = np.full(len(source), BOS, dtype=np.int64)
        for column in range(target.shape[1]):
            kept = np.flatnonzero(target_lengths[rows] > column)
            rows = rows[kept]
            step = self.step(state, kept, tokens[kept], self.vocabulary_size)
            assert isinstance(step.state, _State)
            wanted, state = target[rows, column], step.state
            log_probabilities[rows, column] = step.log_probabilities[step.tokens == wanted[:, None]]
            if step.attention is not None:
                attends = True
                attention[rows, column] = step.attention
            tokens = wanted
        return Forced(log_probabilities, attention if attends else None)

    def _combined(self, steps: Sequence[Step]) -> NDArray[np.float64]:
        """[R, V] the combination of the members' distributions, at most 0."""
        total: NDArray[np.float64] | None = None
        for member, step in zip(self._members, steps, strict=True):
            own = np.full((len(step.tokens), self.vocabulary_size), -np.inf)
            np.put_along_axis(own, step.tokens, step.log_probabilities.astype(np.float64), axis=1)
            own = own + np.log(member.weight) if self._combination == "probabilities" else own * member.weight
            if total is None:
                total = own
            elif self._combination == "probabilities":
                total = np.logaddexp(total, own)
            else:
                total += own
        assert total is not None
        if self._combination == "logits":
            largest = total.max(axis=1, keepdims=True)
            total -= largest + np.log(np.exp(total - largest).sum(axis=1, keepdims=True))
        return np.minimum(total, 0.0)

    def _attention(
        self,
        steps: Sequence[Step],
        sentences: NDArray[np.int64],
        parents: NDArray[np.int64],
        delayed: Sequence[NDArray[np.float32] | None],
    ) -> tuple[NDArray[np.float32] | None, list[NDArray[np.float32] | None]]:
        """[R, I] the weighted sum over the members that attend, and what of it is for the next step."""
        share = sum(
            member.weight for member, step in zip(self._members, steps, strict=True) if step.attention is not None
        )
        if not share:
            return None, [None] * len(steps)
        total = np.zeros((len(sentences), self._words), dtype=np.float32)
        later: list[NDArray[np.float32] | None] = []
        for member, step, owners, before in zip(self._members, steps, self._owners, delayed, strict=True):
            late = member.engine.attention_shift < self.attention_shift and step.attention is not None
            now = None if step.attention is None else self._by_word(step.attention, owners[sentences])
            later.append(now if late else None)
            if late:
                now = None if before is None else before[parents]
            if now is not None:
                total += now * np.float32(member.weight / share)
        return total, later

    def _by_word(self, attention: NDArray[np.float32], owners: NDArray[np.int64]) -> NDArray[np.float32]:
        """Weights of segments [R, S] added up over the word each belongs to, [R, I]."""
        words = np.zeros((len(attention), self._words + 1), dtype=np.float32)
        np.add.at(words, (np.arange(len(attention))[:, None], owners), attention)
        return words[:, : self._words]


def require_same_target(names: Sequence[str], vocabularies: Sequence[Vocabulary]) -> None:
    """Refuse members that number their words differently, naming the first difference.

    Raises:
        ConfigError: a target vocabulary differs from the first one's.
    """
    first, *others = vocabularies
    for name, other in zip(names[1:], others, strict=True):
        if other.digest == first.digest:
            continue
        places = range(min(len(first), len(other)))
        different = next((place for place in places if first.pieces([place]) != other.pieces([place])), None)
        detail = (
            "the longer one goes on after that"
            if different is None
            else f"entry {different} is {first.pieces([different])[0]!r} in the first "
            f"and {other.pieces([different])[0]!r} in the second"
        )
        raise ConfigError(
            f"{names[0]} and {name} cannot choose words together: their target vocabularies differ "
            f"({len(first):,} and {len(other):,} entries; {detail}); train one with the text files of the other"
        )


def require_same_segmentation(names: Sequence[str], sides: Sequence[TextSide]) -> None:
    """Refuse members that would cut a given target differently: one of them cannot judge the segments of the other.

    Raises:
        ConfigError: a target side cuts in another way than the first one.
    """
    first, *others = (pickle.dumps(side.segmentation) for side in sides)  # all that cutting depends on, and no more
    for name, other in zip(names[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"{names[0]} and {name} cannot judge given translations together: they cut the target into different "
                f"segments ({_kind(sides[0])} and {_kind(sides[names.index(name)])}); "
                "train one with the text files of the other"
            )


def _kind(side: TextSide) -> str:
    return type(side.segmentation).__name__.removesuffix("Segmentation").lower()
