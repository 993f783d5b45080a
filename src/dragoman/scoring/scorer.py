"""Forced decoding: scores and alignments of given translations by a model or an ensemble.

Results are in the order of the input, which is read window by window, so that memory does not grow with its length.
The score of a translation found by search equals the log-probability that search reported, if the segmentation of its
text gives the same segments.

Blank lines are scored, too. A blank target is EOS alone. A blank source is EOS alone if the model reads EOS, else
one unknown word. A side with more than `MAX_SEGMENTS` segments is truncated with one warning a side: the
score is then that of the truncated pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import tee
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import (
    WordWeights,
    eos_weights,
    extract_links,
    heaviest_links,
    segment_weights,
    segments_alone,
    word_weights,
)
from dragoman.alignment.symmetrize import DEFAULT_METHOD, SymmetrizationMethod, symmetrize
from dragoman.engines.protocol import Engine, ForcedScores, SharedSourceEngine, refuse_nan
from dragoman.scoring.given_targets import GivenTarget, TokenScores, log_probability, prefix_batches, split_rows
from dragoman.text.links import Link
from dragoman.text.padding import pad
from dragoman.text.side import Encoded, TextSide
from dragoman.text.words import UNITS, AlignmentUnit
from dragoman.translation.ensemble import Ensemble
from dragoman.translation.length_batching import LengthBatches, WorkerThreads, read_windows
from dragoman.translation.source_encoding import EncodedLine, ModelSourceEncoder, SourceEncoder, Truncator

MAX_PAIRS = 128
"""Pairs of a batch."""
WINDOW_TARGETS = 1024
"""Targets whose sources are encoded together; a source with more targets has a window of its own."""


@dataclass(frozen=True, eq=False)
class ScoredPair:
    """The probability of one target given its source, with the alignment weights.

    >>> [scored] = dragoman.open_run("RUN").scorer().score([("ab", "AB")])
    >>> scored.target_tokens, scored.token_log_probabilities.shape, scored.attention.shape
    (['A', 'B'], (3,), (3, 3))
    """

    log_probability: float
    """Natural logarithm of the probability of the target given the source, EOS included."""
    token_log_probabilities: TokenScores
    """[T + 1] its terms: each target segment, then EOS."""
    source_tokens: list[str]
    """S source segments; for an ensemble the words of the line."""
    target_tokens: list[str]
    """T target segments."""
    attention: NDArray[np.float32] | None
    """[T + 1, S], or [T + 1, S + 1] if the model reads EOS; None for a model without attention."""
    centres: NDArray[np.float32] | None
    """[T + 1] p_t, the centre of each row's window; None where attention is not local."""
    compute_weights: Callable[[AlignmentUnit], WordWeights | None] = field(repr=False)
    """Computes the weights between units of the two lines; None for a model without attention."""

    @cached_property
    def word_weights(self) -> WordWeights | None:
        """The weights between the words of the raw lines; None for a model without attention.

        Computed when first used: not every caller needs them.
        """
        return self.compute_weights("words")

    @cached_property
    def alignment(self) -> list[Link]:
        """(source word, target word) between the words of the raw lines, from 0: one for each target word, none for a
        blank source or a model without attention."""
        return [] if self.word_weights is None else heaviest_links(self.word_weights)


def format_score(scored: ScoredPair, *, token_count: bool = False) -> str:
    """The log-probability as a line of text; with the number of target tokens, EOS included, after a tab."""
    line = f"{scored.log_probability:.6f}"
    return f"{line}\t{len(scored.token_log_probabilities)}" if token_count else line


class CandidateTranslations(NamedTuple):
    """A source line and given translations of it."""

    source: str
    targets: Sequence[str]


ListScorer = Callable[[Iterable[CandidateTranslations]], Iterator[list[TokenScores]]]
"""Scores the translations of each source, in their order."""


class _EncodedPair(NamedTuple):
    """A pair of raw lines and their segments."""

    source: str
    target: str
    source_line: EncodedLine
    target_line: Encoded


class Scorer:
    """A model, or an ensemble, and the text sides that belong to it; `Run.scorer` makes one.

    It computes the probability of given translations word by word (forced decoding), and searches for nothing.

    >>> scorer = dragoman.open_run("RUN").scorer()
    >>> right, wrong = scorer.score([("ab c", "AB C"), ("ab c", "AB D")])
    >>> right.log_probability > wrong.log_probability
    True
    """

    def __init__(self, engine: Engine, source: TextSide, target: TextSide) -> None:
        assert engine.vocabulary_size == len(target.vocabulary)
        self._encoder: SourceEncoder = ModelSourceEncoder(engine, source)
        self._target = target
        self._truncate = Truncator()

    @classmethod
    def of_ensemble(cls, ensemble: Ensemble, target: TextSide) -> Scorer:
        """The scorer of several models, which have one `target` side and are combined at every step."""
        scorer = cls(ensemble.members[0].engine, ensemble.sources[0], target)
        scorer._encoder = ensemble
        return scorer

    @property
    def attends(self) -> bool:
        """Whether the model has attention; of an ensemble, whether one of them has."""
        return self._encoder.attends

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[ScoredPair]:
        """Score each pair of raw lines (source, target), where few pairs share a source.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        numbered = enumerate(pairs, 1)
        with WorkerThreads(self._encoder.workers) as threads:
            for window in read_windows(numbered, lambda item: len(item[1][0]) + len(item[1][1])):
                encoded = [self._encode(number, *pair) for number, pair in window]
                lengths = [1 + max(pair.source_line.segments, len(pair.target_line.ids)) for pair in encoded]
                batches = LengthBatches(encoded, lengths, MAX_PAIRS, threads.workers)
                yield from batches.restore(list(threads.map_for(batches)(self._score_batch, batches)))

    def score_lists(self, lists: Iterable[CandidateTranslations]) -> Iterator[list[TokenScores]]:
        """Score the translations of each source, in their order: for n-best lists and phrase tables.

        Each source is encoded once, however many translations it has, and each distinct translation of it is scored
        once, together with those that share a prefix.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        with WorkerThreads(self._encoder.workers) as threads:
            # A source without translations takes memory too.
            for window in read_windows(lists, lambda one: 1 + len(one.targets), max_weight=WINDOW_TARGETS):
                yield from self._score_window(window, threads)

    def score_sources(self, lists: Iterable[CandidateTranslations]) -> Iterator[list[TokenScores]]:
        """Score the source of each list given each of its translations, by a model of the opposite direction.

        Each distinct translation of a source is read once.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        for_pairs, for_lists = tee(lists)
        scored = self.score((target, one.source) for one in for_pairs for target in dict.fromkeys(one.targets))
        for one in for_lists:
            by_target = {target: next(scored).token_log_probabilities for target in dict.fromkeys(one.targets)}
            yield [by_target[target] for target in one.targets]

    def _encode(self, number: int, source: str, target: str) -> _EncodedPair:
        """Segment and truncate both lines of pair `number`."""
        line = self._encoder.encode(source, f"source line {number}")
        encoded = self._target.encode(target, line.items, line.quotation)
        return _EncodedPair(source, target, line, self._truncate(encoded, f"target line {number}"))

    def _score_batch(self, batch: list[_EncodedPair]) -> list[ScoredPair]:
        engine, source, source_lengths, _ = self._encoder.batch([pair.source_line for pair in batch])
        target, target_lengths = pad([pair.target_line.ids for pair in batch], eos=True)
        forced = engine.force(source, source_lengths, target, target_lengths)
        refuse_nan(forced.log_probabilities)
        return [
            self._scored(pair, forced, row, columns=len(pair.source_line.pieces) + int(engine.source_eos))
            for row, pair in enumerate(batch)
        ]

    def _scored(self, pair: _EncodedPair, forced: ForcedScores, row: int, columns: int) -> ScoredPair:
        """A row of `forced` without padding; the attention has `columns`."""
        steps = len(pair.target_line.ids) + 1
        # Copies: views would keep the whole batch in memory.
        scores = forced.log_probabilities[row, :steps].copy()
        attention = None if forced.attention is None else forced.attention[row, :steps, :columns].copy()
        return ScoredPair(
            log_probability=log_probability(scores),
            token_log_probabilities=scores,
            source_tokens=pair.source_line.pieces,
            target_tokens=pair.target_line.pieces,
            attention=attention,
            centres=None if forced.centres is None else forced.centres[row, :steps].copy(),
            compute_weights=partial(_weights_between, pair, attention, self._encoder.attention_shift),
        )

    def _score_window(self, window: Sequence[CandidateTranslations], threads: WorkerThreads) -> list[list[TokenScores]]:
        distinct = [list(dict.fromkeys(one.targets)) for one in window]
        # Sorted by their number of translations, because an engine pads the rows of its sources to the largest number.
        order = sorted(range(len(window)), key=lambda number: len(distinct[number]))
        lines = [self._encoder.encode(window[number].source, "a source line") for number in order]
        targets = [
            GivenTarget(owner, text, self._truncate(encoded, "a target line").ids)
            for owner, number in enumerate(order)
            for text in distinct[number]
            for encoded in [self._target.encode(text, lines[owner].items, lines[owner].quotation)]
        ]
        sources = self._encoder.batch(lines)
        score: Callable[[list[GivenTarget]], list[TokenScores]]
        if isinstance(sources.engine, SharedSourceEngine):
            state = sources.engine.start(sources.source, sources.lengths)
            score = partial(_score_shared, sources.engine, state)
        else:
            score = partial(self._score_apart, lines)
        batches = list(prefix_batches(targets, sources.lengths.tolist(), threads.workers))
        scored: dict[tuple[int, str], TokenScores] = {}
        for batch, scores in zip(batches, list(threads.map_for(batches)(score, batches)), strict=True):
            scored.update(((order[target.owner], target.text), own) for target, own in zip(batch, scores, strict=True))
        return [[scored[number, text] for text in one.targets] for number, one in enumerate(window)]

    def _score_apart(self, lines: Sequence[EncodedLine], batch: list[GivenTarget]) -> list[TokenScores]:
        """Score targets with an engine that encodes the source of each target anew."""
        engine, source, source_lengths, _ = self._encoder.batch([lines[target.owner] for target in batch])
        target, lengths = pad([target.ids for target in batch], eos=True)
        return split_rows(engine.force(source, source_lengths, target, lengths).log_probabilities, lengths)


def _score_shared(engine: SharedSourceEngine, state: object, batch: list[GivenTarget]) -> list[TokenScores]:
    """Score targets with an engine whose `state` has the encoded sources."""
    owners = np.array([target.owner for target in batch], np.int64)
    target, lengths = pad([target.ids for target in batch], eos=True)
    return split_rows(engine.force_from(state, owners, target, lengths).log_probabilities, lengths)


def _weights_between(
    pair: _EncodedPair, attention: NDArray[np.float32] | None, shift: int, unit: AlignmentUnit
) -> WordWeights | None:
    """Weights between units from those of segments, [T + 1, S or S + 1]; None without them."""
    if attention is None:
        return None
    segments = len(pair.source_line.pieces)
    weights, end = segment_weights(attention, shift, segments), eos_weights(attention, shift, segments)
    if unit == "segments":
        return segments_alone(weights, end)
    split = UNITS[unit]
    return word_weights(
        weights, end, pair.source_line.offsets, split(pair.source), pair.target_line.offsets, split(pair.target)
    )


class AlignedPair(NamedTuple):
    """The links of a sentence pair."""

    links: list[Link]
    """(source unit, target unit), from 0."""
    weights: WordWeights
    """The weights between the units of both lines, from source to target."""
    scored: ScoredPair
    """The pair as the model from source to target scores it."""


class Aligner:
    """Aligns given translations by a model, or by two models of opposite directions.

    Each target unit is linked to the source unit with the largest weight, or to all whose weight reaches a threshold.
    """

    def __init__(
        self,
        forward: Scorer,
        backward: Scorer | None = None,
        *,
        unit: AlignmentUnit = "words",
        threshold: float | None = None,
        symmetrization: SymmetrizationMethod = DEFAULT_METHOD,
    ) -> None:
        """`backward` scores sources given targets; `symmetrization` joins the links of both directions."""
        assert forward.attends, "links need attention"
        assert backward is None or (backward.attends and unit != "segments"), "two models divide text in two ways"
        self._forward, self._backward = forward, backward
        self._unit, self._threshold, self._symmetrization = unit, threshold, symmetrization

    def align(self, pairs: Iterable[tuple[str, str]]) -> Iterator[AlignedPair]:
        """Align each pair of raw lines (source, target).

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        given, again = tee(pairs)
        ahead = self._links(self._forward, given)
        if self._backward is None:
            yield from ahead
            return
        back = self._links(self._backward, ((target, source) for source, target in again))
        for pair, reverse in zip(ahead, back, strict=True):
            turned = [(source, target) for target, source in reverse.links]
            yield pair._replace(links=symmetrize(pair.links, turned, self._symmetrization))

    def _links(self, scorer: Scorer, pairs: Iterable[tuple[str, str]]) -> Iterator[AlignedPair]:
        for scored in scorer.score(pairs):
            weights = scored.compute_weights(self._unit)
            assert weights is not None
            yield AlignedPair(extract_links(weights, self._threshold), weights, scored)
