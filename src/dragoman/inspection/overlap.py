"""Held-out lines that also occur in the training text, as exact or near duplicates.

Two lines are near duplicates if their sets of words, without case and punctuation, have a Jaccard similarity of NEAR or
more. None is missed: a line with n words can lack at most n - ceil(NEAR n) words of a near duplicate, so two such lines
share one of the first n - ceil(NEAR n) + 1 words of each in any common order, here the rarest first; only these are
looked up (prefix filtering, Chaudhuri et al. 2006; Bayardo et al. 2007).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from msgspec import Struct

from dragoman.inspection.corpus_reader import FileCounts
from dragoman.inspection.findings import Finding
from dragoman.inspection.repetition import digest
from dragoman.inspection.words import folded_words, split_words
from dragoman.text.corpus import Pair
from dragoman.text.side import SideName
from dragoman.text.words import is_blank

SWAPPED = 0.5
"""Difference of the shares of known words, summed over both sides, from which on the sides are considered swapped."""

NEAR = 0.8
"""Jaccard similarity of near duplicates."""

SHORTEST = 4
"""Distinct words from which on a line can have a near duplicate with other words."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A held-out line, and the most similar training line, the first of equals."""

    place: int
    """The held-out pair, from 0."""
    train: int
    """The training pair, from 0."""
    similarity: float
    """2 for the same line, otherwise the Jaccard similarity, up to 1."""

    @property
    def exact(self) -> bool:
        """Whether it is the same line."""
        return self.similarity > 1


@dataclass(slots=True)
class SideOverlap:
    """One side of a held-out set, compared with training lines one by one."""

    lines: Sequence[str]
    duplicates: dict[int, Duplicate] = field(default_factory=dict)
    """By place in the held-out set."""
    _exact: dict[int, list[int]] = field(default_factory=dict)
    _words: list[frozenset[str]] = field(default_factory=list)
    _index: dict[str, list[int]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def prepare(self, counts: Counter[str]) -> None:
        """Build the index; `counts` of folded training words define which words are rare."""
        exact, index = defaultdict(list), defaultdict(list)
        self._counts = counts
        self._words = [folded_words(line) for line in self.lines]
        for place, (line, words) in enumerate(zip(self.lines, self._words, strict=True)):
            if not is_blank(line):
                exact[digest(line)].append(place)
            for word in self._rarest(words):
                index[word].append(place)
        self._exact, self._index = dict(exact), dict(index)

    def compare(self, number: int, line: str) -> None:
        """Compare with training line `number`, from 0."""
        for place in self._exact.get(digest(line), ()):
            self._add(Duplicate(place, number, 2.0))
        words = folded_words(line)
        for place in {place for word in self._rarest(words) for place in self._index.get(word, ())}:
            similarity = self._similarity(place, words)
            if similarity is not None:
                self._add(Duplicate(place, number, similarity))

    def count(self, *, exact: bool) -> int:
        """The number of exact duplicates, or of near ones."""
        return sum(duplicate.exact == exact for duplicate in self.duplicates.values())

    def _rarest(self, words: frozenset[str]) -> list[str]:
        """The words of a line of which every near duplicate has at least one."""
        in_order = sorted(sorted(words), key=lambda word: self._counts.get(word, 0))
        return in_order[: len(words) - math.ceil(NEAR * len(words) - 1e-9) + 1]  # 1e-9: rounding of the product

    def _similarity(self, place: int, words: frozenset[str]) -> float | None:
        own = self._words[place]
        smaller, larger = sorted((len(own), len(words)))
        if smaller < NEAR * larger:
            return None
        common = len(own & words)
        similarity = common / (smaller + larger - common)
        enough = similarity >= NEAR and larger >= SHORTEST
        return similarity if enough or similarity == 1 else None

    def _add(self, duplicate: Duplicate) -> None:
        known = self.duplicates.get(duplicate.place)
        if known is None or duplicate.similarity > known.similarity:
            self.duplicates[duplicate.place] = duplicate


class KnownWords(Struct, frozen=True):
    """Shares of the running words of a held-out set that occur on a side of the training text, 0 to 1."""

    source: float
    """Words of the source, in the training source."""
    target: float
    source_in_target: float
    """Words of the source, in the training target."""
    target_in_source: float

    @property
    def swapped(self) -> bool:
        """Whether the words are on the other side much more often than on their own."""
        return self.source_in_target + self.target_in_source > self.source + self.target + SWAPPED


def known_words(pairs: Sequence[Pair], source: Counter[str], target: Counter[str]) -> KnownWords:
    """Look up the words of held-out pairs in the word counts of the training text."""
    lines = [pair.source for pair in pairs], [pair.target for pair in pairs]
    words = [Counter(chain.from_iterable(map(split_words, side))) for side in lines]
    return KnownWords(
        _known(words[0], source), _known(words[1], target), _known(words[0], target), _known(words[1], source)
    )


def _known(words: Counter[str], among: Counter[str]) -> float:
    return sum(count for word, count in words.items() if word in among) / max(1, words.total())


class HeldOutSet:
    """A dev or test set, compared with the training text."""

    def __init__(
        self,
        name: str,
        pairs: Sequence[Pair],
        findings: Sequence[Finding] = (),
        not_utf8: Mapping[str, FileCounts] = MappingProxyType({}),
    ) -> None:
        """`pairs` are those in UTF-8; `findings` and `not_utf8` describe the others."""
        self.name = name
        self.pairs = pairs
        self.findings = findings
        self.not_utf8 = not_utf8
        self.size = len(pairs) + sum(finding.pairs for finding in findings)
        self.known_words: KnownWords | None = None
        """Compared with the training text; None before that."""
        self.sides: dict[SideName, SideOverlap] = {
            "source": SideOverlap([pair.source for pair in pairs]),
            "target": SideOverlap([pair.target for pair in pairs]),
        }

    @property
    def seen(self) -> int:
        """Pairs of which either side has a duplicate in the training text."""
        return len(self.sides["source"].duplicates.keys() | self.sides["target"].duplicates.keys())
