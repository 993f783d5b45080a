"""Minimum error rate training (Och 2003): weights whose choices have the best score.

Along a line w + gamma d each hypothesis's total is a line in gamma, and the choice of a sentence changes only where
the upper envelope of its lines has a corner. Between two neighbouring corners of all sentences the metric is constant,
so one pass over them finds the best gamma exactly (section 5). That is repeated along the axes and along random
directions until no line is better, from the given weights and from random ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.pool import Pool, Rows, Vector

RESTARTS = 20
"""Random points to start from, beside the given one."""
GAIN = 1e-6
"""Of the objective, 0-100, below which a line is not better."""
NARROW = 1e-9
"""Intervals narrower than this, relative to where they lie, are corners that rounding has pulled apart."""

TINY = 1e-200
"""Slopes that differ by less are equal; a quotient by it stays finite."""


class Tuned(NamedTuple):
    """Weights [D], and the objective, 0-100, of what they choose from the lists."""

    weights: Vector
    score: float


class Corners(NamedTuple):
    """The corners of all upper envelopes, by gamma.

    first: [S] the row that each sentence chooses left of all its corners
    gamma: [C] where a choice changes, ascending
    before, after: [C] the rows that are chosen on the left and on the right of it
    """

    first: Rows
    gamma: Vector
    before: Rows
    after: Rows


class Best(NamedTuple):
    """The middle of the best interval of a line, and its score."""

    gamma: float
    score: float


def tune_mert(pool: Pool, start: Vector, random: np.random.Generator, *, restarts: int = RESTARTS) -> Tuned:
    """The best weights found from `start` [D] and from random points."""
    starts = [start, *random.uniform(-1, 1, size=(restarts, len(start)))]
    return max((climb(pool, one, random) for one in starts), key=lambda tuned: tuned.score)


def climb(pool: Pool, start: Vector, random: np.random.Generator) -> Tuned:
    """Search line after line until none is better: the axes, and as many random directions."""
    size = len(start)
    found = Tuned(_unit(start), pool.score(start))
    while True:
        before = found.score
        for direction in (*np.eye(size), *random.normal(size=(size, size))):
            best = search_line(pool, found.weights, direction)
            if best.score > found.score + GAIN:
                weights = _unit(found.weights + best.gamma * direction)
                # Counted again: where two totals are equal, rounding may choose otherwise than the envelope.
                again = pool.score(weights)
                if again > found.score + GAIN:
                    found = Tuned(weights, again)
        if found.score <= before + GAIN:
            return found


def search_line(pool: Pool, weights: Vector, direction: Vector) -> Best:
    """The gamma with the best score of `weights + gamma * direction`, of equal ones the nearest to 0."""
    corners = envelope(pool, weights, direction)
    change = pool.statistics[corners.after] - pool.statistics[corners.before]
    first = pool.statistics[corners.first].sum(axis=0)
    scores = pool.objective.score(np.concatenate((first[None], first + np.cumsum(change, axis=0))))  # [C + 1]
    if not len(corners.gamma):
        return Best(0.0, float(scores[0]))
    gamma = corners.gamma
    reach = 1 + np.abs(gamma[[0, -1]])
    left = np.concatenate(([gamma[0] - reach[0]], gamma))
    right = np.concatenate((gamma, [gamma[-1] + reach[1]]))
    wide = right - left > NARROW * np.maximum(1, np.abs(left))
    middle = (left + right) / 2
    scores = np.where(wide, scores, -1.0)
    best = np.flatnonzero(scores == scores.max())
    nearest = best[np.abs(middle[best]).argmin()]
    return Best(float(middle[nearest]), float(scores[nearest]))


def envelope(pool: Pool, weights: Vector, direction: Vector) -> Corners:
    """The upper envelopes of all sentences at once, corner by corner from the left.

    From the line in force, the next is the one of those steeper that crosses it first; of several that cross there,
    the steepest.
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
        found = np.isfinite(nearest)
        following = np.where(crossing == nearest[:, None], slopes, -np.inf).argmax(axis=1)
        # Rounding may put a corner a little left of the one before.
        reached = np.maximum(reached, nearest)
        gammas.append(reached[found])
        befores.append(pool.starts[alive[found]] + current[found])
        afters.append(pool.starts[alive[found]] + following[found])
        alive, current, reached = alive[found], following[found], reached[found]
        intercepts, slopes = intercepts[found], slopes[found]
    gamma = np.concatenate(gammas)
    order = gamma.argsort(kind="stable")
    return Corners(first, gamma[order], np.concatenate(befores)[order], np.concatenate(afters)[order])


def _taken(matrix: Vector, columns: NDArray[np.int64]) -> Vector:
    """[S, 1] an entry of each row."""
    return np.take_along_axis(matrix, columns[:, None], axis=1)


def _unit(weights: Vector) -> Vector:
    """Scaled so that magnitudes sum to 1, as Moses does: choices depend on the direction alone."""
    total = np.abs(weights).sum()
    return weights / total if total else weights
