"""Sampling: translations drawn from the model's distribution, symbol by symbol.

A drawn symbol depends on the seed, the number of the line, the number of the sample and the step only, not on the
batch nor on the number of samples. So sample 3 of line 1,000 can be drawn again on its own.

Cho et al. 2014, Table 3, draws 50 samples of each phrase this way; GroundHog adds an inverse temperature.

Letters: B sentences of a batch, S source length, R rows (samples still growing), k continuations of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine
from dragoman.search.beam import step_engine
from dragoman.search.constraints import BatchConstraints, Continuations, RowTokens, append_tokens
from dragoman.search.hypothesis import End, History, Hypothesis, end_log_probabilities
from dragoman.search.normalisation import Normalisation
from dragoman.systems import require_rows
from dragoman.text.vocabulary import BOS, EOS

Sample = TypeVar("Sample")

ROUNDS = 20
"""A sentence whose draws are not different after so many rounds gets fewer samples."""


@dataclass(frozen=True, slots=True, eq=False)
class GrowingSamples:
    """The samples that are still growing; rows keep their order, so those of a sentence stay together."""

    length: int
    """Segments in each."""
    sentences: NDArray[np.int64]
    """[R] indices in the batch."""
    numbers: NDArray[np.int64]
    """[R] the number of each among the samples of its sentence."""
    log_probabilities: NDArray[np.float64]
    """[R] totals so far."""
    words: RowTokens
    """[R, length] the segments of each, if a constraint needs them."""


def sample(
    engine: Engine,
    source: NDArray[np.int64],
    source_lengths: NDArray[np.int64],
    config: SearchConfig,
    sampling: Sampling,
    lines: NDArray[np.int64],
    count: int = 1,
    constraints: BatchConstraints | None = None,
    first: int = 0,
) -> list[list[Hypothesis]]:
    """Draw `count` translations of each source, in the order drawn; they may repeat.

    `source` [B, S] and `source_lengths` [B] are as the engine reads them; `lines` [B] are the numbers that key the
    draws, together with the numbers of the samples, which count from `first`. `config` gives the length limits, blocked
    symbols and n-grams, and the normalisation; without `constraints` those of `config` apply, and they contain no
    phrases. A sample that has not ended at the longest length is closed with EOS and marked `finished=False`.

    Raises:
        RunError: the model's log-probabilities are NaN.
    """
    require_rows(count, engine.vocabulary_size, "a number of samples")
    if constraints is None:
        constraints = BatchConstraints.from_config(
            config, engine.vocabulary_size, source_lengths - int(engine.source_eos)
        )
    normalisation = Normalisation.from_config(config)
    history = History()
    ends: list[list[End | None]] = [[None] * count for _ in range(len(source))]
    samples = _first_samples(len(source), first, count, constraints)
    state, parents = engine.start(source, source_lengths), np.arange(len(source), dtype=np.int64)
    tokens = np.full(len(source), BOS, dtype=np.int64)
    # All samples of a sentence begin from its one row of the first step; later each has a row of its own.
    rows = samples.sentences
    while len(samples.sentences):
        at_limit = constraints.longest[samples.sentences] == samples.length  # [R]
        words = None if samples.words is None else samples.words[: len(parents)]
        step_constraints = constraints.at_step(
            samples.sentences if samples.length else np.arange(len(source)), samples.length, words
        )
        every = sampling.top_k is None or at_limit.any()
        wanted = engine.vocabulary_size if every else sampling.top_k or 0
        step = step_engine(engine, state, parents, tokens, step_constraints, wanted)
        totals = samples.log_probabilities if samples.length else np.zeros(len(source))
        history.append(parents, tokens, totals, step.attention)
        continuations = step_constraints.permitted(step)
        drawn, gained = _draw(continuations, rows, samples, sampling, lines)
        finishes = drawn == EOS
        closes = ~finishes & (at_limit | (drawn < 0))
        gained = np.where(closes, end_log_probabilities(step)[rows], gained)
        totals = samples.log_probabilities + gained
        scores = normalisation.score(totals, samples.length + 1)
        for index in np.flatnonzero(finishes | closes).tolist():
            ends[samples.sentences[index]][samples.numbers[index] - first] = End(
                float(scores[index]), float(totals[index]), samples.length, int(rows[index]), bool(finishes[index])
            )
        going = np.flatnonzero(~(finishes | closes))
        samples = GrowingSamples(
            samples.length + 1,
            samples.sentences[going],
            samples.numbers[going],
            totals[going],
            append_tokens(samples.words, going, drawn[going]),
        )
        state, parents, tokens = step.state, rows[going], drawn[going]
        rows = np.arange(len(going), dtype=np.int64)
    return history.rebuild([[end for end in sentence if end is not None] for sentence in ends], source_lengths)


def draw_until_different(
    draw: Callable[[Sequence[int], int], list[list[Sample]]],
    key: Callable[[Sample], Hashable],
    sentences: int,
    count: int,
) -> list[list[Sample]]:
    """Draw samples in rounds until each sentence has `count` with different keys.

    `draw(indices, first)` draws `count` samples, numbered from `first`, of each sentence at `indices`. One that was
    drawn before is left out. A sentence gets fewer samples if it lacks some after `ROUNDS` rounds. So the first k of
    its samples are those that it gets when k are drawn.
    """
    different: list[dict[Hashable, Sample]] = [{} for _ in range(sentences)]
    for first in range(0, ROUNDS * count, count):
        lacking = [index for index, drawn in enumerate(different) if len(drawn) < count]
        if not lacking:
            break
        for index, samples in zip(lacking, draw(lacking, first), strict=True):
            for one in samples:
                different[index].setdefault(key(one), one)
    return [list(drawn.values())[:count] for drawn in different]


def _first_samples(sentences: int, first: int, count: int, constraints: BatchConstraints) -> GrowingSamples:
    """`count` empty samples for each sentence, numbered from `first`."""
    return GrowingSamples(
        0,
        np.repeat(np.arange(sentences, dtype=np.int64), count),
        np.tile(np.arange(first, first + count, dtype=np.int64), sentences),
        np.zeros(sentences * count),
        constraints.first_words(sentences * count),
    )


def _draw(
    continuations: Continuations,
    rows: NDArray[np.int64],
    samples: GrowingSamples,
    sampling: Sampling,
    lines: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The next symbol of each sample, [R], and its log-probability; -1 where nothing is permitted."""
    cumulative = np.cumsum(_drawing_weights(continuations, sampling), axis=1)[rows]  # [R, k]
    total = cumulative[:, -1]
    position = uniform(sampling.seed, lines[samples.sentences], samples.numbers, samples.length) * total
    choice = (cumulative > position[:, None]).argmax(axis=1)  # the first symbol whose share reaches beyond
    tokens = np.where(total > 0, continuations.tokens[rows, choice], -1)
    return tokens, continuations.log_probabilities[rows, choice]


def _drawing_weights(continuations: Continuations, sampling: Sampling) -> NDArray[np.float64]:
    """[R, k] the weights that symbols are drawn by, in the order of `continuations`; not normalised."""
    largest = continuations.log_probabilities.max(axis=1, keepdims=True)
    below = continuations.log_probabilities - np.where(largest > -np.inf, largest, 0.0)
    with np.errstate(over="ignore"):  # with a tiny temperature all but the largest become exp(-inf) = 0, as they should
        weights = np.exp(below / sampling.temperature)
    if sampling.top_k is not None:
        weights[np.cumsum(weights > 0, axis=1) > sampling.top_k] = 0.0
    if sampling.top_p is not None:
        before = np.cumsum(weights, axis=1) - weights
        weights[before >= sampling.top_p * weights.sum(axis=1, keepdims=True)] = 0.0
    return np.asarray(weights, dtype=np.float64)


def uniform(seed: int, lines: NDArray[np.int64], numbers: NDArray[np.int64], length: int) -> NDArray[np.float64]:
    """[R] numbers in [0, 1) that follow from their keys alone.

    The keys are hashed into one word, one after the other, by the finaliser of SplitMix64 (Steele, Lea and Flood
    2014). A numpy generator for each key would do as well, but takes 10 microseconds a row.
    """
    word = np.zeros(lines.shape, dtype=np.uint64)
    for key in (
        np.uint64(seed & 0xFFFFFFFFFFFFFFFF),
        lines.astype(np.uint64),
        numbers.astype(np.uint64),
        np.uint64(length),
    ):
        word = _mix((word ^ key) + np.uint64(0x9E3779B97F4A7C15))
    # 52 bits, so that the largest number times a total stays below that total after rounding.
    return np.asarray((word >> np.uint64(12)) * 2.0**-52, dtype=np.float64)


def _mix(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each word; arithmetic is modulo 2^64."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
