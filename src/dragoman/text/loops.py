"""Loops: a translation that says the same thing over and over where its source does not.

A loop is a span of words or of characters that a translation repeats at least three times in direct succession, and
more often than its source repeats any span. Capitals, marks and the punctuation between words do not count: "A dog, a
dog, a dog." repeats "a dog" three times. A letter of a script without spaces is a word. Two kinds of repetition are
common in good text, and count only if they are long:

    one character                    12 times: "好好好", "1 1 1", "...", "-----", ". . ." are no loops
    a span of characters in a word   12 characters: "hahaha", "1000000" are no loops

In the source every repetition counts, however short.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from dragoman.text.scripts import LETTERS_WITHOUT_SPACES

TIMES = 3
"""Repetitions from which on a span is a loop."""
LONG = 12
"""Characters of a repetition of one character, and of one inside a word, from which on it counts."""

_WORDS = re.compile(rf"\d+(?:[.,:]\d+)+|[{LETTERS_WITHOUT_SPACES}]|[^\W_{LETTERS_WITHOUT_SPACES}]+")
_SEPARATORS = str.maketrans("", "", ".,:")  # of a number


def has_loop(source: str, translation: str) -> bool:
    """Return whether a translation repeats a span three times or more, and more often than its source repeats any.

    >>> has_loop("Sehr gut.", "Very very very good."), has_loop("Sehr, sehr, sehr gut.", "Very very very good.")
    (True, False)
    """
    times = _repetitions(translation, LONG)
    return times >= TIMES and times > _repetitions(source, 0)


def _repetitions(text: str, long: int) -> int:
    """The largest number of times that a span is repeated; 1 for none.

    Args:
        long: characters that a repetition of one character, or inside a word, must have.
    """
    if not text.isascii():
        text = "".join(character for character in text if not unicodedata.category(character).startswith("M"))
    text = text.lower().replace("...", "…")
    words = [word.translate(_SEPARATORS) for word in _WORDS.findall(text)]
    most = _most(words, long)
    for run in (*words, *("".join(between.split()) for between in _WORDS.split(text))):
        if len(run) >= max(long, 2):
            most = max(most, _most(run, long, characters=True))
    return most


def _most(units: Sequence[str], long: int, *, characters: bool = False) -> int:
    """The largest number of times that a span of units stands in direct succession.

    A span that is repeated holds the positions of two neighbouring multiples of its length, so only these are compared.

    Args:
        units: words, or the `characters` of one run.
        long: as for `_repetitions`.
    """
    most = 1
    length = 1
    while length * (most + 1) <= len(units):
        position = 0
        while position + length < len(units):
            start, end = position, position + length
            if units[start] == units[end]:
                while start and units[start - 1] == units[start - 1 + length]:
                    start -= 1
                while end < len(units) and units[end] == units[end - length]:
                    end += 1
                one_character = length == 1 and len(units[start]) == 1
                if end - start >= long or not (characters or one_character):
                    most = max(most, (end - start) // length)
            position += length * max((end - position) // length, 1)
        length += 1
    return most
