"""Minimum error rate training (Och 2003): weights whose one-best hypotheses have the best corpus score.

Along a line w + gamma d the total of each hypothesis is a linear function of gamma, and the best hypothesis of a
sentence changes only at the corners of the upper envelope of these functions. Between two neighbouring corners of all
sentences the metric is constant, so one pass over the corners finds the best gamma exactly (section 5). The line search
is repeated along the axes and random directions until none improves, from the given weights and from random ones.
A warning says where the metric is the same with all weights, so that tuning learns nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.bleu import ORDER
from dragoman.tuning.pool import BLEU, HypothesisPool, RowIndices, Vector

RESTARTS = 20
"""Random starting points, beside the given one."""
GAIN = 1e-6
"""Minimum improvement of the metric, 0-100, by a line search."""
NARROW = 1e-9
"""Intervals narrower than this, relative to their position, are one corner split by rounding."""

TINY = 1e-200
"""Slopes that differ by less count as equal; a quotient by it stays finite."""


class TunedWeights(NamedTuple):
    """Weights [D], and the metric, 0-100, of the hypotheses that they rank first."""

    weights: Vector
    score: float


class Corners(NamedTuple):
    """The corners of all upper envelopes, by gamma.

    first: [S] the best row of each sentence left of all its corners
    gamma: [C] the corners, ascending
    before, after: [C] the best rows on the left and on the right of each corner
    """

    first: RowIndices
    gamma: Vector
    before: RowIndices
    after: RowIndices


class LineOptimum(NamedTuple):
    """The middle of the best interval along a line, and its score."""

    gamma: float
    score: float


def tune_mert(
    pool: HypothesisPool, start: Vector, random: np.random.Generator, *, restarts: int = RESTARTS
) -> TunedWeights:
    """The best weights found from `start` [D] and from `restarts` random points."""
    starts = [start, *random.uniform(-1, 1, size=(restarts, len(start)))]
    return max((climb(pool, one, random) for one in starts), key=lambda tuned: tuned.score)


def climb(pool: HypothesisPool, start: Vector, random: np.random.Generator) -> TunedWeights:
    """Coordinate ascent by line searches along the axes and as many random directions, until none improves."""
    size = len(start)
    tuned = TunedWeights(_unit(start), pool.score(start))
    while True:
        before = tuned.score
        for direction in (*np.eye(size), *random.normal(size=(size, size))):
            best = search_line(pool, tuned.weights, direction)
            if best.score > tuned.score + GAIN:
                weights = _unit(tuned.weights + best.gamma * direction)
                # Scored again: where two totals are equal, rounding may prefer another row than the envelope does.
                again = pool.score(weights)
                if again > tuned.score + GAIN:
                    tuned = TunedWeights(weights, again)
        if tuned.score <= before + GAIN:
            return tuned


def search_line(pool: HypothesisPool, weights: Vector, direction: Vector) -> LineOptimum:
    """The gamma with the best score of `weights + gamma * direction`; ties go to the one nearest to 0."""
    corners = envelope(pool, weights, direction)
    change = pool.statistics[corners.after] - pool.statistics[corners.before]
    first = pool.statistics[corners.first].sum(axis=0)
    scores = pool.metric.score(np.concatenate((first[None], first + np.cumsum(change, axis=0))))  # [C + 1]
    if not len(corners.gamma):
        return LineOptimum(0.0, float(scores[0]))
    gamma = corners.gamma
    reach = 1 + np.abs(gamma[[0, -1]])
    left = np.concatenate(([gamma[0] - reach[0]], gamma))
    right = np.concatenate((gamma, [gamma[-1] + reach[1]]))
    wide = right - left > NARROW * np.maximum(1, np.abs(left))
    middle = (left + right) / 2
    scores = np.where(wide, scores, -1.0)
    best = np.flatnonzero(scores == scores.max())
    nearest = best[np.abs(middle[best]).argmin()]
    return LineOptimum(float(middle[nearest]), float(scores[nearest]))


def envelope(pool: HypothesisPool, weights: Vector, direction: Vector) -> Corners:
    """The upper envelopes of all sentences at once, corner by corner from the left.

    The successor of a line on the envelope is, among the steeper lines, the one that crosses it first; the steepest
    one if several cross at that point.
    """
    intercepts = (pool.features @ weights)[pool.rows]  # [S, K]
    slopes = (pool.features @ direction)[pool.rows]
    flattest = slopes == slopes.min(axis=1, keepdims=True)
    current = np.where(flattest, intercepts, -np.inf).argmax(axis=1)  # [S]
    first = pool.starts + current
    alive = np.arange(len(current))
    reached = np.full(len(current), -np.inf)
    gammas, befores, afters = [], [], []
    while len(alive):
        a, b = _taken(intercepts, current), _taken(slopes, current)
        steeper = slopes - b > TINY
        crossing = np.full(slopes.shape, np.inf)
        np.divide(a - intercepts, slopes - b, out=crossing, where=steeper)
        nearest = crossing.min(axis=1)
        crosses = np.isfinite(nearest)
        following = np.where(crossing == nearest[:, None], slopes, -np.inf).argmax(axis=1)
        # Rounding may put a corner a little left of the one before.
        reached = np.maximum(reached, nearest)
        gammas.append(reached[crosses])
        befores.append(pool.starts[alive[crosses]] + current[crosses])
        afters.append(pool.starts[alive[crosses]] + following[crosses])
        alive, current, reached = alive[crosses], following[crosses], reached[crosses]
        intercepts, slopes = intercepts[crosses], slopes[crosses]
    gamma = np.concatenate(gammas)
    order = gamma.argsort(kind="stable")
    return Corners(first, gamma[order], np.concatenate(befores)[order], np.concatenate(afters)[order])


def _taken(matrix: Vector, columns: NDArray[np.int64]) -> Vector:
    """[S, K] -> [S, 1], one entry of each row."""
    return np.take_along_axis(matrix, columns[:, None], axis=1)


def _unit(weights: Vector) -> Vector:
    """The weights scaled to L1 norm 1, as in Moses; the ranking depends on their direction only."""
    total = np.abs(weights).sum()
    return weights / total if total else weights


log = logging.getLogger(__name__)

DIRECTIONS = 100
"""Random weights that are tried."""


def is_flat(pool: HypothesisPool, weights: Sequence[Vector]) -> bool:
    """Whether the metric is the same with all of `weights`, [D] each, and with random ones."""
    drawn = np.random.default_rng(1).normal(size=(DIRECTIONS, pool.features.shape[1]))
    scores = [pool.score(one) for one in (*weights, *drawn)]
    return max(scores) - min(scores) <= GAIN


def warn_of_flat_metric(pool: HypothesisPool, weights: Sequence[Vector], advice: str) -> None:
    """Warn where the metric is flat; `weights` are the initial and the tuned ones, `advice` what to do.

    Where no reference is as long as the 4-grams of BLEU, that is the reason given.
    """
    if not is_flat(pool, weights):
        return
    name = pool.metric.name
    if pool.metric is BLEU and (pool.metric.length(pool.statistics) < ORDER).all():
        reason = f"no reference has four tokens, and BLEU counts {ORDER}-grams; {advice}"
    else:
        reason = "check that the references belong to the lists, and that the lists have different hypotheses"
    score = pool.score(weights[-1])
    log.warning("%s is %.2f with all weights that were tried, so the tuned ones mean nothing; %s", name, score, reason)
