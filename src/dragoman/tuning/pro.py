"""Pairwise ranking optimisation (Hopkins and May 2011): weights that rank pairs of hypotheses as a metric does.

The metric of single sentences is BLEU+1, as in the paper, or chrF. For each sentence many pairs are sampled, pairs with
nearly equal metric are rejected, and the most different of the others are kept (section 3, figure 2). A logistic
regression on feature differences learns which hypothesis of a pair is better; each pair counts in both directions. It
is solved by Newton's method with a small weight decay, where the paper uses a library.
"""

from __future__ import annotations

import numpy as np

from dragoman.errors import InputError
from dragoman.tuning.mert import TunedWeights
from dragoman.tuning.pool import HypothesisPool, Vector

DRAWN, KEPT = 5000, 50
"""Pairs sampled for each sentence, and pairs kept at most."""
MIN_DIFFERENCE = 5.0
"""Minimum difference of a kept pair in the metric, 0-100."""
DECAY = 1e-3
"""Weight decay, per pair, on the weights of standardised features."""
NEWTON_STEPS = 50


def tune_pro(pool: HypothesisPool, start: Vector, random: np.random.Generator) -> TunedWeights:
    """The weights of the regression; `start` is unused, because the problem is convex.

    Raises:
        InputError: no sentence has two hypotheses that differ enough.
    """
    differences = _pairs(pool, random)
    if not len(differences):
        name = pool.metric.name
        raise InputError(
            f"no sentence has two hypotheses that differ by {MIN_DIFFERENCE:g} points of {name}; PRO needs such pairs"
        )
    scale = np.sqrt((differences**2).mean(axis=0))
    scale[scale == 0] = 1  # a feature that never differs gets weight 0
    weights = _regression(differences / scale) / scale
    return TunedWeights(weights, pool.score(weights))


def _pairs(pool: HypothesisPool, random: np.random.Generator) -> Vector:
    """[P, D] features of the better hypothesis of each pair minus those of the worse one."""
    differences = [np.empty((0, pool.features.shape[1]))]
    gains = pool.metric.sentence(pool.statistics)
    for start, end in zip(pool.starts, pool.ends, strict=True):
        left, right = random.integers(start, end, size=(2, DRAWN))
        ahead = gains[left] - gains[right]
        left, right = np.where(ahead > 0, left, right), np.where(ahead > 0, right, left)
        most = np.argsort(-np.abs(ahead), kind="stable")[:KEPT]
        most = most[np.abs(ahead[most]) >= MIN_DIFFERENCE]
        differences.append(pool.features[left[most]] - pool.features[right[most]])
    return np.concatenate(differences)


def _regression(differences: Vector) -> Vector:
    """[P, D] -> [D], weights that maximise the mean of log(1 / (1 + exp(-w x))) minus the weight decay."""
    weights = np.zeros(differences.shape[1])
    for _ in range(NEWTON_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(differences @ weights, -500, 500)))  # probability of the other order
        gradient = differences.T @ wrong / len(wrong) - DECAY * weights
        curvature = (differences * (wrong * (1 - wrong))[:, None]).T @ differences / len(wrong)
        step = np.linalg.solve(curvature + DECAY * np.eye(len(weights)), gradient)
        weights = weights + step / max(1.0, float(np.abs(step).max()) / 2)  # a long step may overshoot
        if np.abs(step).max() < 1e-8:
            break
    return weights
