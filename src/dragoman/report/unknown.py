"""Words that a model has no symbol for: it reads them all as the same one, and can write none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.report.differences import LISTED
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK


@dataclass(frozen=True, slots=True)
class Unknown:
    """A segment of raw text that the vocabulary lacks."""

    text: str
    sentences: tuple[int, ...]
    """Where, from 0; a sentence stands once for each time."""


@dataclass(frozen=True, slots=True)
class UnknownWords:
    """What of a text is unknown."""

    segments: int
    """Of the text."""
    unknown: int
    """Of these."""
    listed: tuple[Unknown, ...]
    """The most frequent ones."""


def unknown_words(side: TextSide, lines: Sequence[str]) -> UnknownWords:
    """What a model with this side does not know of these lines: words, or characters where segments are smaller."""
    found: dict[str, list[int]] = {}
    segments = 0
    for number, line in enumerate(lines):
        encoded = side.encode(line)
        segments += len(encoded.ids)
        for index, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if index == UNK:
                found.setdefault(line[start:end].strip(), []).append(number)
    often = sorted(found, key=lambda text: (-len(found[text]), text))
    return UnknownWords(
        segments,
        sum(map(len, found.values())),
        tuple(Unknown(text, tuple(found[text])) for text in often[:LISTED]),
    )
