"""Forced decoding: how probable a model, or an ensemble, finds given translations, and how it aligns them.

As many answers come out as pairs go in, in the same order, and memory does not grow with their number. The score of
a translation that search returned equals the log-probability that search reported, if its text is segmented the way
the search wrote it.

Blank sides are scored too. A blank target is the end of sentence alone. A blank source is the end of sentence alone
where the model reads one, and otherwise one unknown word. Of a side with more than `LONGEST` segments only these
first ones are scored, with one warning a side: the number is then that of the shortened pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import WordWeights, eos_weights, heaviest_links, segment_weights, word_weights
from dragoman.engines.ensemble import Ensemble
from dragoman.engines.protocol import Engine, Forced, refuse_nan
from dragoman.text.links import Link
from dragoman.text.side import Encoded, TextSide, raw_words
from dragoman.text.vocabulary import EOS
from dragoman.translation.length_batching import Shortener, in_length_order, padded
from dragoman.translation.source_encoding import ModelReader, Read, Reader

SENTENCES = 64
"""Pairs of a batch."""


@dataclass(frozen=True, eq=False)
class Scored:
    """What the model says of one pair of lines."""

    log_probability: float
    """Natural logarithm of the probability of the target given the source, end of sentence included."""
    token_log_probabilities: NDArray[np.float32]
    """[T + 1] its terms: each target segment, then the end of sentence."""
    source_tokens: list[str]
    """S source segments; for an ensemble the words of the line."""
    target_tokens: list[str]
    """T target segments."""
    attention: NDArray[np.float32] | None
    """[T + 1, S], or [T + 1, S + 1] if the model reads an end of sentence; None for a model without attention."""
    centres: NDArray[np.float32] | None
    """[T + 1] p_t, the centre of the window that each of those rows looked at; None where attention is not local."""
    alignment: list[Link]
    """(source word, target word) between the words of the raw lines, from 0: one for each target word, none for a
    blank source or a model without attention."""
    word_weights: WordWeights | None
    """The weights between those words that `alignment` follows from; None for a model without attention."""


class _Pair(NamedTuple):
    """A pair on its way."""

    source: str
    target: str
    read: Read
    """The source."""
    written: Encoded
    """The target."""


class Scorer:
    """A model and the text sides that belong to it."""

    def __init__(self, engine: Engine, source: TextSide, target: TextSide) -> None:
        assert engine.vocabulary_size == len(target.vocabulary)
        self._reader: Reader = ModelReader(engine, source)
        self._target = target
        self._shorten = Shortener()

    @classmethod
    def of_ensemble(cls, ensemble: Ensemble, target: TextSide) -> Scorer:
        """The scorer of several models, which have one `target` side: what they say together at every step."""
        first = ensemble.members[0]
        scorer = cls(first.engine, first.source, target)
        scorer._reader = ensemble
        return scorer

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """For each pair of raw lines (source, target) what the model says of it.

        Raises:
            RunError: the model's answers are not numbers.
        """
        return in_length_order(
            (self._prepare(number, *pair) for number, pair in enumerate(pairs, 1)),
            self._score_batch,
            length=lambda pair: 1 + max(pair.read.segments, len(pair.written.ids)),
            characters=lambda pair: len(pair.source) + len(pair.target),
            sentences=SENTENCES,
            workers=self._reader.workers,
        )

    def _prepare(self, number: int, source: str, target: str) -> _Pair:
        """Cut both lines into segments, and off where they become too long for a model."""
        return _Pair(
            source,
            target,
            self._reader.read(source, f"source line {number}"),
            self._shorten(self._target.encode(target), f"target line {number}"),
        )

    def _score_batch(self, batch: list[_Pair]) -> list[Scored]:
        engine, source, source_lengths, _ = self._reader.batch([pair.read for pair in batch])
        target, target_lengths = padded([[*pair.written.ids, EOS] for pair in batch])
        forced = engine.force(source, source_lengths, target, target_lengths)
        refuse_nan(forced.log_probabilities)
        return [
            self._scored(pair, forced, row, columns=len(pair.read.pieces) + int(engine.source_eos))
            for row, pair in enumerate(batch)
        ]

    def _scored(self, pair: _Pair, forced: Forced, row: int, columns: int) -> Scored:
        """What is said in a row of `forced`, without padding; the attention has `columns`."""
        steps = len(pair.written.ids) + 1
        log_probabilities = forced.log_probabilities[row, :steps]
        # Copies: views would keep the numbers of the whole batch alive.
        attention = None if forced.attention is None else forced.attention[row, :steps, :columns].copy()
        words: WordWeights | None = None
        if attention is not None:
            shift, segments = self._reader.attention_shift, len(pair.read.pieces)
            words = word_weights(
                segment_weights(attention, shift, segments),
                eos_weights(attention, shift, segments),
                pair.read.offsets,
                raw_words(pair.source),
                pair.written.offsets,
                raw_words(pair.target),
            )
        return Scored(
            # Summed in double precision, as search sums.
            log_probability=float(log_probabilities.sum(dtype=np.float64)),
            token_log_probabilities=log_probabilities.copy(),
            source_tokens=pair.read.pieces,
            target_tokens=pair.written.pieces,
            attention=attention,
            centres=None if forced.centres is None else forced.centres[row, :steps].copy(),
            alignment=[] if words is None else heaviest_links(words),
            word_weights=words,
        )
