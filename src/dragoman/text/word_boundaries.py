"""Word boundaries between target segments: whether a segment goes on with the word that the one before it ends with.

Two characters stand inside a word if both are letters, marks or digits, and neither is a letter of a script without
spaces; or if the second is a mark. In such scripts (Chinese, Japanese, Thai) a word has no visible end, and any letter
may begin the next. Hyphens, apostrophes and all other characters end a word.

Pieces show where words end if they are joined without spaces and one of the vocabulary holds the space: "▁dog" of
subwords, "▁" of characters. Otherwise each piece is a word (`words`, `whitespace`), or all of them are one (`letters`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.vocabulary import SPECIALS, UNK, Vocabulary

OTHER, LETTER, MARK = range(3)
"""What a segment begins with, as far as words go on with it; `LETTER` is also for digits."""


@dataclass(frozen=True, slots=True, eq=False)
class WordBoundaries:
    """What the V segments of a vocabulary begin and end with."""

    begins: NDArray[np.int8]
    """[V] `OTHER`, `LETTER` or `MARK`; an unknown segment begins with a letter."""
    ends: NDArray[np.bool_]
    """[V] whether the last character is a letter, a mark or a digit, after which a word goes on with a letter."""
    space: int | None
    """The segment that is a space and nothing else, if there is one."""

    def joins(self, before: int, after: int) -> bool:
        """Whether segment `after` goes on with the word that `before` ends with."""
        begins = self.begins[after]
        return bool(begins == MARK or (begins == LETTER and self.ends[before]))


def word_boundaries(vocabulary: Vocabulary, space: str, join: Callable[[Sequence[str]], str]) -> WordBoundaries | None:
    """Return the word boundaries of a vocabulary; None if its pieces do not show where words end.

    Args:
        space: the symbol of a space in a piece.
        join: joins pieces to text, as the segmentation does.
    """
    pieces = vocabulary.pieces(range(len(vocabulary)))
    if not any(piece.startswith(space) or piece.endswith(space) for piece in pieces) or join(["a", "b"]) != "ab":
        return None
    own = pieces[len(SPECIALS) :]
    begins = np.zeros(len(pieces), np.int8)
    begins[UNK] = LETTER
    begins[len(SPECIALS) :] = _classes([piece[0] for piece in own])
    ends = np.zeros(len(pieces), np.bool_)
    ends[UNK] = True
    ends[len(SPECIALS) :] = np.array(_classes([piece[-1] for piece in own])) != OTHER
    return WordBoundaries(begins, ends, pieces.index(space) if space in vocabulary else None)


def _classes(characters: Sequence[str]) -> list[int]:
    """`OTHER`, `LETTER` or `MARK` for each character."""
    known = {character: _class(character) for character in set(characters)}
    return [known[character] for character in characters]


def _class(character: str) -> int:
    category = unicodedata.category(character)[0]
    if category == "M":
        return MARK
    return LETTER if category in "LN" and not LETTER_WITHOUT_SPACES.match(character) else OTHER
