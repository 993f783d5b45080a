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
from itertools import chain
from types import MappingProxyType

from msgspec import Struct

from dragoman.corpora.pairs import Pair
from dragoman.inspection.corpus_reader import FileCounts
from dragoman.inspection.findings import Finding
from dragoman.inspection.repetition import digest
from dragoman.inspection.words import folded_words, split_words
from dragoman.text.raw_lines import is_blank
from dragoman.text.side import SideName

SWAPPED = 0.5
"""Difference of the shares of known words, summed over both sides, from which on the sides are considered swapped."""

NEAR = 0.8
"""Jaccard similarity of near duplicates."""

SHORTEST = 4
"""Distinct words from which on a line can have a near duplicate with other words."""


class Duplicate(Struct, frozen=True):
    """The training line that is most similar to a held-out line, the first of equals."""

    train: int
    """The training pair, from 0."""
    similarity: float
    """2 for the same line, otherwise the Jaccard similarity, up to 1."""

    @property
    def exact(self) -> bool:
        """Whether it is the same line."""
        return self.similarity > 1


class SideOverlap:
    """One side of a held-out set, compared with training lines one by one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.duplicates: dict[int, Duplicate] = {}
        """By index in the held-out set."""
        self._words = [folded_words(line) for line in lines]
        self._exact: defaultdict[int, list[int]] = defaultdict(list)
        self._index: defaultdict[str, list[int]] = defaultdict(list)
        self._counts: Mapping[str, int] = {}

    def running_words(self) -> Counter[str]:
        """Count the words of all lines, as they are written."""
        return Counter(chain.from_iterable(map(split_words, self.lines)))

    def prepare(self, counts: Mapping[str, int]) -> None:
        """Build the index; `counts` of folded training words define which words are rare."""
        self._counts = counts
        for index, (line, words) in enumerate(zip(self.lines, self._words, strict=True)):
            if not is_blank(line):
                self._exact[digest(line)].append(index)
            for word in self._rarest(words):
                self._index[word].append(index)

    def compare(self, number: int, line: str) -> None:
        """Compare with training line `number`, from 0."""
        for index in self._exact.get(digest(line), ()):
            self._keep_better(index, Duplicate(number, 2.0))
        words = folded_words(line)
        for index in {index for word in self._rarest(words) for index in self._index.get(word, ())}:
            similarity = _similarity(self._words[index], words)
            if similarity:
                self._keep_better(index, Duplicate(number, similarity))

    def count(self, *, exact: bool) -> int:
        """The number of exact duplicates, or of near ones."""
        return sum(duplicate.exact == exact for duplicate in self.duplicates.values())

    def _rarest(self, words: frozenset[str]) -> list[str]:
        """The rarest words of a line, so many that every near duplicate has one of them."""
        in_order = sorted(sorted(words), key=lambda word: self._counts.get(word, 0))
        return in_order[: len(words) - math.ceil(NEAR * len(words) - 1e-9) + 1]  # 1e-9: rounding of the product

    def _keep_better(self, index: int, duplicate: Duplicate) -> None:
        known = self.duplicates.get(index)
        if known is None or duplicate.similarity > known.similarity:
            self.duplicates[index] = duplicate


def _similarity(words: frozenset[str], others: frozenset[str]) -> float:
    """Return the Jaccard similarity of two lines with words; 0 where they are no near duplicates."""
    smaller, larger = sorted((len(words), len(others)))
    if smaller < NEAR * larger:
        return 0.0
    common = len(words & others)
    similarity = common / (smaller + larger - common)
    return similarity if similarity == 1 or (similarity >= NEAR and larger >= SHORTEST) else 0.0


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
        self.name, self.pairs, self.findings, self.not_utf8 = name, pairs, findings, not_utf8
        self.size = len(pairs) + sum(finding.pairs for finding in findings)
        self.known_words: KnownWords | None = None
        """Compared with the training text; None before that."""
        self.sides: dict[SideName, SideOverlap] = {
            "source": SideOverlap([pair.source for pair in pairs]),
            "target": SideOverlap([pair.target for pair in pairs]),
        }

    def compare(self, number: int, pair: Pair) -> None:
        """Compare with training pair `number`, from 0."""
        self.sides["source"].compare(number, pair.source)
        self.sides["target"].compare(number, pair.target)

    @property
    def seen(self) -> int:
        """Pairs with a duplicate of either side in the training text."""
        return len(self.sides["source"].duplicates.keys() | self.sides["target"].duplicates.keys())


def prepare(sets: Sequence[HeldOutSet], source: Counter[str], target: Counter[str]) -> None:
    """Look up the words of held-out sets in the word counts of the training text, before its pairs are compared."""
    folded = [_folded(counts) for counts in (source, target)] if sets else []
    for held in sets:
        source_words, target_words = (side.running_words() for side in held.sides.values())
        held.known_words = KnownWords(
            source=_share(source_words, source),
            target=_share(target_words, target),
            source_in_target=_share(source_words, target),
            target_in_source=_share(target_words, source),
        )
        for side, counts in zip(held.sides.values(), folded, strict=True):
            side.prepare(counts)


def _folded(counts: Counter[str]) -> Counter[str]:
    folded: Counter[str] = Counter()
    for word, count in counts.items():
        folded[word.casefold()] += count
    return folded


def _share(words: Counter[str], known: Counter[str]) -> float:
    return sum(count for word, count in words.items() if word in known) / max(1, words.total())
