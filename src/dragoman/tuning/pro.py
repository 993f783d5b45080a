"""Pairwise ranked optimisation (Hopkins and May 2011): weights that order pairs of hypotheses as a metric does.

The metric of single sentences is BLEU+1, as in the paper, or chrF. Of each sentence many pairs are drawn, those nearly
as good left out, and of the others the most different kept (section 3, figure 2). A logistic regression on differences
of features learns which of the two is better; each pair counts in both directions. It is solved by Newton's method with
a small weight decay; the paper calls a library.
"""

from __future__ import annotations

import numpy as np

from dragoman.errors import InputError
from dragoman.tuning.mert import Tuned
from dragoman.tuning.pool import Pool, Vector

DRAWN, KEPT = 5000, 50
"""Pairs of each sentence."""
DIFFERENT = 5.0
"""Of the metric, 0-100, by which a kept pair differs at least."""
DECAY = 1e-3
"""Of the weights of standardised features, for each pair."""
STEPS = 50


def tune_pro(pool: Pool, start: Vector, random: np.random.Generator) -> Tuned:
    """The weights of the regression. `start` is not needed: the problem has one optimum.

    Raises:
        InputError: no two hypotheses of a sentence differ enough.
    """
    differences = _pairs(pool, random)
    if not len(differences):
        name = pool.objective.name
        raise InputError(
            f"no two hypotheses of a sentence differ by 5 points of {name}; there is nothing to learn from"
        )
    scale = np.sqrt((differences**2).mean(axis=0))
    scale[scale == 0] = 1  # a feature that never differs gets weight 0
    weights = _regression(differences / scale) / scale
    return Tuned(weights, pool.score(weights))


def _pairs(pool: Pool, random: np.random.Generator) -> Vector:
    """[P, D] features of the better hypothesis of each pair minus those of the worse."""
    found = [np.empty((0, pool.features.shape[1]))]
    gains = pool.objective.sentence(pool.statistics)
    for start, end in zip(pool.starts, pool.ends, strict=True):
        left, right = random.integers(start, end, size=(2, DRAWN))
        ahead = gains[left] - gains[right]
        left, right = np.where(ahead > 0, left, right), np.where(ahead > 0, right, left)
        most = np.argsort(-np.abs(ahead), kind="stable")[:KEPT]
        most = most[np.abs(ahead[most]) >= DIFFERENT]
        found.append(pool.features[left[most]] - pool.features[right[most]])
    return np.concatenate(found)


def _regression(differences: Vector) -> Vector:
    """Weights that maximise the mean log-probability log(1 / (1 + exp(-w x))) less the decay."""
    weights = np.zeros(differences.shape[1])
    for _ in range(STEPS):
        wrong = 1 / (1 + np.exp(np.clip(differences @ weights, -500, 500)))  # probability of the other order
        gradient = differences.T @ wrong / len(wrong) - DECAY * weights
        curvature = (differences * (wrong * (1 - wrong))[:, None]).T @ differences / len(wrong)
        step = np.linalg.solve(curvature + DECAY * np.eye(len(weights)), gradient)
        weights = weights + step / max(1.0, float(np.abs(step).max()) / 2)  # a long step may overshoot
        if np.abs(step).max() < 1e-8:
            break
    return weights
