"""Typing errors: words that the training sources never had, read as words that they had and that are one error away.

A word of three letters or more is read as the most frequent word that it spells without diacritics, with two letters
exchanged or with one doubled. Else it is read as a frequent word that it spells with a letter left out or, if it is
long, with one too many or another in its place. The first letter stays, and the end of the word, which may be an
inflection that the training sources never had. Only words of European scripts are corrected.

A line stays as it is where no error explains half of its new words or more: it is text of another kind, in which a new
word may be any word.

In the web site, spelling.js does the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from dragoman.text.names import LETTERS

_WORD = re.compile(f"(?<![{LETTERS}0-9_'\u2019])[{LETTERS}]{{3,30}}(?![{LETTERS}0-9_'\u2019])")
_MOST = 200_000
"""Words that are remembered; rarer ones count as never seen."""
_REPEATED = 2
"""Occurrences of a word that others may be read as."""
_FREQUENT = 10
"""Occurrences where the error is one of the less certain kinds."""
_FEWEST = 15
"""The fewest words of a text whose share of known words means something."""
_LONG = 7
"""Letters of a word that may have a letter too many, or another in its place."""


class TypingError(NamedTuple):
    """A word of a line, and how it is read."""

    start: int
    """[start, end) in characters."""
    end: int
    read_as: str

    def in_raw_line(self, spans: Sequence[tuple[int, int]]) -> TypingError:
        """The same in the raw line of a changed line, given the spans of its characters."""
        return self._replace(start=spans[self.start][0], end=spans[self.end - 1][1])


class Spelling:
    """The words of the training sources, by frequency."""

    def __init__(self, words: Sequence[str], repeated: int, frequent: int) -> None:
        """
        Args:
            words: in lower case, the most frequent first.
            repeated: how many of them, the first ones, occur twice or more.
            frequent: how many occur ten times or more.
        """
        self.words = words
        self.repeated = repeated
        self.frequent = frequent

    def __reduce__(self) -> tuple[type[Spelling], tuple[Sequence[str], int, int]]:
        return Spelling, (self.words, self.repeated, self.frequent)

    @classmethod
    def of_sources(cls, lines: Iterable[str]) -> Spelling:
        """The words of some training sources, which are in normal form."""
        counts = Counter(word.lower() for line in lines for word in _WORD.findall(line))
        by_frequency = sorted(counts, key=lambda word: (-counts[word], word))[:_MOST]
        repeated, frequent = (sum(counts[word] >= least for word in by_frequency) for least in (_REPEATED, _FREQUENT))
        return cls(by_frequency, repeated, frequent)

    def with_text(self, lines: Iterable[str]) -> Spelling:
        """These words and the words of more sources, which are known from now on."""
        new = {word.lower() for line in lines for word in _WORD.findall(line)} - self._ranks.keys()
        if not new:
            return self
        return Spelling([*self.words, *sorted(new)], self.repeated, self.frequent)

    def errors(self, line: str) -> list[TypingError]:
        """The words of a line in normal form that are read as others."""
        unknown = [word for word in _WORD.finditer(line) if word[0].lower() not in self._ranks]
        read_as = [self._cased(word[0], word[0].lower()) for word in unknown]
        errors = [TypingError(*word.span(), other) for word, other in zip(unknown, read_as, strict=True) if other]
        return errors if 2 * len(errors) > len(unknown) else []

    def known_share(self, lines: Iterable[str]) -> float | None:
        """The share of the words of lines in normal form that the sources had; None of less than 15 words."""
        words = [word.lower() for line in lines for word in _WORD.findall(line)]
        return sum(word in self._ranks for word in words) / len(words) if len(words) >= _FEWEST else None

    def _cased(self, word: str, lower: str) -> str | None:
        """What a word is read as, written as it is: in lower case, with a first capital, in capitals; else None."""
        if len(lower) != len(word):
            return None
        certain = self._best(self._certain(lower), self.repeated)
        reading = certain or self._best(self._uncertain(lower), self.frequent)
        if reading is None or word == lower:
            return reading
        if word == word.upper():
            return reading.upper()
        return reading[0].upper() + reading[1:] if word == word[0] + lower[1:] else None

    def _best(self, words: Iterable[str], count: int) -> str | None:
        """The most frequent of some words, if it is one of the first `count`."""
        known = {*words} & self._ranks.keys()
        best = min(known, key=self._ranks.__getitem__, default=None)
        return best if best is not None and self._ranks[best] < count else None

    def _certain(self, word: str) -> Iterator[str]:
        """Words that `word` spells without diacritics, with two letters exchanged, or with one doubled."""
        if word in self._with_diacritics:
            yield self._with_diacritics[word]
        for at in range(1, len(word)):
            before, one, other, after = word[: at - 1], word[at - 1], word[at], word[at + 1 :]
            if one == other:
                yield before + one + after
            elif at > 1:
                yield before + other + one + after

    def _uncertain(self, word: str) -> Iterator[str]:
        """Words that `word` spells with a letter left out or, if it is long, one too many or another in its place."""
        for at in range(1, len(word)):
            before, after = word[:at], word[at:]
            yield from (before + letter + after for letter in self._letters)
            if len(word) >= _LONG and at < len(word) - 1:
                yield before + after[1:]
                yield from (before + letter + after[1:] for letter in self._letters)

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {word: rank for rank, word in enumerate(self.words)}

    @cached_property
    def _letters(self) -> list[str]:
        return sorted({letter for word in self.words[: self.frequent] for letter in word})

    @cached_property
    def _with_diacritics(self) -> dict[str, str]:
        """The most frequent word for each that has lost its diacritics."""
        bare = ((_bare(word), word) for word in reversed(self.words[: self.repeated]))
        return {plain: word for plain, word in bare if plain != word}


def _bare(word: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", word) if unicodedata.category(one)[0] != "M")
