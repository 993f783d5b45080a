"""Constraints on hypotheses: which symbols and lengths are permitted, and what must appear.

A constraint forbids continuations of a row; those that remain keep the log-probability of the model. In the order of
precedence, where two contradict each other:

    forced prefix         only its next id, whatever the other constraints forbid
    blocked symbols       never PAD, BOS, banned words of one segment and, if configured, UNK
    lengths               no EOS before the shortest length; only EOS at the longest
    placeholders          only those of the source, none twice; where all are required, no EOS before they have
                          appeared, and no id that leaves too little room for the missing ones
    phrases               no EOS before all have appeared as whole words; no id that leaves too little room for the
                          missing phrases, which are assumed not to overlap
    banned sequences      not the last id of a sequence whose other ids end the hypothesis
    n-gram blocking       not the last id of an n-gram that the hypothesis contains already; phrases are exempt

Letters: B sentences of a batch, R rows in search, L segments of each row so far, V vocabulary, k continuations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Distributions, EngineStep, refuse_nan
from dragoman.search.phrase_constraints import PhraseConstraints, PhraseState, kinds
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.text.word_boundaries import WordBoundaries

TOLERANCE = 1e-9
"""Keeps 1.1 * 10 from being a hair above 11 where a factor times a length is rounded."""


RowTokens = NDArray[np.int64] | None
"""[R, L] the segments of each hypothesis, or None where no constraint needs them: a search that keeps them copies all
of them at every step."""


def append_tokens(words: RowTokens, rows: NDArray[np.int64], tokens: NDArray[np.int64]) -> RowTokens:
    """The segments [R', L + 1] of new rows that continue `rows` [R'] of `words` [R, L] with `tokens` [R']."""
    return None if words is None else np.column_stack((words[rows], tokens))


@dataclass(frozen=True, slots=True)
class IdConstraints:
    """Constraints on one translation, in ids."""

    prefix: Sequence[int] = ()
    """The translation begins with it."""
    phrases: Sequence[Sequence[int]] = ()
    """They must appear in the translation."""
    placeholders: int = 0
    """How many of the vocabulary's placeholders, from the first on, may appear, each once; the others may not."""
    all_placeholders: bool = False
    """Whether all of these must appear. Hypotheses are then pruned only against others that have as many of them, as
    with phrases: a search that only forbids the end lets a finished sentence ramble on until a placeholder fits."""


class Continuations(NamedTuple):
    """The continuations of R rows."""

    log_probabilities: NDArray[np.float64]
    """[R, k] largest first among those permitted; -inf for what is forbidden."""
    tokens: NDArray[np.int64]
    """[R, k]"""
    constraints_met: NDArray[np.int64] | None = None
    """[R, k] ids of the sentence's phrases, and required placeholders, that are met after each; None where no sentence
    has either."""


@dataclass(frozen=True, slots=True)
class BatchConstraints:
    """The constraints on a batch of sentences."""

    blocked: NDArray[np.bool_]
    """[V] symbols that are never produced."""
    shortest: NDArray[np.int64]
    """[B] segments that must stand before EOS."""
    longest: NDArray[np.int64]
    """[B] segments that may stand before EOS."""
    no_repeat_ngram: int = 0
    """No n-gram of this length is repeated; 0 for no such constraint."""
    banned: Mapping[tuple[int, ...], Sequence[int]] | None = None
    """Sequences of two or more ids that are never produced: all ids but the last -> the last ids."""
    prefixes: Sequence[Sequence[int]] = ()
    """For each sentence, or empty."""
    phrases: Sequence[PhraseConstraints] = ()
    """For each sentence, or empty."""
    kinds: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """[V] the kind of each symbol for the phrases, as `Outcomes.others` counts them; empty without phrases."""
    placeholders: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """[P] the ids of placeholders; empty where no sentence has one."""
    allowed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """[B] how many of the placeholders each translation may have."""
    required: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """[B] whether it must have all of them."""

    @classmethod
    def from_config(
        cls,
        config: SearchConfig,
        vocabulary_size: int,
        segments: NDArray[np.int64],
        constraints: Sequence[IdConstraints] = (),
        banned: Sequence[Sequence[int]] = (),
        boundaries: WordBoundaries | None = None,
        placeholders: Sequence[int] = (),
    ) -> BatchConstraints:
        """The constraints on translations of sources of `segments` [B] segments, EOS not counted.

        The longest length is at least 1, takes precedence over the shortest, and leaves room for the prefixes and
        phrases of `constraints` (one for each sentence, or none at all). With the word `boundaries` of the target
        vocabulary phrases appear as whole words. `placeholders` are the ids of those that its vocabulary has.
        """
        longest = np.floor(config.max_length_factor * segments + TOLERANCE).astype(np.int64) + config.max_length_extra
        longest = np.maximum(longest, 1)
        shortest = np.ceil(config.min_length_factor * segments - TOLERANCE).astype(np.int64)
        blocked = np.zeros(vocabulary_size, dtype=np.bool_)
        blocked[[PAD, BOS]] = True
        blocked[UNK] = config.block_unknown
        blocked[[sequence[0] for sequence in banned if len(sequence) == 1]] = True
        sequences: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for *before, last in (sequence for sequence in banned if len(sequence) > 1):
            sequences[tuple(before)].append(last)
        prefixes = [one.prefix for one in constraints] if any(one.prefix for one in constraints) else []
        phrases = []
        if any(one.phrases for one in constraints):
            phrases = [PhraseConstraints(one.phrases, boundaries) for one in constraints]
        allowed = np.array([one.placeholders for one in constraints], np.int64)
        if not allowed.any():
            blocked[list(placeholders)] = True
            placeholders, allowed = (), np.zeros(0, np.int64)
        for index in range(len(constraints)):
            begun = prefixes[index] if prefixes else ()
            needed = len(begun)
            if phrases:
                needed += phrases[index].progress(phrases[index].state(begun)).missing
            if len(allowed):
                needed += len(set(placeholders[: allowed[index]]) - set(begun))
            longest[index] = max(longest[index], needed)
        return cls(
            blocked,
            np.minimum(shortest, longest),
            longest,
            config.no_repeat_ngram,
            dict(sequences) or None,
            prefixes,
            phrases,
            kinds(boundaries, vocabulary_size) if phrases else np.zeros(0, np.int64),
            np.array(placeholders, np.int64),
            allowed,
            np.array([one.all_placeholders for one in constraints if len(placeholders)], np.bool_),
        )

    def first_words(self, rows: int) -> RowTokens:
        """The segments of `rows` empty hypotheses; None if no constraint needs them."""
        needed = self.no_repeat_ngram or self.banned or self.phrases or len(self.placeholders)
        return np.zeros((rows, 0), dtype=np.int64) if needed else None

    def missing(self, sentence: int, ids: Sequence[int]) -> int:
        """How many of its placeholders a translation of the sentence lacks."""
        return len(set(self.placeholders[: self.allowed[sentence]].tolist()) - set(ids))

    def at_step(self, sentences: NDArray[np.int64], length: int, words: RowTokens) -> StepConstraints:
        """The constraints on rows of `sentences` [R] that have `length` segments, which are `words` [R, L]."""
        forced = {
            row: int(self.prefixes[sentence][length])
            for row, sentence in enumerate(sentences.tolist() if self.prefixes else [])
            if len(self.prefixes[sentence]) > length
        }
        if words is None:
            return StepConstraints(self, sentences, length, forced, [], {})
        free = None
        if len(self.placeholders):
            free = np.arange(len(self.placeholders)) < self.allowed[sentences][:, None]
            free &= (words[:, :, None] != self.placeholders).all(axis=1)
        if not (self.phrases or self.no_repeat_ngram or self.banned):
            return StepConstraints(self, sentences, length, forced, [], {}, free)
        lines = words.tolist()
        states = []
        if self.phrases:
            states = [self.phrases[sentence].state(line) for sentence, line in zip(sentences, lines, strict=True)]
        banned: dict[int, set[int]] = {}
        for row, line in enumerate(lines):
            repeated = set(_repeated(line, self.no_repeat_ngram))
            if states:
                repeated -= self.phrases[sentences[row]].next(states[row])
            if unwanted := repeated.union(self._sequence_ends(line)):
                banned[row] = unwanted
        return StepConstraints(self, sentences, length, forced, states, banned, free)

    def _sequence_ends(self, line: list[int]) -> Iterator[int]:
        """The last ids of banned sequences whose other ids end the line."""
        for before, last in (self.banned or {}).items():
            if tuple(line[-len(before) :]) == before:
                yield from last


@dataclass(frozen=True, slots=True)
class StepConstraints:
    """The constraints on the next symbol of R rows of L segments each."""

    batch: BatchConstraints
    sentences: NDArray[np.int64]
    """[R]"""
    length: int
    """L"""
    forced: Mapping[int, int]
    """Row -> the one id that may follow."""
    states: Sequence[PhraseState]
    """The state of each row's phrases; empty where no sentence has phrases."""
    banned: Mapping[int, set[int]]
    """Row -> the ids that n-gram blocking and banned sequences forbid."""
    free: NDArray[np.bool_] | None = None
    """[R, P] the placeholders that each row may still have; None where no sentence has one."""

    @property
    def need_distributions(self) -> bool:
        """Whether rows need EOS, a forced id, a placeholder or the ids of phrases wherever they are in the order.

        They are selected from whole distributions, because sorting these would take most of the time.
        """
        return bool(self.forced or self.states or self._required().any())

    def _required(self) -> NDArray[np.bool_]:
        """[R, P] the placeholders that each row still needs."""
        if self.free is None:
            return np.zeros((len(self.sentences), 0), np.bool_)
        return self.free & self.batch.required[self.sentences][:, None]

    def count(self, wanted: int) -> int:
        """The most probable symbols of a row among which are the `wanted` best permitted ones besides EOS."""
        forbidden = int(np.count_nonzero(self.batch.blocked)) + len(self.batch.placeholders) + 1  # EOS
        return min(wanted + forbidden + max(map(len, self.banned.values()), default=0), len(self.batch.blocked))

    def select(self, distributions: Distributions, wanted: int) -> EngineStep:
        """Select from [R, V] the `wanted` best permitted symbols of each row and kind, and the symbols of `_own_ids`:
        [R, k], largest first.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        log_probabilities = distributions.log_probabilities  # [R, V]
        refuse_nan(log_probabilities)
        own = self._own_ids()  # [R, P]
        others = log_probabilities.copy()
        others[:, self.batch.blocked] = -np.inf
        if self.free is not None:
            rows, used = np.nonzero(~self.free)
            others[rows, self.batch.placeholders[used]] = -np.inf
        for row, ids in self.banned.items():
            others[row, list(ids)] = -np.inf
        np.put_along_axis(others, own, -np.inf, axis=1)
        best = self._best_of_each_kind(others, wanted)
        values = (np.take_along_axis(others, best, axis=1), np.take_along_axis(log_probabilities, own, axis=1))
        selected, words = np.concatenate(values, axis=1), np.concatenate((best, own), axis=1)  # [R, k + P]
        order = np.argsort(-selected, axis=1, kind="stable")
        selected, words = np.take_along_axis(selected, order, axis=1), np.take_along_axis(words, order, axis=1)
        return EngineStep(selected, words, distributions.attention, distributions.state)

    def _best_of_each_kind(self, log_probabilities: NDArray[np.float32], wanted: int) -> NDArray[np.int64]:
        """[R, V] -> [R, k] the `wanted` best symbols of each kind: as many as may compete after each outcome."""
        if not self.states:
            return _largest(log_probabilities, wanted)
        kinds = range(int(self.batch.kinds.max()) + 1)
        members = (np.flatnonzero(self.batch.kinds == kind) for kind in kinds)
        best = [each[_largest(log_probabilities[:, each], wanted)] for each in members if len(each)]
        return np.concatenate(best, axis=1)

    def _own_ids(self) -> NDArray[np.int64]:
        """[R, P] the ids that a row must be able to take: EOS, its forced id and the ids of its phrases; then PAD."""
        rows, required = [], self._required()
        for row, sentence in enumerate(self.sentences.tolist()):
            ids = [EOS, *((self.forced[row],) if row in self.forced else ())]
            if self.free is not None:
                ids += self.batch.placeholders[required[row]].tolist()
            rows.append(list(dict.fromkeys([*ids, *(self.batch.phrases[sentence].ids if self.states else ())])))
        width = max(map(len, rows))
        return np.array([ids + [PAD] * (width - len(ids)) for ids in rows], dtype=np.int64)

    def permitted(self, step: EngineStep) -> Continuations:
        """The continuations of a step, with log-probability -inf for those that are forbidden.

        The others keep the log-probability of the model. Equal log-probabilities are sorted by id, so that ties are
        broken in the same way on any engine.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        refuse_nan(step.log_probabilities)
        log_probabilities, tokens = step.log_probabilities.astype(np.float64), step.tokens
        if (log_probabilities[:, 1:] == log_probabilities[:, :-1]).any():  # rare without phrases, and sorting is slow
            order = np.lexsort((tokens, -log_probabilities), axis=1)
            log_probabilities = np.take_along_axis(log_probabilities, order, axis=1)
            tokens = np.take_along_axis(tokens, order, axis=1)
        forbidden = self.batch.blocked[tokens]
        if self.batch.shortest.max(initial=0) > self.length:
            too_short = self.batch.shortest[self.sentences] > self.length  # [R]
            forbidden |= too_short[:, None] & (tokens == EOS)
        for row, ids in self.banned.items():
            forbidden[row] |= np.isin(tokens[row], list(ids))
        met, missing = None, np.zeros_like(tokens)
        if self.states:
            met, missing = self._outcomes(tokens)
        if self.free is not None:
            equal = tokens[:, :, None] == self.batch.placeholders  # [R, k, P]
            forbidden |= equal.any(axis=2) & ~(equal & self.free[:, None, :]).any(axis=2)
            if self.batch.required.any():
                required = self._required()
                absent = required.sum(axis=1)[:, None] - (equal & required[:, None, :]).any(axis=2)
                missing += absent
                met = (0 if met is None else met) + self.batch.allowed.max() - absent
        if met is not None:
            room = self.batch.longest[self.sentences] - self.length - 1
            forbidden |= (missing > 0) & ((tokens == EOS) | (missing > room[:, None]))
        for row, word in self.forced.items():
            forbidden[row] = tokens[row] != word
        np.putmask(log_probabilities, forbidden, -np.inf)
        return Continuations(log_probabilities, tokens, met)

    def _outcomes(self, tokens: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[R, k] the number of phrase ids that are met after each continuation, and of segments that are missing."""
        met, missing = np.empty_like(tokens), np.empty_like(tokens)
        of_kinds = self.batch.kinds[tokens].tolist()
        for row, (sentence, state) in enumerate(zip(self.sentences.tolist(), self.states, strict=True)):
            own, others = self.batch.phrases[sentence].outcomes(state)
            progress = [
                own.get(token, others[kind]) for token, kind in zip(tokens[row].tolist(), of_kinds[row], strict=True)
            ]
            met[row], missing[row] = zip(*progress, strict=True)
        return met, missing


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """[R, V] -> [R, k] the columns of the `count` largest values of each row, or of all of them."""
    count = min(count, values.shape[1])
    return np.argpartition(values, -count, axis=1)[:, -count:]


def _repeated(line: list[int], n: int) -> Iterator[int]:
    """The ids that would end an n-gram which the line contains already."""
    if n and len(line) >= n:
        last = line[len(line) - n + 1 :]
        for start in range(len(line) - n + 1):
            if line[start : start + n - 1] == last:
                yield line[start + n - 1]
