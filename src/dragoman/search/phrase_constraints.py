"""Phrases that must appear in a translation, and how many of their ids a hypothesis has met.

Each phrase is an automaton over ids (Knuth, Morris and Pratt 1977): its state is the number of ids of the phrase that
the hypothesis ends with, and stays at the end once the phrase has appeared. So the ids that are met follow from the
segments of the hypothesis alone, and phrases may overlap.

Grid beam search (Hokamp and Liu 2017) prunes hypotheses only against others that have met as many ids: `met` counts
the ids of the phrases that have appeared, and the matched ids of the phrase with most of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dragoman.text.vocabulary import EOS, PAD

PhraseState = tuple[int, ...]
"""For each phrase, the number of its ids that the hypothesis ends with; all of them once it has appeared."""


class PhraseConstraints:
    """The phrases of one sentence; a phrase that is given twice must appear once."""

    def __init__(self, phrases: Iterable[Sequence[int]]) -> None:
        self._phrases = list(dict.fromkeys(tuple(phrase) for phrase in phrases if phrase))
        self._moves = [_automaton(phrase) for phrase in self._phrases]
        self.count = sum(map(len, self._phrases))
        """The number of ids to be met."""
        self.ids = sorted({index for phrase in self._phrases for index in phrase})
        """The ids that lead to any other state than the first."""
        self._start: PhraseState = (0,) * len(self._phrases)
        self._states: dict[tuple[int, ...], PhraseState] = {}
        self._longest = 0
        self._met_after: dict[PhraseState, tuple[Mapping[int, int], int]] = {}

    def state(self, words: Sequence[int]) -> PhraseState:
        """The state of a hypothesis of these words, which follows from that of all but the last, if it was asked for.

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
        return tuple(
            position if position == len(phrase) else moves[position].get(word, 0)
            for position, phrase, moves in zip(state, self._phrases, self._moves, strict=True)
        )

    def met(self, state: PhraseState) -> int:
        """Ids met, from 0 to `count`: those of the phrases that have appeared, and of the furthest of the others.

        At most the remaining ids must be added; continuing that furthest phrase always lowers their number.
        """
        whole = [len(phrase) for position, phrase in zip(state, self._phrases, strict=True) if position == len(phrase)]
        partial = [position for position, phrase in zip(state, self._phrases, strict=True) if position < len(phrase)]
        return sum(whole) + max(partial, default=0)

    def met_after(self, state: PhraseState) -> tuple[Mapping[int, int], int]:
        """Ids met after one more id, for EOS and those in `ids`; and after any other."""
        if state not in self._met_after:
            after = {index: self.met(self.after(state, index)) for index in self.ids}
            self._met_after[state] = {**after, EOS: self.met(state)}, self.met(self.after(state, PAD))
        return self._met_after[state]

    def next(self, state: PhraseState) -> set[int]:
        """The ids that advance a missing phrase."""
        return {
            phrase[position] for position, phrase in zip(state, self._phrases, strict=True) if position < len(phrase)
        }


def _automaton(phrase: tuple[int, ...]) -> list[dict[int, int]]:
    """For each number of matched ids (all but the last), the number after each id; 0 for ids that are not in it."""
    moves = []
    for matched in range(len(phrase)):
        leads = {}
        for index in set(phrase):
            seen = (*phrase[:matched], index)
            leads[index] = next(
                length for length in range(len(seen), -1, -1) if seen[-length:] == phrase[:length] or not length
            )
        moves.append(leads)
    return moves
