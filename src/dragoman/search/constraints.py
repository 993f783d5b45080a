"""What a hypothesis may hold, how long it may be, and what must be in it.

Every rule forbids continuations of a row; what is left keeps the log-probability that the model gave it. From the
strongest on, where two contradict each other:

    a forced prefix       nothing but its next id, whatever the other rules say
    blocked symbols       PAD, BOS, banned words of one segment and, on request, UNK
    lengths               EOS not before the shortest; nothing but EOS at the longest
    phrases               EOS not before all have appeared; nothing after which there is no room for what is missing,
                          were the missing ones not to overlap
    banned sequences      not the last id of one whose other ids have just been written
    n-gram blocking       not the last id of an n-gram that the hypothesis holds already; phrases are exempt

Letters: B sentences of a batch, R rows in search, L segments of each row so far, V vocabulary, k continuations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Step, refuse_nan
from dragoman.search.phrase_constraints import Phrases, State
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK

TOLERANCE = 1e-9
"""Keeps 1.1 * 10 from being a hair above 11 where a factor times a length is rounded."""


Words = NDArray[np.int64] | None
"""[R, L] the segments that each hypothesis holds, or None where no rule asks for them: a search that leads them along
copies all of them at every step."""


def grown(words: Words, rows: NDArray[np.int64], tokens: NDArray[np.int64]) -> Words:
    """What new rows hold that continue `rows` of `words` with `tokens`."""
    return None if words is None else np.column_stack((words[rows], tokens))


@dataclass(frozen=True, slots=True)
class IdConstraints:
    """What is asked of one translation, in ids."""

    prefix: Sequence[int] = ()
    """What it begins with."""
    phrases: Sequence[Sequence[int]] = ()
    """What must appear in it."""


class Continuations(NamedTuple):
    """What may follow each of R rows."""

    log_probabilities: NDArray[np.float64]
    """[R, k] largest first among those permitted; -inf for what is forbidden."""
    tokens: NDArray[np.int64]
    """[R, k]"""
    met: NDArray[np.int64] | None = None
    """[R, k] ids of the demanded phrases met after each; None where no sentence has any."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a batch of sentences."""

    blocked: NDArray[np.bool_]
    """[V] symbols that are never produced."""
    shortest: NDArray[np.int64]
    """[B] segments that must stand before EOS."""
    longest: NDArray[np.int64]
    """[B] segments that may stand before EOS."""
    no_repeat_ngram: int = 0
    """No n-gram of this length comes twice; 0 for no such rule."""
    banned: Mapping[tuple[int, ...], Sequence[int]] | None = None
    """Sequences of two ids and more that are never produced: all ids but the last -> the last ones."""
    prefixes: Sequence[Sequence[int]] = ()
    """For each sentence, or empty."""
    phrases: Sequence[Phrases] = ()
    """For each sentence, or empty."""

    @classmethod
    def from_config(
        cls,
        config: SearchConfig,
        vocabulary_size: int,
        segments: NDArray[np.int64],
        demands: Sequence[IdConstraints] = (),
        banned: Sequence[Sequence[int]] = (),
    ) -> Rules:
        """Rules for sources of `segments` [B] segments, ends of sentences not counted.

        The longest length is at least 1, and wins where the shortest is above it; it leaves room for what `demands`
        (one for each sentence, or none at all) ask for.
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
        prefixes = [demand.prefix for demand in demands] if any(demand.prefix for demand in demands) else []
        phrases = [Phrases(demand.phrases) for demand in demands] if any(demand.phrases for demand in demands) else []
        for place, prefix in enumerate(prefixes):
            longest[place] = max(longest[place], len(prefix))
        for place, missing in enumerate(phrases):
            begun = len(prefixes[place]) if prefixes else 0
            longest[place] = max(longest[place], begun + missing.count)
        return cls(
            blocked,
            np.minimum(shortest, longest),
            longest,
            config.no_repeat_ngram,
            dict(sequences) or None,
            prefixes,
            phrases,
        )

    def first_words(self, rows: int) -> Words:
        """What so many empty hypotheses hold; None if no rule asks for it."""
        return np.zeros((rows, 0), dtype=np.int64) if self.no_repeat_ngram or self.banned or self.phrases else None

    def turn(self, sentences: NDArray[np.int64], length: int, words: Words) -> Turn:
        """The rules as they stand for rows of these `sentences` [R] that have `length` segments, which are `words`."""
        forced = {
            row: int(self.prefixes[sentence][length])
            for row, sentence in enumerate(sentences.tolist() if self.prefixes else [])
            if len(self.prefixes[sentence]) > length
        }
        if words is None:
            return Turn(self, sentences, length, forced, [], {})
        lines = words.tolist()
        states = []
        if self.phrases:
            states = [self.phrases[sentence].state(line) for sentence, line in zip(sentences, lines, strict=True)]
        barred: dict[int, set[int]] = {}
        for row, line in enumerate(lines):
            repeated = set(_repeated(line, self.no_repeat_ngram))
            if states:
                repeated -= self.phrases[sentences[row]].next(states[row])
            if unwanted := repeated.union(self._sequence_ends(line)):
                barred[row] = unwanted
        return Turn(self, sentences, length, forced, states, barred)

    def _sequence_ends(self, line: list[int]) -> Iterator[int]:
        """The last ids of banned sequences whose other ids end the line."""
        for before, last in (self.banned or {}).items():
            if tuple(line[-len(before) :]) == before:
                yield from last


@dataclass(frozen=True, slots=True)
class Turn:
    """The rules for R rows of L segments each, before the next symbol of each is known."""

    rules: Rules
    sentences: NDArray[np.int64]
    """[R]"""
    length: int
    """L"""
    forced: Mapping[int, int]
    """Row -> the one id that may follow."""
    states: Sequence[State]
    """Of each row's phrases; empty where no sentence has any."""
    barred: Mapping[int, set[int]]
    """Row -> ids that n-gram blocking and banned sequences forbid."""

    def request(self, wanted: int) -> int:
        """How many continuations to ask for so that `wanted` are left after dropping what is forbidden."""
        if self.forced or self.states:
            return len(self.rules.blocked)
        forbidden = int(np.count_nonzero(self.rules.blocked)) + 1  # EOS, below the shortest length
        forbidden += max(map(len, self.barred.values()), default=0)
        return min(wanted + forbidden, len(self.rules.blocked))

    def permitted(self, step: Step, wanted: int) -> Continuations:
        """The continuations of each row that are permitted; of more than asked for, the `wanted` best matter.

        A forbidden one keeps its place with log-probability -inf; the others keep what the full vocabulary gave
        them. Equal log-probabilities are put in order of their ids, so that ties break the same way on any engine.

        Raises:
            RunError: the model's answers are not numbers.
        """
        refuse_nan(step.log_probabilities)
        log_probabilities, tokens = step.log_probabilities.astype(np.float64), step.tokens
        if (log_probabilities[:, 1:] == log_probabilities[:, :-1]).any():  # rare, and the sort is not cheap
            order = np.lexsort((tokens, -log_probabilities), axis=1)
            log_probabilities = np.take_along_axis(log_probabilities, order, axis=1)
            tokens = np.take_along_axis(tokens, order, axis=1)
        forbidden = self.rules.blocked[tokens]
        if self.rules.shortest.max(initial=0) > self.length:
            too_short = self.rules.shortest[self.sentences] > self.length  # [R]
            forbidden |= too_short[:, None] & (tokens == EOS)
        for row, ids in self.barred.items():
            forbidden[row] |= np.isin(tokens[row], list(ids))
        met = None
        if self.states:
            met = self._met(tokens)
            forbidden |= self._hinders_phrases(tokens, met)
        for row, word in self.forced.items():
            forbidden[row] = tokens[row] != word
        np.putmask(log_probabilities, forbidden, -np.inf)
        if met is None:
            return Continuations(log_probabilities, tokens)
        return self._narrowed(log_probabilities, tokens, met, wanted)

    def _met(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """[R, k] ids of the phrases met after each continuation."""
        by_id = np.empty((len(tokens), len(self.rules.blocked)), dtype=np.int64)
        for row, (sentence, state) in enumerate(zip(self.sentences, self.states, strict=True)):
            phrases = self.rules.phrases[sentence]
            by_id[row] = phrases.met(phrases.after(state, PAD))
            by_id[row, EOS] = phrases.met(state)
            for index in phrases.ids:
                by_id[row, index] = phrases.met(phrases.after(state, index))
        return np.take_along_axis(by_id, tokens, axis=1)

    def _hinders_phrases(self, tokens: NDArray[np.int64], met: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[R, k] continuations that end too early, or leave no room for what is missing."""
        counts = np.array([phrases.count for phrases in self.rules.phrases])[self.sentences]
        missing = counts[:, None] - met
        room = self.rules.longest[self.sentences] - self.length - 1
        return np.asarray((missing > 0) & ((tokens == EOS) | (missing > room[:, None])))

    def _narrowed(
        self, log_probabilities: NDArray[np.float64], tokens: NDArray[np.int64], met: NDArray[np.int64], wanted: int
    ) -> Continuations:
        """The best `wanted` that bring no phrase on, and all that may do so: nothing else can be among the best."""
        chosen = np.zeros(tokens.shape, dtype=np.bool_)
        for row, sentence in enumerate(self.sentences):
            chosen[row] = np.isin(tokens[row], self.rules.phrases[sentence].ids)
        others = ~chosen & (log_probabilities > -np.inf)
        chosen |= others & (others.cumsum(axis=1) <= wanted)
        order = np.argsort(~chosen, axis=1, kind="stable")[:, : int(chosen.sum(axis=1).max())]
        kept = np.where(chosen, log_probabilities, -np.inf)
        return Continuations(*(np.take_along_axis(array, order, axis=1) for array in (kept, tokens, met)))


def _repeated(line: list[int], n: int) -> Iterator[int]:
    """The ids that would end an n-gram which the line holds already."""
    if n and len(line) >= n:
        last = line[len(line) - n + 1 :]
        for start in range(len(line) - n + 1):
            if line[start : start + n - 1] == last:
                yield line[start + n - 1]
