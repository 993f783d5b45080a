"""MIRA and PRO are approximate, so they are tested on lists with a clear optimum."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.tuning.mira import tune_mira
from dragoman.tuning.pool import BLEU, CHRF, make_pool
from dragoman.tuning.pro import tune_pro

from .pools import random_pool


@pytest.mark.parametrize("metric", [BLEU, CHRF], ids=lambda metric: metric.name)
@pytest.mark.parametrize("method", [tune_mira, tune_pro])
def test_the_feature_that_marks_the_reference_gets_the_weight(method, metric):
    random = np.random.default_rng(3)
    pool = random_pool(random, sentences=60, size=4, marked=2, metric=metric)
    start = np.full(4, 0.1)
    tuned = method(pool, start, random)
    assert pool.score(start) < 85
    assert tuned.score > 97
    assert tuned.score == pool.score(tuned.weights)
    assert np.abs(tuned.weights).argmax() == 2
    assert tuned.weights[2] > 0


def test_mira_is_never_worse_on_the_lists_than_its_start():
    random = np.random.default_rng(5)
    pool = random_pool(random, sentences=10, size=2)
    start = np.array([1.0, 0])
    assert tune_mira(pool, start, random, epochs=2).score >= pool.score(start)


def test_pro_orders_a_pair_by_hand():
    # One kind of pair, x = (1, 0): the better one has more of the first feature, the second never differs.
    pool = make_pool({"A": 2}, [(["a b c d"], [("a b c d", (3, 1)), ("a x y z", (2, 1))])])
    weights = tune_pro(pool, np.zeros(2), np.random.default_rng(1)).weights
    # The decayed logistic regression of the single difference 1: sigma(-w) = 0.001 w.
    assert 1 / (1 + np.exp(weights[0])) == pytest.approx(1e-3 * weights[0], rel=1e-5)
    assert weights[1] == 0


def test_pro_refuses_lists_of_equal_hypotheses():
    pool = make_pool({"A": 1}, [(["a b"], [("a c", (1,)), ("a d", (2,))])])
    with pytest.raises(InputError, match="no sentence has two hypotheses that differ by 5 points"):
        tune_pro(pool, np.zeros(1), np.random.default_rng(1))
