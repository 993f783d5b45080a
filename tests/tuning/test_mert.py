from __future__ import annotations

import numpy as np
import pytest

from dragoman.tuning.mert import climb, envelope, search_line, tune_mert
from dragoman.tuning.pool import BLEU, CHRF, make_pool

from .pools import random_pool


def total_score(pool, scores):
    """What the largest scores choose, sentence by sentence."""
    chosen = [start + scores[start:end].argmax() for start, end in zip(pool.starts, pool.ends, strict=True)]
    return pool.metric.score(pool.statistics[chosen].sum(axis=0))


@pytest.mark.parametrize("seed", range(8))
def test_the_envelope_between_corners_is_the_largest_total(seed):
    random = np.random.default_rng(seed)
    pool = random_pool(random, sentences=5, size=3)
    weights, direction = random.normal(size=(2, 3))
    corners = envelope(pool, weights, direction)
    assert (np.diff(corners.gamma) >= 0).all()
    chosen = dict(zip(pool.starts.tolist(), corners.first.tolist(), strict=True))
    owner = {row: start for start, end in zip(pool.starts, pool.ends, strict=True) for row in range(start, end)}
    ends = np.concatenate(([corners.gamma[0] - 1], corners.gamma, [corners.gamma[-1] + 1]))
    for number, gamma in enumerate((ends[1:] + ends[:-1]) / 2):
        scores = pool.features @ (weights + gamma * direction)
        best = [int(start + scores[start:end].argmax()) for start, end in zip(pool.starts, pool.ends, strict=True)]
        assert best == list(chosen.values())
        if number < len(corners.gamma):
            before, after = int(corners.before[number]), int(corners.after[number])
            assert chosen[owner[before]] == before
            chosen[owner[before]] = after
    assert len(corners.gamma) > 5


@pytest.mark.parametrize("metric", [BLEU, CHRF], ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(4))
def test_line_search_finds_the_best_point_of_a_line(seed, metric):
    random = np.random.default_rng(seed)
    pool = random_pool(random, sentences=8, size=4, metric=metric)
    weights, direction = random.normal(size=(2, 4))
    best = search_line(pool, weights, direction)
    assert total_score(pool, pool.features @ (weights + best.gamma * direction)) == pytest.approx(best.score, abs=1e-9)
    for gamma in np.tan(np.linspace(-1.57, 1.57, 2001)):
        assert total_score(pool, pool.features @ (weights + gamma * direction)) <= best.score + 1e-9


@pytest.mark.parametrize("metric", [BLEU, CHRF], ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(3))
def test_two_weights_are_as_good_as_the_best_of_a_grid(seed, metric):
    random = np.random.default_rng(seed)
    pool = random_pool(random, sentences=6, size=2, metric=metric)
    grid = [(np.cos(angle), np.sin(angle)) for angle in np.linspace(0, 2 * np.pi, 4000, endpoint=False)]
    best = max(total_score(pool, pool.features @ np.array(weights)) for weights in grid)
    tuned = tune_mert(pool, np.ones(2), random, restarts=8)
    assert tuned.score >= best - 1e-9
    assert tuned.score == pytest.approx(total_score(pool, pool.features @ tuned.weights), abs=1e-9)


def test_a_feature_that_marks_the_reference_gets_all_the_weight():
    random = np.random.default_rng(1)
    pool = random_pool(random, sentences=12, size=5, marked=3)
    assert pool.score(np.ones(5)) < 85
    tuned = climb(pool, np.ones(5), random)
    assert tuned.score == pytest.approx(100)
    assert pool.score(tuned.weights) == pytest.approx(100)


def test_the_optimum_between_two_corners_is_found():
    # Right where 1 < w1/w0 < 2: below it the first sentence goes wrong, above it the second.
    pool = make_pool(
        {"A": 2},
        [
            (["a b c d"], [("a b c d", (0, 1)), ("x", (1, 0))]),
            (["e f g h"], [("e f g h", (2, 0)), ("y", (0, 1))]),
        ],
    )
    best = search_line(pool, np.array([1.0, 0]), np.array([0, 1.0]))
    assert (best.gamma, best.score) == (pytest.approx(1.5), pytest.approx(100))
    assert tune_mert(pool, np.array([1.0, -1]), np.random.default_rng(1)).score == pytest.approx(100)


def test_constant_features_and_single_hypotheses_are_harmless():
    pool = make_pool({"A": 2}, [(["a"], [("a", (1, 1))]), (["b"], [("c", (1, 2)), ("b", (1, 2))])])
    tuned = tune_mert(pool, np.zeros(2), np.random.default_rng(1), restarts=2)
    assert tuned.score == pool.score(np.ones(2))


@pytest.mark.parametrize(("direction", "gamma"), [(1.0, 2.0), (-1.0, -2.0)])
def test_of_equally_good_intervals_of_a_line_the_nearest_to_the_given_weights_is_chosen(direction, gamma):
    # The good hypotheses are best left of -3, in (-7, -3), and right of 1, in (1, 3): the middles are -5 and 2.
    pool = make_pool({"A": 2}, [(["a b c d"], [("x", (0, 0)), ("a b c d", (-1, 1)), ("a b c d", (-3, -1))])])
    best = search_line(pool, np.array([1.0, 0.0]), np.array([0.0, direction]))
    assert (best.gamma, best.score) == (pytest.approx(gamma), pytest.approx(100))


def test_where_several_lines_cross_at_a_point_the_steepest_follows():
    pool = make_pool({"A": 2}, [(["a"], [("a", (1, -1)), ("b", (1, 0)), ("c", (1, 2)), ("d", (1, 1))])])
    corners = envelope(pool, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert (corners.first.tolist(), corners.before.tolist(), corners.after.tolist()) == ([0], [0], [2])
    assert corners.gamma.tolist() == [0.0]


def test_weights_have_l1_norm_1_whether_they_were_changed_or_not():
    pool = make_pool({"A": 2}, [(["a b c d"], [("a b c d", (1, 0)), ("x", (0, 1))])])
    unchanged = climb(pool, np.array([3.0, -1.0]), np.random.default_rng(1))
    np.testing.assert_allclose(unchanged.weights, [0.75, -0.25])
    changed = climb(pool, np.array([-3.0, 1.0]), np.random.default_rng(1))
    assert changed.score == pytest.approx(100)
    assert np.abs(changed.weights).sum() == pytest.approx(1)
    assert climb(pool, np.zeros(2), np.random.default_rng(1)).score == pytest.approx(100)
