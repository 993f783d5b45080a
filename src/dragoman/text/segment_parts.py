"""The known segments that a new segment is like: its other spelling, its letter without an accent, its parts."""

from __future__ import annotations

import unicodedata

from dragoman.text.vocabulary import Vocabulary

SHORTEST = 3
"""Characters of a part of a longer segment; shorter ones are found in most words by chance."""


def parts_of(segment: str, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of known segments whose meanings make up that of a new one; none where nothing is known.

    They are the same word in other cases; else the characters of its compatibility decomposition (é: e and U+0301,
    Ａ: A); else the longest known parts from left to right (Hundehütte: Hunde, Hütte).
    """
    for form in _cases(segment):
        if form in vocabulary:
            return vocabulary.ids([form])
    if len(segment) == 1:
        return _known(unicodedata.normalize("NFKD", segment), vocabulary)
    found: list[str] = []
    start = 0
    while start <= len(segment) - SHORTEST:
        for end in range(len(segment), start + SHORTEST - 1, -1):
            part = next((form for form in _cases(segment[start:end]) if form in vocabulary), None)
            if part is not None:
                found.append(part)
                start = end
                break
        else:
            start += 1
    return vocabulary.ids(found)


def _cases(text: str) -> tuple[str, ...]:
    """The text as it is, in small letters, with a capital, in capitals."""
    return text, text.lower(), text.capitalize(), text.upper()


def _known(text: str, vocabulary: Vocabulary) -> list[int]:
    return vocabulary.ids([character for character in text if character in vocabulary])
