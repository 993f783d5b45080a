"""Raw lines -> what a model reads: the source side of a translator, of one model or of an ensemble (ensemble.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span
from dragoman.engines.protocol import DividingEngine, Engine
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.side import Encoded, TextSide, raw_words
from dragoman.translation.length_batching import Shortener, source_batch


class Read(NamedTuple):
    """A line as it is read."""

    parts: Sequence[Encoded]
    """The segments of each model that reads it."""
    pieces: list[str]
    """What the columns of the attention stand for, a column for an end of sentence left out."""
    offsets: list[Span]
    """Where these lie in the raw line."""

    @property
    def segments(self) -> int:
        """Those of the model that has most; 0 for a blank line."""
        return max(len(part.ids) for part in self.parts)


class SourceBatch(NamedTuple):
    """Sources, and the engine that has been made to read them."""

    engine: Engine
    source: NDArray[np.int64]
    """[B, S]"""
    lengths: NDArray[np.int64]
    """[B]"""
    segments: NDArray[np.int64]
    """[B] what limits of the output's length are multiples of."""


class Reader(Protocol):
    """The source side of a translator."""

    @property
    def attention_shift(self) -> int:
        """As an engine's."""

    @property
    def workers(self) -> int:
        """How many batches may be worked on at once, each in a thread."""

    def read(self, text: str, place: str) -> Read:
        """Cut a raw line; `place` is what a warning calls it."""

    def batch(self, lines: Sequence[Read]) -> SourceBatch:
        """Lines made ready for a search."""

    def copied_words(self, text: str, line: Read) -> list[Span]:
        """The words of a raw line, as they are copied in place of an unknown one."""


def workers(engine: Engine) -> int:
    """Calls at once that an engine makes use of."""
    return engine.workers if isinstance(engine, DividingEngine) else 1


class ModelReader:
    """One model's side."""

    def __init__(self, engine: Engine, side: TextSide) -> None:
        self._engine = engine
        self._side = side
        self._shorten = Shortener()

    @property
    def attention_shift(self) -> int:
        return self._engine.attention_shift

    @property
    def workers(self) -> int:
        return workers(self._engine)

    def read(self, text: str, place: str) -> Read:
        encoded = self._shorten(self._side.encode(text), place)
        return Read((encoded,), encoded.pieces, encoded.offsets)

    def batch(self, lines: Sequence[Read]) -> SourceBatch:
        source, lengths = source_batch(self._engine, [line.parts[0].ids for line in lines])
        return SourceBatch(self._engine, source, lengths, lengths - int(self._engine.source_eos))

    def copied_words(self, text: str, line: Read) -> list[Span]:
        """Segments where these are words, else what stands between blanks, without punctuation around it."""
        if isinstance(self._side.segmentation, (SubwordSegmentation, CharacterSegmentation)):
            return bare_words(text)
        return line.offsets


def bare_words(text: str) -> list[Span]:
    """Where the words of a raw line lie, without the punctuation around them; what is punctuation alone is kept."""
    return [bare_word(text, span) for span in raw_words(text)]


def bare_word(text: str, span: Span) -> Span:
    """The word in `span` without the characters at either end that are neither letters nor digits, if any are left."""
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return (start, end) if start < end else span
