from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.config.schema import SearchConfig
from dragoman.config.section import keys_of
from dragoman.search.normalisation import DIVISORS, Normalisation

# total log-probability, symbols with EOS, alpha, score worked out by hand
CASES = [
    ("none", -6.0, 3, 0.6, -6.0),
    ("mean", -6.0, 3, 0.6, -2.0),  # papers divide by the tokens emitted, EOS counted
    ("mean", -1.5, 1, 0.6, -1.5),
    ("gnmt", -6.0, 1, 0.6, -6.0),  # (5 + 1) / (5 + 1) = 1
    ("gnmt", -6.0, 7, 1.0, -3.0),  # (5 + 7) / 6 = 2
    ("gnmt", -6.0, 19, 0.5, -3.0),  # sqrt((5 + 19) / 6) = 2
    ("gnmt", -6.0, 19, 0.0, -6.0),
    ("gnmt", -4.0, 10, 0.6, -4.0 / math.pow(2.5, 0.6)),
    ("power", -6.0, 4, 0.5, -3.0),  # sqrt(4) = 2
    ("power", -6.0, 4, 0.0, -6.0),
]


@pytest.mark.parametrize(("name", "log_probability", "length", "alpha", "expected"), CASES)
def test_scores_are_those_computed_by_hand(name, log_probability, length, alpha, expected):
    assert Normalisation(name, alpha).score(log_probability, length) == pytest.approx(expected, abs=1e-12)


def test_every_choice_of_the_configuration_exists():
    choices = keys_of(SearchConfig)["normalisation"].choices
    assert sorted(choices) == sorted(DIVISORS)
    for name in choices:
        assert Normalisation.from_config(SearchConfig(normalisation=name, alpha=0.3)) == Normalisation(name, 0.3)


def test_a_length_penalty_is_added_to_the_cost_as_in_the_code_of_jean_et_al():
    cost, length, exponent, weight = 6.0, 4, 0.5, 0.25
    charged = Normalisation("power", exponent, weight).score(-cost, length)
    assert charged == pytest.approx(-(cost / length**exponent + weight * length))


@pytest.mark.parametrize("weight", [0.0, 0.3, -0.4])
@pytest.mark.parametrize("name", DIVISORS)
def test_no_continuation_scores_above_the_bound(name, weight):
    normalisation, random, longest = Normalisation(name, 0.7, weight), np.random.default_rng(3), 12
    for _ in range(200):
        length = random.integers(1, longest)
        log_probability = -random.exponential(5.0)
        bound = normalisation.bound(log_probability, longest, length + 1)
        for end in range(length + 1, longest + 1):
            total = log_probability - random.exponential(0.2) * random.integers(0, 2)
            assert normalisation.score(total, end) <= bound


def test_arrays_are_scored_place_by_place():
    scores = Normalisation("mean").score(np.array([[-2.0, -9.0]]), np.array([[1, 3]]))
    np.testing.assert_array_equal(scores, [[-2.0, -3.0]])
