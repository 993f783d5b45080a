"""Source encoding: raw lines to truncated segments, then to padded batches of ids with EOS."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span
from dragoman.engines.protocol import ConcurrentEngine, Engine, ThreadedEngine
from dragoman.text.items import NAMES, Quotation
from dragoman.text.padding import Padded, pad
from dragoman.text.segmentation.characters import CharacterSegmentation, LetterSegmentation
from dragoman.text.segmentation.protected import innermost
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.side import Encoded, TextSide
from dragoman.text.spelling import TypingError
from dragoman.text.vocabulary import UNK
from dragoman.text.words import bare_words

MAX_SEGMENTS = 1000
"""The largest number of segments of a line that a model reads. Recurrent models learn no longer dependencies, and time
and memory of attention grow with the product of source and target length."""

log = logging.getLogger(__name__)


class EncodedLine(NamedTuple):
    """The segments of a source line."""

    parts: Sequence[Encoded]
    """The segments for each model that reads the line."""
    pieces: list[str]
    """The source tokens of the columns of the attention, without EOS."""
    offsets: list[Span]
    """The spans of the pieces in the raw line."""

    @property
    def items(self) -> tuple[str, ...]:
        """What the placeholders of the line stand for in its translation."""
        return self.parts[0].items

    @property
    def quotation(self) -> Quotation:
        """The quotation marks around the line, which its segments do not have."""
        return self.parts[0].quotation

    @property
    def segments(self) -> int:
        """The largest number of segments of any model; 0 for a blank line."""
        return max(len(part.ids) for part in self.parts)


class SourceBatch(NamedTuple):
    """Padded sources, and the engine that reads them."""

    engine: Engine
    source: NDArray[np.int64]
    """[B, S]"""
    lengths: NDArray[np.int64]
    """[B]"""
    segments: NDArray[np.int64]
    """[B] the source lengths that limits of the output length are multiples of; EOS does not count."""


class SourceEncoder(Protocol):
    """The source side of a translator or scorer: of one model, or of an ensemble (ensemble.py)."""

    @property
    def attention_shift(self) -> int:
        """The shift of the engine, as in `Engine.attention_shift`."""

    @property
    def attends(self) -> bool:
        """Whether a model has attention."""

    @property
    def workers(self) -> int:
        """The number of batches that may be computed at once, each in a thread."""

    def threads(self, count: int | None) -> AbstractContextManager[int]:
        """Compute on so many threads in a `with` block, as it was opened if None; gives the number of `workers`."""

    def encode(self, text: str, origin: str) -> EncodedLine:
        """Segment a raw line; `origin` is its name in a warning."""

    def batch(self, lines: Sequence[EncodedLine]) -> SourceBatch:
        """Pad lines for a search or for forced decoding."""

    def typing_errors(self, text: str) -> list[TypingError]:
        """The words of a raw line that are read as others, by the first model of an ensemble."""

    def copied_words(self, text: str, line: EncodedLine) -> list[Span]:
        """The words of a raw line that may be copied in place of an unknown word."""


def engine_workers(engine: Engine) -> int:
    """The number of calls that an engine can compute at once."""
    return engine.workers if isinstance(engine, ConcurrentEngine) else 1


@contextmanager
def engine_threads(engines: Sequence[Engine], count: int | None) -> Iterator[int]:
    """Let engines compute on `count` threads in a `with` block, None: as many as they were opened with.

    Yields the number of calls that may be made at once.
    """
    with ExitStack() as blocks:
        for engine in engines:
            if count is not None and isinstance(engine, ThreadedEngine):
                blocks.enter_context(engine.threads(count))
        concurrent = all(isinstance(engine, ConcurrentEngine) for engine in engines)
        yield count if count is not None and concurrent else min(map(engine_workers, engines))


class ModelSourceEncoder:
    """The source side of one model."""

    def __init__(self, engine: Engine, side: TextSide) -> None:
        self._engine = engine
        self._side = side
        self._truncate = Truncator()

    @property
    def attention_shift(self) -> int:
        return self._engine.attention_shift

    @property
    def attends(self) -> bool:
        return self._engine.attends

    @property
    def workers(self) -> int:
        return engine_workers(self._engine)

    def threads(self, count: int | None) -> AbstractContextManager[int]:
        return engine_threads([self._engine], count)

    def encode(self, text: str, origin: str) -> EncodedLine:
        encoded = self._truncate(self._side.encode(text), origin)
        return EncodedLine((encoded,), encoded.pieces, encoded.offsets)

    def batch(self, lines: Sequence[EncodedLine]) -> SourceBatch:
        source, lengths = pad_sources(self._engine, [line.parts[0].ids for line in lines])
        return SourceBatch(self._engine, source, lengths, lengths - int(self._engine.source_eos))

    def typing_errors(self, text: str) -> list[TypingError]:
        return self._side.typing_errors(text)

    def copied_words(self, text: str, line: EncodedLine) -> list[Span]:
        """Segments where these are words; otherwise the words between spaces, without punctuation around them."""
        if isinstance(
            innermost(self._side.segmentation), (SubwordSegmentation, CharacterSegmentation, LetterSegmentation)
        ):
            return bare_words(text)
        return line.offsets


class Truncator:
    """Truncates lines that are too long for a model, with a warning for the first one."""

    def __init__(self) -> None:
        self._warned = False

    def __call__(self, encoded: Encoded, origin: str) -> Encoded:
        """The first `MAX_SEGMENTS` segments of a line; `origin` is its name in the warning."""
        segments = len(encoded.ids)
        if segments <= MAX_SEGMENTS:
            return encoded
        if not self._warned:
            log.warning(
                "%s has %d segments; such a line is truncated to its first %d (reported once)",
                origin,
                segments,
                MAX_SEGMENTS,
            )
            self._warned = True
        pieces = encoded.pieces[:MAX_SEGMENTS]
        items = encoded.items[: sum(piece in NAMES for piece in pieces)]
        return encoded._replace(
            ids=encoded.ids[:MAX_SEGMENTS], pieces=pieces, offsets=encoded.offsets[:MAX_SEGMENTS], items=items
        )


def pad_sources(engine: Engine, sources: Sequence[Sequence[int]]) -> Padded:
    """Source ids without EOS -> `source` [B, S] and lengths [B] as `engine` reads them.

    A model that reads no EOS reads one unknown word in place of an empty line, because a recurrent encoder has no state
    for an empty sequence.
    """
    if engine.source_eos:
        return pad(sources, eos=True)
    return pad([ids or [UNK] for ids in sources])
