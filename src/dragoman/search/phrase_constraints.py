"""Phrases that must appear in a translation, and how far towards them a hypothesis has come.

Each phrase is an automaton over ids (Knuth, Morris and Pratt 1977): its state is how many ids of the phrase the
hypothesis ends with, and stays at the end once the phrase has appeared. So what has been met follows from the words
alone, wherever they came from, and phrases may overlap.

Grid beam search (Hokamp and Liu 2017) prunes hypotheses only against others that have met as much: `met` counts the
ids of the phrases that have appeared, and of the one that is furthest on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

State = tuple[int, ...]
"""For each phrase, how many of its ids the hypothesis ends with; all of them once it has appeared."""


class Phrases:
    """The phrases of one sentence; a phrase given twice must appear once."""

    def __init__(self, phrases: Iterable[Sequence[int]]) -> None:
        self._phrases = list(dict.fromkeys(tuple(phrase) for phrase in phrases if phrase))
        self._moves = [_automaton(phrase) for phrase in self._phrases]
        self.count = sum(map(len, self._phrases))
        """Ids to be met."""
        self.ids = sorted({index for phrase in self._phrases for index in phrase})
        """The ids that can move a state anywhere but back to the beginning."""

    def state(self, words: Iterable[int]) -> State:
        """Where a hypothesis of these words stands."""
        state: State = (0,) * len(self._phrases)
        for word in words:
            state = self.after(state, word)
        return state

    def after(self, state: State, word: int) -> State:
        """Where it stands with one word more."""
        return tuple(
            position if position == len(phrase) else moves[position].get(word, 0)
            for position, phrase, moves in zip(state, self._phrases, self._moves, strict=True)
        )

    def met(self, state: State) -> int:
        """Ids met, from 0 to `count`: of the phrases that have appeared, and of the furthest of the others.

        The rest is what must be added at most; going on with that furthest phrase always lowers it.
        """
        whole = [len(phrase) for position, phrase in zip(state, self._phrases, strict=True) if position == len(phrase)]
        partial = [position for position, phrase in zip(state, self._phrases, strict=True) if position < len(phrase)]
        return sum(whole) + max(partial, default=0)

    def next(self, state: State) -> set[int]:
        """The ids that bring a missing phrase one further."""
        return {
            phrase[position] for position, phrase in zip(state, self._phrases, strict=True) if position < len(phrase)
        }


def _automaton(phrase: tuple[int, ...]) -> list[dict[int, int]]:
    """For each number of ids matched (all but the last), where each id leads; to 0 where it is not named."""
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
