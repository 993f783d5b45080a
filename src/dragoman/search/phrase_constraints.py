"""Phrases that must appear in a translation, and how many of their ids a hypothesis has met.

Each phrase is an automaton over ids (Knuth, Morris and Pratt 1977): its state is the number of ids of the phrase that
the hypothesis ends with. So the ids that are met follow from the segments of the hypothesis alone, and phrases may
overlap.

A phrase appears as whole words where segments show where words end (text/word_boundaries.py): it does not begin inside
a word, and does not count for good before a segment has followed that does not go on with its last word. A hypothesis
that ends with the phrase has met it for now; if the word goes on, the automaton falls back as after any wrong id.

Grid beam search (Hokamp and Liu 2017) prunes hypotheses only against others that have met as many ids: `met` counts
the ids of the phrases that have appeared, for good or for now, and the matched ids of the phrase with most of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.vocabulary import EOS, PAD
from dragoman.text.word_boundaries import LETTER, MARK, OTHER, WordBoundaries

PhraseState = tuple[int, ...]
"""For each phrase of n ids the number of its ids that the hypothesis ends with; n + 1 once it has appeared for good,
and `INSIDE` where it cannot begin."""

INSIDE = -1
"""The state of a phrase after a segment that ends with a letter, if the phrase would go on with the same word."""


class PhraseProgress(NamedTuple):
    """How far a hypothesis is."""

    met: int
    """Ids met, from 0 to `count`."""
    missing: int
    """So many more segments meet all phrases, and there is always one that lowers the number by 1."""


class Outcomes(NamedTuple):
    """The progress after one more segment."""

    own: Mapping[int, PhraseProgress]
    """After EOS and the segments in `ids`."""
    others: Sequence[PhraseProgress]
    """After any other, by its kind."""


class PhraseConstraints:
    """The phrases of one sentence; a phrase that is given twice must appear once."""

    def __init__(self, phrases: Iterable[Sequence[int]], boundaries: WordBoundaries | None = None) -> None:
        """`boundaries` are the word boundaries of the target vocabulary; without them phrases may appear anywhere."""
        self._boundaries = boundaries
        self._phrases = [
            _Phrase(phrase, boundaries) for phrase in dict.fromkeys(tuple(phrase) for phrase in phrases if phrase)
        ]
        self.count = sum(len(phrase.ids) for phrase in self._phrases)
        """The number of ids to be met."""
        spaces = {phrase.space for phrase in self._phrases if phrase.space is not None}
        self.ids = sorted({index for phrase in self._phrases for index in phrase.ids} | spaces)
        """The ids that lead to another state than all others of their kind."""
        self._start: PhraseState = (0,) * len(self._phrases)
        self._states: dict[tuple[int, ...], PhraseState] = {}
        self._longest = 0
        self._outcomes: dict[PhraseState, Outcomes] = {}

    def state(self, words: Sequence[int]) -> PhraseState:
        """The state of a hypothesis of these words; it follows from the state without the last word if that was
        computed.

        Only states of the longest hypotheses and of those one word shorter are remembered: search grows all together.
        """
        line = tuple(words)
        if line not in self._states:
            if len(line) > self._longest:
                self._longest = len(line)
                self._states = {one: state for one, state in self._states.items() if len(one) == len(line) - 1}
            state, rest = self._states.get(line[:-1]), line[-1:]
            if state is None:
                state, rest = self._start, line
            for word in rest:
                state = self.after(state, word)
            self._states[line] = state
        return self._states[line]

    def after(self, state: PhraseState, word: int) -> PhraseState:
        """The state after one more word."""
        if self._boundaries is None:
            return self._after(state, word, OTHER, ends=False)
        return self._after(state, word, int(self._boundaries.begins[word]), ends=bool(self._boundaries.ends[word]))

    def _after(self, state: PhraseState, word: int, begins: int, *, ends: bool) -> PhraseState:
        return tuple(
            phrase.after(position, word, begins, ends=ends)
            for position, phrase in zip(state, self._phrases, strict=True)
        )

    def progress(self, state: PhraseState) -> PhraseProgress:
        """How far a hypothesis in a state is."""
        positions = list(zip(state, self._phrases, strict=True))
        appeared = [phrase for position, phrase in positions if position >= len(phrase.ids)]
        now = any(position == len(phrase.ids) for position, phrase in positions)
        absent = [(position, phrase) for position, phrase in positions if position < len(phrase.ids)]
        begun = max((position for position, _ in absent if position > 0), default=0)
        met = sum(len(phrase.ids) for phrase in appeared) + begun
        missing = without = sum(phrase.needed for _, phrase in absent)
        for position, phrase in absent:
            if now and position > 0 and phrase.goes_on(position):
                # To continue this phrase is to lose those that have appeared for now.
                lost = sum(phrase.needed for position, phrase in positions if position == len(phrase.ids))
            else:
                lost = 0
            missing = min(missing, without + lost - phrase.advance(position))
        return PhraseProgress(met, missing)

    def outcomes(self, state: PhraseState) -> Outcomes:
        """The progress after each possible segment."""
        if state not in self._outcomes:
            self._outcomes[state] = Outcomes(
                {index: self.progress(self.after(state, index)) for index in (*self.ids, EOS)},
                [
                    self.progress(self._after(state, PAD, begins, ends=ends))
                    for begins in (OTHER, LETTER, MARK)
                    for ends in (False, True)
                ],
            )
        return self._outcomes[state]

    def next(self, state: PhraseState) -> set[int]:
        """The ids that advance a missing phrase."""
        return {
            index
            for position, phrase in zip(state, self._phrases, strict=True)
            if position < len(phrase.ids)
            for index in [phrase.space if position == INSIDE else phrase.ids[position]]
            if index is not None
        }


def kinds(boundaries: WordBoundaries | None, size: int) -> NDArray[np.int64]:
    """[V] the kind of each segment: its position in `Outcomes.others`."""
    if boundaries is None:
        return np.zeros(size, np.int64)
    return 2 * boundaries.begins.astype(np.int64) + boundaries.ends


class _Phrase:
    """The automaton of one phrase."""

    def __init__(self, ids: tuple[int, ...], boundaries: WordBoundaries | None) -> None:
        self.ids = ids
        self._boundaries = boundaries
        self._ends = boundaries is not None and bool(boundaries.ends[ids[-1]])
        """Whether a letter may go on with its last word."""
        self.space = None if boundaries is None or boundaries.begins[ids[0]] != LETTER else boundaries.space
        """What must precede it inside a word; None where it may begin anywhere."""
        self.needed = len(ids) + (self.space is not None)
        """Segments with which it appears at any position."""
        self._moves = [self._moves_after(matched) for matched in range(len(ids) + 1)]

    def _moves_after(self, matched: int) -> dict[int, int]:
        """For a number of matched ids the number after each id of the phrase; 0 is left out."""
        moves = {}
        for index in set(self.ids):
            seen = (*self.ids[:matched], index)
            for length in range(len(seen), 0, -1):
                if seen[-length:] == self.ids[:length] and (length == len(seen) or self._may_follow(seen[-length - 1])):
                    moves[index] = length
                    break
        return moves

    def _may_follow(self, before: int) -> bool:
        """Whether the phrase may begin after a segment."""
        return self.space is None or self._boundaries is None or not self._boundaries.ends[before]

    def goes_on(self, position: int) -> bool:
        """Whether the id at a position goes on with the word of the one before it."""
        return self._boundaries is not None and self._boundaries.joins(self.ids[position - 1], self.ids[position])

    def advance(self, position: int) -> int:
        """The segments of `needed` that a state has behind it."""
        return max(position, 0) + (self.space is not None and position != INSIDE)

    def after(self, position: int, word: int, begins: int, *, ends: bool) -> int:
        """The state after one more word, which begins and ends as `WordBoundaries` says."""
        if position == len(self.ids) and not (begins == MARK or (begins == LETTER and self._ends)):
            return position + 1
        if position > len(self.ids):
            return position
        position = 0 if position == INSIDE else self._moves[position].get(word, 0)
        if position == len(self.ids) and self._boundaries is None:
            return position + 1
        return INSIDE if position == 0 and self.space is not None and ends else position
