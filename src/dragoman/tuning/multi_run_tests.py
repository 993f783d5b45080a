"""Paired significance tests between tuned weights, over several tuning runs of each system.

Tuning is random, so a system is represented by several runs, and its score is their mean (Clark et al. 2011). The tests
are those of `evaluation/significance.py`, on sufficient statistics instead of text: paired bootstrap (Koehn 2004)
resamples the test set, approximate randomisation (Riezler and Maxwell 2005) swaps the two systems in random sentences.
Both treat the outputs of all runs for a sentence as one observation, because they are not independent. With one run of
each system, a test compares the p-values with those of sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.pool import HypothesisPool, SufficientStatistics, TuningMetric, Vector

SAMPLES = 1000
"""Bootstrap samples."""
TRIALS = 10_000
"""Trials of approximate randomisation."""
SEED = 12345
_CHUNK = 500
"""Draws held in memory at a time."""


class Difference(NamedTuple):
    """Scores and p-values of two systems on the same sentences."""

    scores: Vector
    """[K] the score of each tuning run, 0-100; the runs of the system with fewer of them are repeated."""
    other_scores: Vector
    """[K]"""
    bootstrap_p: float
    """p-value of the difference of the means by paired bootstrap."""
    randomisation_p: float
    """p-value by approximate randomisation."""


def compare_weights(pool: HypothesisPool, weights: Sequence[Vector], others: Sequence[Vector]) -> Difference:
    """Compare the one-best hypotheses of some weight vectors with the ones of others, over the same lists."""
    ours, theirs = (np.stack([pool.statistics[pool.choose(vector)] for vector in group]) for group in (weights, others))
    return compare_statistics(ours, theirs, pool.metric)


def compare_statistics(ours: SufficientStatistics, theirs: SufficientStatistics, metric: TuningMetric) -> Difference:
    """Compare two systems by the sufficient statistics [runs, S, size] of their outputs for S sentences."""
    runs = np.arange(max(len(ours), len(theirs)))
    ours, theirs = ours[runs % len(ours)], theirs[runs % len(theirs)]
    scores, other_scores = (metric.score(each.sum(axis=1)) for each in (ours, theirs))
    seen = abs(float(scores.mean() - other_scores.mean()))
    if seen == 0:
        return Difference(scores, other_scores, 1.0, 1.0)
    return Difference(
        scores, other_scores, _bootstrap(ours, theirs, metric, seen), _randomisation(ours, theirs, metric, seen)
    )


def _bootstrap(ours: SufficientStatistics, theirs: SufficientStatistics, metric: TuningMetric, seen: float) -> float:
    """Share of resampled test sets whose difference deviates from the mean difference by more than `seen`."""
    random = np.random.default_rng(SEED)
    sentences = ours.shape[1]
    scores = []
    for count in _parts(SAMPLES):
        drawn = random.integers(sentences, size=(count, sentences))
        times = np.stack([np.bincount(one, minlength=sentences) for one in drawn]).astype(np.float64)
        scores.append(_mean_score(times @ ours, metric) - _mean_score(times @ theirs, metric))
    differences = np.abs(np.concatenate(scores))
    return _p_value(differences - differences.mean(), seen)


def _randomisation(
    ours: SufficientStatistics, theirs: SufficientStatistics, metric: TuningMetric, seen: float
) -> float:
    """Share of random swaps after which the systems differ by more than `seen`."""
    random = np.random.default_rng(SEED)
    sentences = ours.shape[1]
    differences = []
    for count in _parts(TRIALS):
        exchanged = random.integers(2, size=(count, sentences)).astype(np.float64)
        moved = exchanged @ (theirs - ours)  # [K, count, size]
        mine = _mean_score(ours.sum(axis=1)[:, None] + moved, metric)
        differences.append(mine - _mean_score(theirs.sum(axis=1)[:, None] - moved, metric))
    return _p_value(np.abs(np.concatenate(differences)), seen)


def _mean_score(sums: SufficientStatistics, metric: TuningMetric) -> NDArray[np.float64]:
    """[K, draws, size] -> [draws], the mean over the runs."""
    return np.asarray(metric.score(sums).mean(axis=0))


def _p_value(chance: NDArray[np.float64], seen: float) -> float:
    return float((np.sum(chance > seen) + 1) / (len(chance) + 1))


def _parts(count: int) -> list[int]:
    return [min(_CHUNK, count - start) for start in range(0, count, _CHUNK)]
