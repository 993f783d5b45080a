"""Differences between translations, and the words that a system confuses, misses or does not know.

Tokens here are for readers, not for a metric: words without surrounding punctuation, punctuation marks, and single
characters in scripts without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from dragoman.alignment.extract import Span
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK

LISTED = 15
"""Rows of a table of words."""

Words = TypeVar("Words", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class Confusion:
    """A reference word that the system replaced by another word."""

    expected: str
    written: str
    sentences: tuple[int, ...]
    """The sentences it occurs in, from 0; a sentence is repeated for each occurrence."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A reference word that is missing from translations."""

    word: str
    count: int
    """Occurrences in the references."""
    sentences: tuple[int, ...]
    """The sentences whose translation lacks it, from 0; a sentence is repeated for each occurrence."""


@dataclass(frozen=True, slots=True)
class OovToken:
    """A token of the raw text that the vocabulary lacks."""

    text: str
    sentences: tuple[int, ...]
    """The sentences it is in, from 0; a sentence is repeated for each occurrence."""


@dataclass(frozen=True, slots=True)
class OovCounts:
    """The out-of-vocabulary tokens of a text: a model reads them all as UNK, and can write none of them."""

    tokens: int
    """All tokens of the text."""
    unknown: int
    """Those that the vocabulary lacks."""
    listed: tuple[OovToken, ...]
    """The most frequent unknown tokens."""


def tokens(line: str) -> list[Span]:
    """Return the tokens of a line as [start, end) in characters."""
    # Spaces of any kind separate them: a no-break space before a mark is no part of a token.
    return [span for stretch in re.finditer(r"\S+", line) for span in _parts(line, *stretch.span())]


def _parts(line: str, start: int, end: int) -> Iterator[Span]:
    """Split a raw word into the marks before it, the word itself, and the marks after it."""
    first, last = start, end
    while first < last and _is_mark(line[first]):
        first += 1
    while last > first and _is_mark(line[last - 1]):
        last -= 1
    yield from ((at, at + 1) for at in range(start, first))
    if LETTER_WITHOUT_SPACES.search(line, first, last):
        yield from ((at, at + 1) for at in range(first, last))
    elif first < last:
        yield first, last
    yield from ((at, at + 1) for at in range(last, end))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def differing(line: str, other: str) -> tuple[list[Span], list[Span]]:
    """Return the tokens of each line that differ from the other line, by the longest common runs of tokens."""
    ours, theirs = tokens(line), tokens(other)
    mine: list[Span] = []
    yours: list[Span] = []
    for kind, begin, end, other_begin, other_end in _comparison(line, ours, other, theirs):
        if kind != "equal":
            mine += ours[begin:end]
            yours += theirs[other_begin:other_end]
    return mine, yours


def overlapping(words: Sequence[Span], spans: Sequence[Span]) -> list[int]:
    """Return the indices of the words that overlap one of the spans."""
    return [
        number
        for number, (start, end) in enumerate(words)
        if any(first < end and start < last for first, last in spans)
    ]


def confusions(hypotheses: Sequence[str], references: Sequence[str]) -> list[Confusion]:
    """Return pairs of a reference word and the word written in its place, the most frequent first.

    Only replaced runs of equal length in reference and translation are counted, since otherwise words cannot be
    matched. Pairs that occur once are left out.
    """
    rows: dict[tuple[str, str], list[int]] = {}
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True)):
        expected, written = tokens(reference), tokens(hypothesis)
        for kind, begin, end, other_begin, other_end in _comparison(reference, expected, hypothesis, written):
            if kind == "replace" and end - begin == other_end - other_begin:
                for ours, theirs in zip(expected[begin:end], written[other_begin:other_end], strict=True):
                    pair = reference[slice(*ours)], hypothesis[slice(*theirs)]
                    if _is_word(pair[0]) or _is_word(pair[1]):
                        rows.setdefault(pair, []).append(number)
    return [Confusion(*pair, tuple(sentences)) for pair, sentences in _most_frequent(rows) if len(sentences) > 1]


def missed(hypotheses: Sequence[str], references: Sequence[str]) -> list[Missed]:
    """Return reference words that the translations of their sentences lack, the most often missing first."""
    counts: Counter[str] = Counter()
    lacking: dict[str, list[int]] = {}
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True)):
        wanted, present = (
            Counter(token for start, end in tokens(line) if _is_word(token := line[start:end]))
            for line in (reference, hypothesis)
        )
        counts += wanted
        for word, times in (wanted - present).items():
            lacking.setdefault(word, []).extend([number] * times)
    return [
        Missed(word, counts[word], tuple(sentences))
        for word, sentences in _most_frequent(lacking)
        if len(sentences) > 1
    ]


def count_oov(side: TextSide, lines: Sequence[str]) -> OovCounts:
    """Count the tokens of `lines` that are not in the vocabulary of `side`: words, or smaller units if it has those."""
    rows: dict[str, list[int]] = {}
    tokens = 0
    for number, line in enumerate(lines):
        encoded = side.encode(line)
        tokens += len(encoded.ids)
        for index, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if index == UNK:
                rows.setdefault(line[start:end].strip(), []).append(number)
    listed = tuple(OovToken(text, tuple(sentences)) for text, sentences in _most_frequent(rows))
    return OovCounts(tokens, sum(map(len, rows.values())), listed)


def _most_frequent(rows: Mapping[Words, list[int]]) -> list[tuple[Words, list[int]]]:
    """Return what has the most sentences, with these; equals in code point order."""
    return sorted(rows.items(), key=lambda item: (-len(item[1]), item[0]))[:LISTED]


def _comparison(
    line: str, ours: Sequence[Span], other: str, theirs: Sequence[Span]
) -> Sequence[tuple[str, int, int, int, int]]:
    our_words = [line[start:end] for start, end in ours]
    their_words = [other[start:end] for start, end in theirs]
    return SequenceMatcher(None, our_words, their_words, autojunk=False).get_opcodes()


def _is_word(token: str) -> bool:
    return not all(map(_is_mark, token))
