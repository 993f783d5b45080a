"""Out-of-vocabulary tokens of a text: a model reads them all as UNK, and can write none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.report.differences import LISTED
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK


@dataclass(frozen=True, slots=True)
class OovToken:
    """A token of the raw text that the vocabulary lacks."""

    text: str
    sentences: tuple[int, ...]
    """The sentences it is in, from 0; a sentence is repeated for each occurrence."""


@dataclass(frozen=True, slots=True)
class OovCounts:
    """The out-of-vocabulary tokens of a text."""

    tokens: int
    """All tokens of the text."""
    unknown: int
    """Those that the vocabulary lacks."""
    listed: tuple[OovToken, ...]
    """The most frequent unknown tokens."""


def count_oov(side: TextSide, lines: Sequence[str]) -> OovCounts:
    """Count the tokens of `lines` that are not in the vocabulary of `side`: words, or smaller units if it has those."""
    found: dict[str, list[int]] = {}
    tokens = 0
    for number, line in enumerate(lines):
        encoded = side.encode(line)
        tokens += len(encoded.ids)
        for index, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if index == UNK:
                found.setdefault(line[start:end].strip(), []).append(number)
    most_frequent = sorted(found, key=lambda text: (-len(found[text]), text))
    return OovCounts(
        tokens,
        sum(map(len, found.values())),
        tuple(OovToken(text, tuple(found[text])) for text in most_frequent[:LISTED]),
    )
