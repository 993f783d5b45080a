"""Stochastic beam search: translations drawn from the model without replacement (Kool et al. 2019).

To the log-probability of every translation Gumbel noise is added, and the K translations with the largest sums are K
draws without replacement, in this order. They are found without enumerating all translations: the largest sum of any
translation with a given prefix is drawn with the prefix (its own log-probability plus noise), and the sums of its
continuations are drawn on the condition that the largest of them is that sum. So a beam of the K largest sums, ended
translations included, loses none. The first draw is distributed like a plain sample; the first k of K draws are those
of k.

Noise follows from the seed, the number of the line, the step, the place in the beam and the symbol alone (sampling.py).

Letters: B sentences of a batch, S source length, R rows (live prefixes), L segments of each, k continuations, V
vocabulary, K draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine
from dragoman.memory import require_rows
from dragoman.search.constraints import BatchConstraints, Continuations, RowTokens, append_tokens
from dragoman.search.hypothesis import End, History, Hypothesis, end_log_probabilities
from dragoman.search.normalisation import Normalisation
from dragoman.search.sampling import drawing_weights, uniform
from dragoman.text.vocabulary import BOS, EOS


@dataclass(frozen=True, slots=True, eq=False)
class LivePrefixes:
    """The prefixes that are still growing, sentence by sentence, the largest sum of each sentence first."""

    sentences: NDArray[np.int64]
    """[R] places in the batch."""
    places: NDArray[np.int64]
    """[R] places in the beam, those of ended translations counted."""
    sums: NDArray[np.float64]
    """[R] log-probability plus noise: the largest sum of any translation with this prefix."""
    drawn: NDArray[np.float64]
    """[R] log-probability under the distribution that is drawn from: the model's, modified as `Sampling` states."""
    log_probabilities: NDArray[np.float64]
    """[R] log-probability under the model itself."""
    length: int
    """L"""
    words: RowTokens
    """[R, L] the segments of each, if a constraint needs them."""


class _DrawnCandidate(NamedTuple):
    """A prefix of the next step, or a translation that has ended."""

    sum: float
    drawn: float
    log_probability: float
    row: int
    token: int
    end: End | None


def stochastic_beam_search(
    engine: Engine,
    source: NDArray[np.int64],
    source_lengths: NDArray[np.int64],
    config: SearchConfig,
    sampling: Sampling,
    lines: NDArray[np.int64],
    count: int = 1,
    constraints: BatchConstraints | None = None,
) -> list[list[Hypothesis]]:
    """`count` different translations of each source in the order drawn, fewer if there are no more.

    Arguments are as for `sample`. A translation that has not ended at the longest length is closed with EOS and marked
    `finished=False`.

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
    beams: list[list[_DrawnCandidate]] = [[] for _ in range(len(source))]
    everyone, zeros = np.arange(len(source), dtype=np.int64), np.zeros(len(source))
    first_words = constraints.first_words(len(source))
    prefixes = LivePrefixes(everyone, np.zeros_like(everyone), zeros, zeros, zeros, 0, first_words)
    state, parents = engine.start(source, source_lengths), everyone
    tokens = np.full(len(source), BOS, dtype=np.int64)
    while len(parents):
        length = prefixes.length
        step_constraints = constraints.at_step(prefixes.sentences, length, prefixes.words)
        step = engine.step(state, parents, tokens, engine.vocabulary_size)
        history.append(parents, tokens, prefixes.log_probabilities, step.attention)
        continuations = step_constraints.permitted(step)
        drawn, sums = _continued(prefixes, continuations, sampling, lines)
        ends = end_log_probabilities(step)
        for sentence, rows in _rows_by_sentence(prefixes.sentences):
            beam = [kept for kept in beams[sentence] if kept.end is not None]
            for row in rows:
                if length == constraints.longest[sentence] or not np.isfinite(sums[row]).any():
                    beam.append(_closed(prefixes, continuations, sums, row, float(ends[row]), normalisation))
                else:
                    beam += _best_children(prefixes, continuations, drawn, sums, row, count, normalisation)
            beams[sentence] = sorted(beam, key=lambda kept: -kept.sum)[:count]
        prefixes, parents, tokens = _next(prefixes, beams)
        state = step.state
    found = [[kept.end for kept in beam if kept.end is not None] for beam in beams]
    return history.rebuild(found, source_lengths)


def _continued(
    prefixes: LivePrefixes, continuations: Continuations, sampling: Sampling, lines: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The log-probability drawn from and the sum of each continuation, [R, k] each; -inf if it cannot be drawn."""
    weights = drawing_weights(continuations, sampling)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.log(weights) - np.log(weights.sum(axis=1, keepdims=True))
    drawn = prefixes.drawn[:, None] + np.where(weights > 0, shares, -np.inf)
    keys = prefixes.places[:, None] * (1 << 32) + continuations.tokens
    own_lines = np.broadcast_to(lines[prefixes.sentences][:, None], keys.shape)
    even = np.maximum(uniform(sampling.seed, own_lines, keys, prefixes.length), 2.0**-53)
    noisy = drawn - np.log(-np.log(even))
    return drawn, _conditioned(noisy, prefixes.sums[:, None])


def _conditioned(noisy: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums [R, k] moved so that the largest of each row is `largest` [R, 1]: Kool et al. 2019, appendix B.3.

    -log(exp(-T) - exp(-Z) + exp(-G)) for sums G, their largest Z and the wanted largest T, without overflow.
    """
    own = noisy.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        v = largest - noisy + np.log1p(-np.exp(noisy - own))
        moved = largest - np.maximum(0.0, v) - np.log1p(np.exp(-np.abs(v)))
    return np.where(noisy > -np.inf, moved, -np.inf)


def _rows_by_sentence(sentences: NDArray[np.int64]) -> list[tuple[int, range]]:
    """Each sentence that is still searching, with its rows."""
    names, first, counts = np.unique(sentences, return_index=True, return_counts=True)
    return [(int(name), range(start, start + n)) for name, start, n in zip(names, first, counts, strict=True)]


def _best_children(
    prefixes: LivePrefixes,
    continuations: Continuations,
    drawn: NDArray[np.float64],
    sums: NDArray[np.float64],
    row: int,
    count: int,
    normalisation: Normalisation,
) -> list[_DrawnCandidate]:
    """The continuations of a prefix that can be among the `count` largest."""
    children = []
    for column in np.argsort(-sums[row], kind="stable")[:count].tolist():
        if sums[row, column] == -np.inf:
            break
        token = int(continuations.tokens[row, column])
        total = float(prefixes.log_probabilities[row] + continuations.log_probabilities[row, column])
        length = prefixes.length
        end = None
        if token == EOS:
            end = End(float(normalisation.score(total, length + 1)), total, length, row, True)
        children.append(_DrawnCandidate(float(sums[row, column]), float(drawn[row, column]), total, row, token, end))
    return children


def _closed(
    prefixes: LivePrefixes,
    continuations: Continuations,
    sums: NDArray[np.float64],
    row: int,
    end_log_probability: float,
    normalisation: Normalisation,
) -> _DrawnCandidate:
    """A prefix at the longest length: it is closed here, and finished if EOS would have been drawn."""
    total, length = float(prefixes.log_probabilities[row]) + end_log_probability, prefixes.length
    best = int(sums[row].argmax())
    finished = bool(sums[row, best] > -np.inf and continuations.tokens[row, best] == EOS)
    end = End(float(normalisation.score(total, length + 1)), total, length, row, finished)
    return _DrawnCandidate(float(prefixes.sums[row]), float(prefixes.drawn[row]), total, row, EOS, end)


def _next(
    prefixes: LivePrefixes, beams: list[list[_DrawnCandidate]]
) -> tuple[LivePrefixes, NDArray[np.int64], NDArray[np.int64]]:
    """The prefixes of the next step, the rows that they continue and the symbols that they read."""
    going = [
        (sentence, place, kept)
        for sentence, beam in enumerate(beams)
        for place, kept in enumerate(beam)
        if kept.end is None
    ]
    rows = np.array([kept.row for _, _, kept in going], dtype=np.int64)
    tokens = np.array([kept.token for _, _, kept in going], dtype=np.int64)
    after = LivePrefixes(
        sentences=np.array([sentence for sentence, _, _ in going], dtype=np.int64),
        places=np.array([place for _, place, _ in going], dtype=np.int64),
        sums=np.array([kept.sum for _, _, kept in going]),
        drawn=np.array([kept.drawn for _, _, kept in going]),
        log_probabilities=np.array([kept.log_probability for _, _, kept in going]),
        length=prefixes.length + 1,
        words=append_tokens(prefixes.words, rows, tokens),
    )
    return after, rows, tokens
