"""One language side of a run: its segmentation and vocabulary, from raw line to ids and back.

The folder RUN/text holds for each side SIDE.segmentation.json, SIDE.vocabulary and, for subwords, SIDE.model, a plain
SentencePiece model that other tools read too.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.text.segmentation import Segmentation, load_segmentation
from dragoman.text.segmentation.base import SPACE_SYMBOL
from dragoman.text.segmentation.normal_form import NormalisedSegmentation
from dragoman.text.vocabulary import BOS, EOS, PAD, Vocabulary
from dragoman.text.word_boundaries import WordBoundaries, word_boundaries

SideName = Literal["source", "target"]


class Encoded(NamedTuple):
    """The segments of a line, with an entry in each list for every segment; no EOS."""

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]
    """[start, end) in characters of the raw line; see `Segments`."""


class TextSide:
    """The segmentation and the vocabulary of one side; small to send to another process."""

    def __init__(self, segmentation: Segmentation, vocabulary: Vocabulary) -> None:
        self.segmentation = segmentation
        self.vocabulary = vocabulary

    def encode(self, line: str) -> Encoded:
        """Segment a raw line and look up the ids of its segments."""
        pieces, offsets = self.segmentation.segment(line)
        return Encoded(self.vocabulary.ids(pieces), pieces, offsets)

    def formed(self, line: str) -> str:
        """The line in the normal form that is segmented; the line itself without one."""
        segmentation = self.segmentation
        return segmentation.form.text(line) if isinstance(segmentation, NormalisedSegmentation) else line

    def decode(self, ids: Iterable[int]) -> str:
        """Raw text of the ids up to the first EOS; an unknown segment is written "<unk>"."""
        return self.segmentation.join(self.vocabulary.pieces(_words_only(ids)))

    @cached_property
    def word_boundaries(self) -> WordBoundaries | None:
        """Where words end between segments; None if the segments do not show it."""
        return word_boundaries(self.vocabulary, SPACE_SYMBOL, self.segmentation.join)

    def save(self, folder: Path, side: SideName) -> None:
        """Write the files of one side into an existing folder.

        Raises:
            InputError: a file cannot be written.
        """
        self.segmentation.save(_segmentation_path(folder, side))
        self.vocabulary.save(_vocabulary_path(folder, side))

    @classmethod
    def load(cls, folder: Path, side: SideName) -> TextSide:
        """Read what `save` wrote.

        Raises:
            RunError: a file is missing, damaged, or of a newer format.
        """
        return cls(
            load_segmentation(_segmentation_path(folder, side)),
            Vocabulary.load(_vocabulary_path(folder, side)),
        )


def _words_only(ids: Iterable[int]) -> list[int]:
    words = []
    for index in ids:
        if index == EOS:
            break
        if index not in (PAD, BOS):
            words.append(index)
    return words


def _segmentation_path(folder: Path, side: SideName) -> Path:
    return folder / f"{side}.segmentation.json"


def _vocabulary_path(folder: Path, side: SideName) -> Path:
    return folder / f"{side}.vocabulary"
