"""Terminology: source terms whose translations must appear, found in lines also where they are inflected.

A line is divided into words (spaces and punctuation around them left out; each letter of a script without spaces is a
word). A term is found where as many words in a row match its words:

    a word of the term without capitals matches in any case, one with capitals as it is written
    another form of it matches if it differs only in an ending of at most `ENDING` letters, after a stem of at least
    `STEM` letters, and the source segments of the model show that the two endings alternate: among the words that
    are whole segments a share of at least `ALTERNATING` (of `ALTERNATING_AFTER_SHORT` after a stem of `STEM` letters,
    which unrelated words often have in common), and no fewer than `FEWEST`, have another that differs so

So "walk" finds "walked" where the model knows jump and jumped, talk and talked and so on, but "car" does not find
"card". A vocabulary of characters has no words, and terms are then found as they are written only. At each place the
term with most words wins, then the one with fewest other forms; the words of a term that is found belong to no other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import InputError
from dragoman.text.lines import read_lines, shown_name
from dragoman.text.raw_lines import is_blank
from dragoman.text.segmentation.base import SPACE_SYMBOL
from dragoman.text.segmentation.case_marks import CaseMarks
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import SPECIALS
from dragoman.text.words import bare_word, words_and_characters

ENDING = 3
"""Letters of the longest ending."""

STEM = 3
"""Letters of the shortest stem."""

ALTERNATING = 1 / 400
"""Share of the words that show two endings to alternate."""

ALTERNATING_AFTER_SHORT = 1 / 30
"""The same after the shortest stems: car and card, cart, care."""

FEWEST = 5
"""Words that show it at least, whatever the share."""


class Term(NamedTuple):
    """A source term and its translation."""

    words: tuple[str, ...]
    """The words of the source term."""
    translation: str
    origin: str
    """Where it was given, for messages, such as "terms.tsv:3"."""


class Glossary:
    """Terms, found in the lines of one source language."""

    def __init__(self, terms: Iterable[Term], source: TextSide) -> None:
        """`source` is the source side of the model, whose vocabulary tells which endings alternate.

        Raises:
            InputError: a source term is given twice with different translations.
        """
        self.terms: list[Term] = []
        self._by_stem: dict[str, list[Term]] = defaultdict(list)
        given: dict[tuple[str, ...], Term] = {}
        self._source = source
        for term in terms:
            term = term._replace(words=tuple(map(source.formed, term.words)))
            known = given.setdefault(term.words, term)
            if known.translation != term.translation:
                raise InputError(
                    f"{term.origin}: {' '.join(term.words)!r} has the translation {term.translation!r} here, but "
                    f"{known.translation!r} at {known.origin}; leave one of the two out"
                )
            if known is term:
                self.terms.append(term)
                self._by_stem[_stem(term.words[0])].append(term)
        words = list(_whole_words(source)) if self.terms else []
        self._endings = alternating_endings(words)
        self._needed = [max(FEWEST, share * len(words)) for share in (ALTERNATING_AFTER_SHORT, ALTERNATING)]

    def find(self, line: str) -> list[Term]:
        """Return the terms in a line, from left to right; a term that occurs twice is there twice."""
        words = _words(self._source.formed(line))
        matches = []
        position = 0
        while position < len(words):
            best = max(self._matches(words, position), key=lambda match: match[0], default=None)
            if best is None:
                position += 1
                continue
            matches.append(best[1])
            position += len(best[1].words)
        return matches

    def _matches(self, words: list[str], position: int) -> Iterator[tuple[tuple[int, int], Term]]:
        """Yield the terms that match from `position` on, with (words, words that are not inflected)."""
        for term in self._by_stem.get(_stem(words[position]), ()):
            following = words[position : position + len(term.words)]
            if len(following) == len(term.words):
                exact = [_equal(wanted, word) for wanted, word in zip(term.words, following, strict=True)]
                if all(
                    same or self._inflected(wanted, word)
                    for same, wanted, word in zip(exact, term.words, following, strict=True)
                ):
                    yield (len(following), sum(exact)), term

    def _inflected(self, wanted: str, word: str) -> bool:
        """Whether `word` is another form of `wanted`."""
        if wanted != wanted.lower() and wanted[0] != word[0]:
            return False
        one, other = wanted.casefold(), word.casefold()
        return any(
            one[:stem] == other[:stem] and self._endings.get((one[stem:], other[stem:]), 0) >= self._needed[stem > STEM]
            for stem in range(max(STEM, len(one) - ENDING, len(other) - ENDING), min(len(one), len(other)) + 1)
        )


def read_glossary(path: str | Path) -> Iterator[Term]:
    """Yield the terms of a file: a line for each, with source term, tab and translation; empty lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line has another form.
    """
    for number, line in enumerate(read_lines(path), 1):
        if is_blank(line):
            continue
        columns = line.split("\t")
        origin = f"{shown_name(path)}:{number}"
        if len(columns) != 2:
            raise InputError(
                f"{origin}: {len(columns)} tab-separated column{'s' * (len(columns) != 1)}; a line of a glossary has "
                "2: source term and translation"
            )
        yield make_term(columns[0], columns[1], origin)


def make_term(source: str, translation: str, origin: str) -> Term:
    """Return a term.

    Raises:
        InputError: the source term has no word, or there is no translation.
    """
    words = tuple(_words(source))
    if not words:
        raise InputError(f"{origin}: the source term {source!r} has no word to look for")
    if is_blank(translation):
        raise InputError(f"{origin}: no translation for {source!r}; give one, or leave the line out")
    return Term(words, translation.strip(), origin)


def make_glossary(terms: str | Path | Mapping[str, str], source: TextSide) -> Glossary:
    """Return the glossary of a file, or of a mapping of source terms to translations.

    Raises:
        TypeError: a term or a translation of a mapping is not a string.
        InputError: as for `read_glossary` and `Glossary`.
    """
    if isinstance(terms, str | Path):
        return Glossary(read_glossary(terms), source)
    for term in (text for pair in terms.items() for text in pair):
        if not isinstance(term, str):
            raise TypeError(f"glossary has {term!r} in it; give a mapping of source terms to translations, all strings")
    return Glossary((make_term(term, translation, "glossary") for term, translation in terms.items()), source)


def alternating_endings(words: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the pairs of endings, in both orders, with the number of stems of the words that have both.

    >>> words = ["walk", "talk", "look", "call"]
    >>> alternating_endings([*words, *(word + "ed" for word in words), "looks"])
    {('', 'ed'): 4, ('ed', ''): 4, ('', 's'): 1, ('ed', 's'): 1, ('s', ''): 1, ('s', 'ed'): 1}
    """
    by_stem: dict[str, dict[str, None]] = defaultdict(dict)
    for word in dict.fromkeys(word.casefold() for word in words):
        for length in range(max(STEM, len(word) - ENDING), len(word) + 1):
            by_stem[word[:length]][word[length:]] = None
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for endings in by_stem.values():
        for one, other in product(endings, endings):
            # A common letter at their beginnings belongs to a longer stem, which counts by itself.
            if one != other and one[:1] != other[:1]:
                counts[one, other] += 1
    return dict(counts)


def _whole_words(source: TextSide) -> Iterator[str]:
    """Yield the words that are one segment of the source vocabulary: of subwords those that begin with a space."""
    pieces = CaseMarks.split(source.vocabulary.pieces(range(len(SPECIALS), len(source.vocabulary))))
    space = SPACE_SYMBOL if any(len(piece) > 1 and piece.startswith(SPACE_SYMBOL) for piece in pieces) else ""
    for piece in pieces:
        word = piece.removeprefix(space)
        if len(word) >= STEM and word.isalpha() and piece.startswith(space):
            yield word


def _words(text: str) -> list[str]:
    """The words of a text without punctuation around them; what is punctuation alone is kept."""
    return [text[slice(*bare_word(text, span))] for span in words_and_characters(text)]


def _stem(word: str) -> str:
    """What all words have in common that may match each other."""
    return word.casefold()[:STEM]


def _equal(wanted: str, word: str) -> bool:
    return word == wanted or (wanted == wanted.lower() and word.casefold() == wanted.casefold())
