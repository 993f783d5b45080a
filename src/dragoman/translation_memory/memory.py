"""A translation memory: it finds the translation of a line that is a source in it, and pairs whose source is like a
line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from rapidfuzz.distance import Levenshtein

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import GivenCorpora
from dragoman.text.raw_lines import as_read
from dragoman.text.words import words_and_characters
from dragoman.translation_memory.similar import SimilarTexts

LEAST = 0.75
"""Lowest score of a near match."""

Span = tuple[int, int]
_SPACES = re.compile(" +")


@dataclass(frozen=True)
class MemoryMatch:
    """A pair of a translation memory whose source is a line, or like it.

    >>> translator = dragoman.load("RUN").with_options(memory={"ab c def": "AB C DEF"})
    >>> [match] = translator.translate("ab c fed").memory_matches
    >>> match.source, match.target, match.score, match.differences
    ('ab c def', 'AB C DEF', 0.75, [((5, 8), (5, 8))])
    """

    source: str
    target: str
    score: float
    """1 less the edit distance of the normal forms in characters, divided by the length of the longer; 1 if they are
    equal."""
    differences: list[tuple[Span, Span]]
    """[start, end) in the line, and in `source`, of the words that differ; an empty span where one side has no
    words."""


class TranslationMemory:
    """Pairs by the normal form of their sources; of several pairs with one source the last counts.

    Several threads may look up and add pairs at once.
    """

    _lock = Lock()
    """Of all memories, because a lock cannot be copied to other processes."""

    def __init__(self, pairs: Iterable[tuple[str, str]], normal_form: Callable[[str], str]) -> None:
        """`pairs` are sources and targets, of which blank ones are left out, and a target becomes one line;
        `normal_form` normalises a source.
        """
        self._normal_form = normal_form
        self._numbers: dict[str, int] = {}
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._index = SimilarTexts()
        for source, target in pairs:
            self.add(source, target)

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, source: str, target: str) -> None:
        """Add a pair, or give a source that is known another target."""
        form, target = self._form(source), as_read(target)
        if not form or not target:
            return
        with self._lock:
            number = self._numbers.setdefault(form, len(self._sources))
            if number < len(self._sources):
                self._sources[number], self._targets[number] = source, target
                return
            self._sources.append(form if form == source else source)  # one string where they are equal
            self._targets.append(target)
            self._index.add(form)

    def replace(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Replace all pairs by others."""
        other = TranslationMemory(pairs, self._normal_form)
        with self._lock:
            self._numbers, self._sources, self._targets = other._numbers, other._sources, other._targets
            self._index = other._index

    def exact(self, line: str) -> str | None:
        """The target of the source that equals a line; None if there is none."""
        form = self._form(line)
        with self._lock:
            number = self._numbers.get(form)
            return None if number is None else self._targets[number]

    def near(self, line: str, count: int = 3) -> list[MemoryMatch]:
        """Up to `count` pairs with a score of at least `LEAST`, best first."""
        form = self._form(line)
        with self._lock:
            matches = [
                (self._sources[number], self._targets[number], score)
                for number, score in self._index.find(form, LEAST, count)
            ]
        return [MemoryMatch(source, target, score, differing_words(line, source)) for source, target, score in matches]

    def _form(self, line: str) -> str:
        return _SPACES.sub(" ", as_read(self._normal_form(line)))


class LayeredMemory:
    """Several memories; the first one that has a source counts."""

    def __init__(self, *layers: TranslationMemory) -> None:
        self._layers = layers

    def exact(self, line: str) -> str | None:
        """As `TranslationMemory.exact`."""
        return next((translation for layer in self._layers if (translation := layer.exact(line)) is not None), None)

    def near(self, line: str, count: int = 3) -> list[MemoryMatch]:
        """As `TranslationMemory.near`."""
        matches: dict[str, MemoryMatch] = {}
        for layer in self._layers:
            for match in layer.near(line, count):
                matches.setdefault(as_read(match.source), match)
        return sorted(matches.values(), key=lambda match: -match.score)[:count]


Memory = TranslationMemory | LayeredMemory


def make_memory(
    given: str | Path | GivenCorpora | Mapping[str, str] | Memory, normal_form: Callable[[str], str]
) -> Memory:
    """The memory of a file of pairs, of several corpora as for training, or of a mapping of sources to translations.

    Raises:
        InputError: as for `read_pairs`.
    """
    if isinstance(given, TranslationMemory | LayeredMemory):
        return given
    if isinstance(given, Mapping):
        return TranslationMemory(given.items(), normal_form)
    corpora = [[given]] if isinstance(given, str | Path) else given
    return TranslationMemory(((pair.source, pair.target) for pair in read_pairs(corpora)), normal_form)


def differing_words(line: str, other: str) -> list[tuple[Span, Span]]:
    """The positions where the words of two texts differ, as [start, end) in characters of each.

    >>> differing_words("a red house", "a house")
    [((2, 5), (2, 2))]
    """
    spans = words_and_characters(line), words_and_characters(other)
    words = [[text[slice(*span)] for span in own] for text, own in zip((line, other), spans, strict=True)]
    return [
        (
            _covered(line, spans[0], code.src_start, code.src_end),
            _covered(other, spans[1], code.dest_start, code.dest_end),
        )
        for code in Levenshtein.opcodes(*words)
        if code.tag != "equal"
    ]


def _covered(text: str, spans: list[Span], start: int, end: int) -> Span:
    """The span of the words from `start` to before `end`; without words an empty span before the word `start`."""
    if start < end:
        return spans[start][0], spans[end - 1][1]
    position = spans[start][0] if start < len(spans) else len(text)
    return position, position
