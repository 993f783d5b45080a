"""Forced decoding of many translations of each source: what n-best lists and phrase tables ask for.

Each source is encoded once, however many translations it has, and each distinct translation of it is scored once, all
of a source together: an engine may do once what begins alike.
Answers come in the order of what is asked, a window of the stream at a time. Not here: alignments of given
translations (`forced.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import Engine, Forced, SharingEngine, refuse_nan
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS
from dragoman.translation.length_batching import Shortener, in_length_order, mapping, padded, source_batch
from dragoman.translation.source_encoding import workers

ROWS = 1024
"""Translations of a batch."""
CELLS = 1 << 16
"""Translations of a batch times segments of its longest source or translation: what attention takes memory for."""
PAIRS = 128
"""Of a batch, where few pairs share a source."""
MANY = 64
"""Translations that are worth a batch of their own, where several batches are worked on at once."""
WINDOW = 1024
"""Translations whose sources are encoded together; a source with more has a window of its own."""

TokenScores = NDArray[np.float32]
"""[T + 1] natural logarithms of the probability of each target segment, then of the end of sentence."""


class Translations(NamedTuple):
    """A source line and given translations of it."""

    source: str
    targets: Sequence[str]


class _Row(NamedTuple):
    """One distinct translation of source number `owner` in the order of encoding."""

    owner: int
    text: str
    ids: list[int]


class Rescorer:
    """A model and the text sides that belong to it."""

    def __init__(self, engine: Engine, source: TextSide, target: TextSide) -> None:
        assert engine.vocabulary_size == len(target.vocabulary)
        self._engine = engine
        self._source = source
        self._target = target
        self._shorten = Shortener()

    def score(self, sentences: Iterable[Translations]) -> Iterator[list[TokenScores]]:
        """For each source the scores of its translations, in their order.

        Raises:
            RunError: the model's answers are not numbers.
        """
        with mapping(workers(self._engine)) as at_once:
            for window in _windows(sentences):
                found = self._score_window(window, at_once)
                for number, sentence in enumerate(window):
                    yield [found[number, text] for text in sentence.targets]

    def score_pairs(self, pairs: Iterable[tuple[str, str]]) -> Iterator[TokenScores]:
        """For each (source, target) the scores of the target; for pairs of which few share a source.

        Raises:
            RunError: the model's answers are not numbers.
        """
        return in_length_order(
            ((self._ids(self._source, source), self._ids(self._target, target)) for source, target in pairs),
            self._score_batch,
            length=lambda pair: 1 + max(map(len, pair)),
            characters=lambda pair: sum(map(len, pair)),
            sentences=PAIRS,
            workers=workers(self._engine),
        )

    def _ids(self, side: TextSide, line: str) -> list[int]:
        return self._shorten(side.encode(line), "a line").ids

    def _score_batch(self, batch: list[tuple[list[int], list[int]]]) -> list[TokenScores]:
        target, lengths = padded([[*ids, EOS] for _, ids in batch])
        forced = self._engine.force(*source_batch(self._engine, [ids for ids, _ in batch]), target, lengths)
        return _token_scores(forced, lengths)

    def _score_window(
        self, window: Sequence[Translations], at_once: Callable[..., Iterable[list[TokenScores]]]
    ) -> dict[tuple[int, str], TokenScores]:
        """Scores by number of the source in the window and text of the translation; `at_once` is a `map`."""
        distinct = [list(dict.fromkeys(sentence.targets)) for sentence in window]
        # Sources with about as many translations beside each other: an engine lays them out as wide as the widest.
        order = sorted(range(len(window)), key=lambda number: len(distinct[number]))
        rows = [
            _Row(place, text, self._ids(self._target, text))
            for place, number in enumerate(order)
            for text in distinct[number]
        ]
        sources = [self._ids(self._source, window[number].source) for number in order]
        source, lengths = source_batch(self._engine, sources)
        state = self._engine.start(source, lengths) if isinstance(self._engine, SharingEngine) else None

        def score(batch: list[_Row]) -> list[TokenScores]:
            owners = np.array([row.owner for row in batch], np.int64)
            target, target_lengths = padded([[*row.ids, EOS] for row in batch])
            if isinstance(self._engine, SharingEngine):
                forced = self._engine.force_from(state, owners, target, target_lengths)
            else:
                forced = self._engine.force(source[owners], lengths[owners], target, target_lengths)
            return _token_scores(forced, target_lengths)

        most = min(ROWS, max(MANY, -(-len(rows) // workers(self._engine))))
        batches = list(_batches(rows, lengths, most))
        found: dict[tuple[int, str], TokenScores] = {}
        for batch, scores in zip(batches, at_once(score, batches), strict=True):
            found.update(((order[row.owner], row.text), one) for row, one in zip(batch, scores, strict=True))
        return found


def _token_scores(forced: Forced, lengths: NDArray[np.int64]) -> list[TokenScores]:
    refuse_nan(forced.log_probabilities)
    return [row[:length].copy() for row, length in zip(forced.log_probabilities, lengths, strict=True)]


def _windows(sentences: Iterable[Translations]) -> Iterator[list[Translations]]:
    window: list[Translations] = []
    waiting = 0
    for sentence in sentences:
        window.append(sentence)
        waiting += 1 + len(sentence.targets)  # a source without translations weighs something too
        if waiting >= WINDOW:
            yield window
            window, waiting = [], 0
    if window:
        yield window


def _batches(rows: Sequence[_Row], source_lengths: NDArray[np.int64], most: int) -> Iterator[list[_Row]]:
    """At most `most` rows of one source together, and where they must part, those that begin alike beside each other.

    A batch ends before a source whose width would make most of the layout empty.
    """
    widths = Counter(row.owner for row in rows)
    batch: list[_Row] = []
    longest = owners = 0
    for row in sorted(rows, key=lambda row: (row.owner, row.ids)):
        length = max(len(row.ids) + 1, int(source_lengths[row.owner]))
        begins = not batch or batch[-1].owner != row.owner
        sparse = begins and (owners + 1) * widths[row.owner] > 2 * (len(batch) + widths[row.owner])
        if batch and (sparse or len(batch) == most or (len(batch) + 1) * max(longest, length) > CELLS):
            yield batch
            batch, longest, owners, begins = [], 0, 0, True
        longest, owners = max(longest, length), owners + begins
        batch.append(row)
    if batch:
        yield batch


def log_probability(scores: TokenScores) -> float:
    """Natural logarithm of the probability of a whole translation, end of sentence included."""
    return float(scores.sum(dtype=np.float64))


def mean_log_probability(scores: TokenScores) -> float:
    """The same divided by the number of segments, end of sentence counted (GroundHog's normalisation)."""
    return log_probability(scores) / len(scores)
