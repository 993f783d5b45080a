"""One form for text that means the same letters: composed characters, plain spaces, no invisible characters.

A line is brought to this form before it is segmented, at training and at translation, so that "é" of two code points, a
no-break space or a soft hyphen in a word change no translation. A character of a source that the training sources never
had is replaced by one that they had and that stands for the same: another quotation mark or dash, a digit or a letter
in full width. Items (text/items.py) are found, and written, in ASCII instead of full width. Mistyped words of sources
may be corrected (text/spelling.py). Targets are only composed and freed of invisible characters: a translation keeps
its language's spaces and quotation marks.

Spans refer to the raw line. In the web site, normal_form.js does the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from dragoman.text.names import OTHER_WORD
from dragoman.text.segmentation.base import NONE, Entries, Segmentation, Segments
from dragoman.text.spelling import Spelling, TypingError

Span = tuple[int, int]

_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_HIDDEN = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_JOINERS = "\u200c\u200d"
_SPACE = re.compile(f"[{_SPACES}]")
_UNSEEN = re.compile(f"[{_HIDDEN}{_JOINERS}]+")
_UNUSUAL = re.compile(f"[{_SPACES}{_HIDDEN}{_JOINERS}]")
_EUROPEAN = "\u0590"
"""The first character after Latin, Greek and Cyrillic, whose letters never need a joiner."""
_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0370-\u0373\u0376-\u058f\u1e00-\u1fff"
_EUROPEAN_WORD = re.compile(f"[{_LETTERS}](?:['\u2019-]?[{_LETTERS}\u0300-\u036f])*")
_FOREIGN_LETTER = re.compile(f"(?![A-Za-z])[{_LETTERS}]")
_OTHER_WORD = re.compile(OTHER_WORD)
ALIKE = ('"“”„‟«»″', "'’‘‚‛‹›′`´", "-–—‐‑‒―−", "•·‣▪", "~〜～")
"""Characters that stand for each other."""
RARE = 10_000
"""A character that fewer training sources have than one in so many is replaced, if there is one to replace it."""


class Formed(NamedTuple):
    """A line in normal form."""

    text: str
    spans: list[Span] | None
    """The span in the raw line of each character; None where the text is the raw line."""


class NormalForm:
    """Brings lines to the form that a model was trained on."""

    def __init__(self, known: str | None = None, spelling: Spelling | None = None) -> None:
        """
        Args:
            known: the characters of the training sources; None for targets, whose characters all stay.
            spelling: corrects the words of sources; None: they stay as they are.
        """
        self.known = known
        self.spelling = spelling
        self._known = None if known is None else frozenset(known)
        self._replacements: dict[str, str] = {}

    def __reduce__(self) -> tuple[type[NormalForm], tuple[str | None, Spelling | None]]:
        return NormalForm, (self.known, self.spelling)

    @classmethod
    def of_sources(cls, lines: Iterable[str]) -> NormalForm:
        """The form of sources like these training sources; it keeps characters that one line in 10,000 or more has."""
        count, counts = 0, Counter(" ")
        for line in lines:
            count += 1
            counts.update(set(_composed(line)))
        frequent = (character for character, seen in counts.items() if seen * RARE >= count or character == " ")
        return cls("".join(sorted(character for character in frequent if not _UNUSUAL.match(character))))

    def with_spelling(self, lines: Iterable[str]) -> NormalForm:
        """The form that corrects words, too: those that these training sources never have."""
        return NormalForm(self.known, Spelling.of_sources(map(self.text, lines)))

    def knowing(self, lines: Iterable[str]) -> NormalForm:
        """The form that leaves the words of more training sources as they are."""
        text = (self._characters(line).text for line in lines)
        return NormalForm(self.known, self.spelling and self.spelling.with_text(text))

    def typing_errors(self, line: str) -> list[TypingError]:
        """The words of a line that are read as other words, with their spans in the raw line."""
        formed = self._characters(line)
        errors = self.spelling.errors(formed.text) if self.spelling else []
        return errors if formed.spans is None else [error.in_raw_line(formed.spans) for error in errors]

    @cached_property
    def of_characters(self) -> NormalForm:
        """The form in which words stay as they are."""
        return NormalForm(self.known)

    def apply(self, line: str) -> Formed:
        """Bring a line to normal form."""
        formed = self._characters(line)
        if not (errors := self.spelling.errors(formed.text) if self.spelling else []):
            return formed
        raw = formed.spans or [(position, position + 1) for position in range(len(line))]
        text: list[str] = []
        spans: list[Span] = []
        end = 0
        for start, stop, read_as in (*errors, TypingError(len(raw), len(raw), "")):
            text += formed.text[end:start], read_as
            spans += raw[end:start]
            if start < stop:
                spans += [(raw[start][0], raw[stop - 1][1])] * len(read_as)
            end = stop
        return Formed("".join(text), spans)

    def _characters(self, line: str) -> Formed:
        if self._is_normal(line):
            return Formed(line, None)
        text: list[str] = []
        spans: list[Span] = []
        positions = _visible(line)
        for start, stop, composed in _clusters("".join(line[position] for position in positions)):
            written = composed if self._known is None else _composed("".join(map(self._replacement, composed)))
            text.append(written)
            spans += [(positions[start], positions[stop - 1] + 1)] * len(written)
        return Formed("".join(text), spans)

    def text(self, line: str) -> str:
        """A line in normal form, without spans."""
        return line if self._is_normal(line) and not self.spelling else self.apply(line).text

    def narrow(self, line: str) -> str:
        """A line of the same length, in which characters in full width and digits of other scripts are of ASCII, if the
        training sources never had them. Items are found in it, and written as in it.
        """
        if self._known is None or line.isascii():
            return line
        return "".join(one if one in self._known else _narrow(one) for one in line)

    def foreign_words(self, line: str) -> list[Span]:
        """The words with a letter of Latin, Greek or Cyrillic that the training sources never had, in either case.

        Where these had letters of no other script, also all words of other scripts.
        """
        if self._known is None or line.isascii() or self._known.issuperset(line):
            return []
        words = [match.span() for match in _EUROPEAN_WORD.finditer(line) if self._is_foreign(match[0])]
        if self._is_european:
            words += [match.span() for match in _OTHER_WORD.finditer(line)]
        return words

    @cached_property
    def _is_european(self) -> bool:
        return self.known is not None and not _OTHER_WORD.search(self.known)

    def _is_foreign(self, word: str) -> bool:
        assert self._known is not None
        letters = _FOREIGN_LETTER.findall(self._characters(word).text)
        return any(self._known.isdisjoint((letter, letter.lower(), letter.upper())) for letter in letters)

    def _is_normal(self, line: str) -> bool:
        """Whether a line is in normal form, as nearly all are; it may say no of a line that is."""
        if self._known is not None:
            # Characters that the training sources never had and that are certainly left as they are.
            stay = (one.isascii() and self._replacement(one) == one for one in set(line) - self._known)
            return all(stay) and _composed(line) == line
        return line.isascii() or (_composed(line) == line and not _UNUSUAL.search(line))

    def _replacement(self, character: str) -> str:
        """The first way to write a character that the training sources had; itself if there is none."""
        if character not in self._replacements:
            assert self._known is not None
            fitting = (each for each in _alike(character) if self._known.issuperset(each))
            self._replacements[character] = next(fitting, character)
        return self._replacements[character]


def _composed(line: str) -> str:
    return line if line.isascii() else unicodedata.normalize("NFC", line)


def _visible(line: str) -> list[int]:
    """The positions of the characters of a line that are kept: joiners are where a letter or emoji may need them."""
    positions: list[int] = []
    end = 0
    for run in _UNSEEN.finditer(line):
        positions.extend(range(end, run.start()))
        end = run.end()
        start, stop = run.start(), end
        while start > 0 and _has_no_position(line[start - 1]):
            start -= 1
        while stop < len(line) and _has_no_position(line[stop]):
            stop += 1
        around = unicodedata.normalize("NFKC", line[max(start - 1, 0) : run.start()] + line[end : stop + 1])
        # Letters and marks of Arabic, Indian and other scripts, and emoji, may need them.
        if any(one >= _EUROPEAN and unicodedata.category(one)[0] in "LMS" for one in around):
            positions.extend(position for position in range(*run.span()) if line[position] in _JOINERS)
    return [*positions, *range(end, len(line))]


def _has_no_position(character: str) -> bool:
    """A mark, whose position composition may change, or a character that may be removed."""
    return unicodedata.category(character)[0] == "M" or _UNSEEN.match(character) is not None


def _clusters(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and composed form of the shortest parts of a line that compose alone as in the line."""
    start = 0
    while start < len(line):
        stop, composed = start + 1, ""
        while True:
            while stop < len(line) and unicodedata.category(line[stop]).startswith("M"):
                stop += 1
            composed = _composed(line[start:stop])
            # Letters of Hangul and a few vowels of India are no combining marks, and composed nevertheless.
            if stop == len(line) or line[stop] < "\u0300" or _composed(line[start : stop + 1]) == composed + line[stop]:
                break
            stop += 1
        yield start, stop, composed
        start = stop


def _alike(character: str) -> Iterator[str]:
    """Yield the ways to write a character, itself first."""
    yield character
    if _SPACE.match(character):
        yield " "
    compatible = unicodedata.normalize("NFKC", character)
    for one in (character, compatible):
        for group in ALIKE:
            if one in group:
                yield from group
        yield compatible
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        yield str(digit)


def _narrow(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", character) if "\uff01" <= character <= "\uff5e" else character


class NormalisedSegmentation:
    """A segmentation of lines in normal form."""

    def __init__(self, inner: Segmentation, form: NormalForm) -> None:
        self.inner = inner
        """The segmentation of lines that are in normal form."""
        self.form = form

    def segment(self, line: str) -> Segments:
        formed = self.form.apply(line)
        pieces, offsets = self.inner.segment(formed.text)
        return Segments(pieces, offsets if formed.spans is None else in_raw_line(offsets, formed.spans))

    def join(self, pieces: Sequence[str]) -> str:
        return self.inner.join(pieces)

    def save(self, path: Path, entries: Entries = NONE) -> None:
        form: dict[str, object] = {"known": self.form.known}
        if spelling := self.form.spelling:
            form["spelling"] = {
                "words": " ".join(spelling.words),
                "repeated": spelling.repeated,
                "frequent": spelling.frequent,
            }
        self.inner.save(path, {**entries, "normal_form": form})


def in_raw_line(offsets: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """Spans of a changed line as spans of the raw line, by the spans of its characters; empty ones stay empty."""
    end = spans[-1][1] if spans else 0
    starts = [*(start for start, _ in spans), end]
    return [(starts[start], spans[stop - 1][1] if stop > start else starts[start]) for start, stop in offsets]
