"""One language side of a run: its segmentation and vocabulary, from raw line to ids and back.

The folder RUN/text holds for each side SIDE.segmentation.json, SIDE.vocabulary and, for subwords, SIDE.model, a plain
SentencePiece model that other tools read too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.text.items import NAMES, NO_QUOTATION, Masked, Quotation, restore
from dragoman.text.segmentation import Segmentation, load_segmentation
from dragoman.text.segmentation.base import SPACE_SYMBOL
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, knowing, mask_pair, segment_pair
from dragoman.text.spelling import TypingError
from dragoman.text.vocabulary import BOS, EOS, PAD, Vocabulary
from dragoman.text.word_boundaries import WordBoundaries, word_boundaries

SideName = Literal["source", "target"]


class Encoded(NamedTuple):
    """The segments of a line, with an entry in each list for every segment; no EOS."""

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]
    """[start, end) in characters of the raw line; see `Segments`."""
    items: tuple[str, ...] = ()
    """What the placeholders of a source stand for in its translation, from the first on."""
    quotation: Quotation = NO_QUOTATION
    """The quotation marks around a source, which enclose its translation."""


class TextSide:
    """The segmentation and the vocabulary of one side; small to send to another process."""

    def __init__(self, segmentation: Segmentation, vocabulary: Vocabulary) -> None:
        self.segmentation = segmentation
        self.vocabulary = vocabulary

    def encode(self, line: str, items: Sequence[str] = (), quotation: Quotation = NO_QUOTATION) -> Encoded:
        """Segment a raw line and look up the ids of its segments.

        Args:
            items, quotation: only for a target: the items and the quotation marks of its source.
        """
        return self.encode_masked(self.mask(line, items, quotation))

    def mask(self, line: str, items: Sequence[str] = (), quotation: Quotation = NO_QUOTATION) -> Masked:
        """Put placeholders in place of items, and take off quotation marks, if the segmentation protects any."""
        segmentation = self.segmentation
        if isinstance(segmentation, ProtectedSegmentation):
            return segmentation.mask(line, items, quotation)
        return Masked(line, None)

    def count_items(self, line: str) -> int:
        """How many protected items a source has, those without a placeholder included."""
        segmentation = self.segmentation
        return segmentation.count_items(line) if isinstance(segmentation, ProtectedSegmentation) else 0

    def encode_masked(self, line: Masked) -> Encoded:
        """Encode a line whose items are placeholders already."""
        segmentation = self.segmentation
        pieces, offsets = (
            segmentation.segment_masked(line)
            if isinstance(segmentation, ProtectedSegmentation)
            else segmentation.segment(line.text)
        )
        return Encoded(self.vocabulary.ids(pieces), pieces, offsets, line.items, line.quotation)

    def formed(self, line: str) -> str:
        """The line in normal form, items and typing errors included; the line itself without one."""
        return line if self._form is None else self._form.of_characters.text(line)

    def knowing(self, sources: Callable[[], Iterable[str]]) -> TextSide:
        """The side of a model that learns more sources: their words are no new names, and not mistyped.

        Args:
            sources: reads them, which may be done twice.
        """
        return TextSide(knowing(self.segmentation, sources), self.vocabulary)

    def known_share(self, lines: Iterable[str]) -> float | None:
        """The share of the words of lines that the training sources had; None without `text.spelling`."""
        if self._form is None or self._form.spelling is None:
            return None
        return self._form.spelling.known_share(map(self.formed, lines))

    def typing_errors(self, line: str) -> list[TypingError]:
        """The words of a raw line that are read as others (`text.spelling`)."""
        masked = self.mask(line)
        errors = [] if self._form is None else self._form.typing_errors(masked.text)
        return errors if masked.spans is None else [error.in_raw_line(masked.spans) for error in errors]

    @property
    def _form(self) -> NormalForm | None:
        segmentation = self.segmentation
        if isinstance(segmentation, ProtectedSegmentation):
            segmentation = segmentation.inner
        return segmentation.form if isinstance(segmentation, NormalisedSegmentation) else None

    def decode(self, ids: Iterable[int]) -> str:
        """Raw text of the ids up to the first EOS; an unknown segment is written "<unk>", a placeholder "⟦1⟧"."""
        return restore(self.decode_masked(ids), ())

    def decode_masked(self, ids: Iterable[int]) -> str:
        """The same with characters of private use for placeholders (text/items.py)."""
        before_end = takewhile(lambda index: index != EOS, ids)
        words = [index for index in before_end if index not in (PAD, BOS)]
        return self.segmentation.join(self.vocabulary.pieces(words))

    @cached_property
    def word_boundaries(self) -> WordBoundaries | None:
        """Where words end between segments; None if the segments do not show it."""
        return word_boundaries(self.vocabulary, SPACE_SYMBOL, self.segmentation.join)

    @property
    def letterless_stay(self) -> bool:
        """Whether a source without a letter is its own translation; never without protected items."""
        segmentation = self.segmentation
        return isinstance(segmentation, ProtectedSegmentation) and segmentation.items.letterless_stay

    @cached_property
    def placeholders(self) -> list[int]:
        """The ids of the placeholders of protected items; empty without any."""
        return self.vocabulary.ids(NAMES) if isinstance(self.segmentation, ProtectedSegmentation) else []

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


def encode_pair(sides: tuple[TextSide, TextSide], source: str, target: str) -> tuple[Encoded, Encoded]:
    """Encode both lines of a pair; a placeholder stands for an item that both have."""
    segments = segment_pair((sides[0].segmentation, sides[1].segmentation), source, target)
    encoded = [Encoded(side.vocabulary.ids(own.pieces), *own) for side, own in zip(sides, segments, strict=True)]
    return encoded[0], encoded[1]


def source_words(sides: tuple[TextSide, TextSide], source: str, target: str) -> str:
    """The source of a pair without the items that its target has as they are."""
    return mask_pair((sides[0].segmentation, sides[1].segmentation), source, target)[0].text


def _segmentation_path(folder: Path, side: SideName) -> Path:
    return folder / f"{side}.segmentation.json"


def _vocabulary_path(folder: Path, side: SideName) -> Path:
    return folder / f"{side}.vocabulary"
