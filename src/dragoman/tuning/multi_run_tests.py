"""Whether tuned weights choose really better than others: paired tests over runs of tuning.

Tuning is random too, so a system is several runs of it, and its score their mean (Clark et al. 2011). The tests are
those of `evaluation/significance.py`, on statistics instead of text: paired bootstrap (Koehn 2004) draws test sets out
of this one, approximate randomisation (Riezler and Maxwell 2005) lets the two systems change places in a sentence at
random. In both a sentence goes with the choices of all its runs: these are no independent observations. With one run
a side, a test holds the p-values to sacreBLEU's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.pool import Pool, Vector
from dragoman.tuning.tuning_metric import Objective, Statistics

SAMPLES = 1000
"""Test sets of the bootstrap."""
TRIALS = 10_000
"""Random exchanges."""
SEED = 12345
_TOGETHER = 500
"""Draws that are in memory at a time."""


class Difference(NamedTuple):
    """Two systems on the same sentences."""

    scores: Vector
    """[K] the score of each run of tuning, 0-100; the system with fewer runs begins anew with its first."""
    other_scores: Vector
    """[K]"""
    bootstrap_p: float
    """p-value of the difference of the means, by paired bootstrap."""
    randomisation_p: float
    """By approximate randomisation."""


def compare_weights(pool: Pool, weights: Sequence[Vector], others: Sequence[Vector]) -> Difference:
    """What several weights choose from the same lists, against what others choose."""
    ours, theirs = (np.stack([pool.statistics[pool.choose(vector)] for vector in group]) for group in (weights, others))
    return compare_statistics(ours, theirs, pool.objective)


def compare_statistics(ours: Statistics, theirs: Statistics, objective: Objective) -> Difference:
    """Statistics [runs, S, size] of what two systems say for each of S sentences."""
    runs = np.arange(max(len(ours), len(theirs)))
    ours, theirs = ours[runs % len(ours)], theirs[runs % len(theirs)]
    scores, other_scores = (objective.score(each.sum(axis=1)) for each in (ours, theirs))
    seen = abs(float(scores.mean() - other_scores.mean()))
    if seen == 0:
        return Difference(scores, other_scores, 1.0, 1.0)
    return Difference(
        scores, other_scores, _bootstrap(ours, theirs, objective, seen), _randomisation(ours, theirs, objective, seen)
    )


def _bootstrap(ours: Statistics, theirs: Statistics, objective: Objective, seen: float) -> float:
    """How often the difference of a drawn test set is further from their mean than `seen` is from 0."""
    random = np.random.default_rng(SEED)
    sentences = ours.shape[1]
    found = []
    for count in _parts(SAMPLES):
        drawn = random.integers(sentences, size=(count, sentences))
        times = np.stack([np.bincount(one, minlength=sentences) for one in drawn]).astype(np.float64)
        found.append(_mean_score(times @ ours, objective) - _mean_score(times @ theirs, objective))
    differences = np.abs(np.concatenate(found))
    return _p_value(differences - differences.mean(), seen)


def _randomisation(ours: Statistics, theirs: Statistics, objective: Objective, seen: float) -> float:
    """How often systems whose sentences were exchanged at random differ more."""
    random = np.random.default_rng(SEED)
    sentences = ours.shape[1]
    found = []
    for count in _parts(TRIALS):
        exchanged = random.integers(2, size=(count, sentences)).astype(np.float64)
        moved = exchanged @ (theirs - ours)  # [K, count, size]
        mine = _mean_score(ours.sum(axis=1)[:, None] + moved, objective)
        found.append(mine - _mean_score(theirs.sum(axis=1)[:, None] - moved, objective))
    return _p_value(np.abs(np.concatenate(found)), seen)


def _mean_score(sums: Statistics, objective: Objective) -> NDArray[np.float64]:
    """[K, draws, size] -> [draws], the mean over the runs."""
    return np.asarray(objective.score(sums).mean(axis=0))


def _p_value(chance: NDArray[np.float64], seen: float) -> float:
    return float((np.sum(chance > seen) + 1) / (len(chance) + 1))


def _parts(count: int) -> list[int]:
    return [min(_TOGETHER, count - start) for start in range(0, count, _TOGETHER)]
