"""Lines of a held-out set that also stand in the training text, exactly or nearly.

Nearly means: of the different words of both lines together, without case and punctuation, at least NEAR are in both
(Jaccard similarity). No near line is missed: of a line with n words at most n - ceil(NEAR n) may be missing from its
likeness, so that two near lines share one of the n - ceil(NEAR n) + 1 words of each that come first in any order common
to both, here the rarest; only these are looked up (prefix filtering, Chaudhuri et al. 2006; Bayardo et al. 2007).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from dragoman.inspection.findings import Found
from dragoman.inspection.reading import FileCounts
from dragoman.inspection.repetition import digest
from dragoman.inspection.words import folded_words
from dragoman.text.corpus import Pair

NEAR = 0.8
"""Share of common words."""

SHORTEST = 4
"""Different words from which on a line can be near another without having the same words."""

SideName = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A held-out line, and the first training line found that is the same or most like it."""

    place: int
    """Of the held-out pair, from 0."""
    train: int
    """Of the training pair, from 0."""
    similarity: float
    """2 for the same line, else the share of common words, up to 1."""

    @property
    def exact(self) -> bool:
        return self.similarity > 1


@dataclass(slots=True)
class SideOverlap:
    """One side of a held-out set, compared with training lines as they come."""

    lines: Sequence[str]
    found: dict[int, Likeness] = field(default_factory=dict)
    """By place in the held-out set."""
    _exact: dict[int, list[int]] = field(default_factory=dict)
    _words: list[frozenset[str]] = field(default_factory=list)
    _index: dict[str, list[int]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def prepare(self, counts: Counter[str]) -> None:
        """Make the index; `counts` of folded training words say which are rare."""
        exact, index = defaultdict(list), defaultdict(list)
        self._counts = counts
        self._words = [folded_words(line) for line in self.lines]
        for place, (line, words) in enumerate(zip(self.lines, self._words, strict=True)):
            if line.strip():
                exact[digest(line)].append(place)
            for word in self._rarest(words):
                index[word].append(place)
        self._exact, self._index = dict(exact), dict(index)

    def look(self, number: int, line: str) -> None:
        """Compare with training line `number`, from 0."""
        for place in self._exact.get(digest(line), ()):
            self._note(Likeness(place, number, 2.0))
        words = folded_words(line)
        for place in {place for word in self._rarest(words) for place in self._index.get(word, ())}:
            similarity = self._similarity(place, words)
            if similarity is not None:
                self._note(Likeness(place, number, similarity))

    def _rarest(self, words: frozenset[str]) -> list[str]:
        """The words of a line that a near one may not all lack."""
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

    def _note(self, likeness: Likeness) -> None:
        known = self.found.get(likeness.place)
        if known is None or likeness.similarity > known.similarity:
            self.found[likeness.place] = likeness


class HeldOut:
    """A dev or test set, compared with training."""

    def __init__(
        self,
        name: str,
        pairs: Sequence[Pair],
        found: Sequence[Found] = (),
        bad_files: Mapping[str, FileCounts] = MappingProxyType({}),
    ) -> None:
        """`pairs` are those that are UTF-8; what is to be told of the others is in `found` and `bad_files`."""
        self.name = name
        self.pairs = pairs
        self.found = found
        self.bad_files = bad_files
        self.size = len(pairs) + sum(each.pairs for each in found)
        self.sides: dict[SideName, SideOverlap] = {
            "source": SideOverlap([pair.source for pair in pairs]),
            "target": SideOverlap([pair.target for pair in pairs]),
        }
