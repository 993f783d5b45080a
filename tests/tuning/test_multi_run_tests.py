"""Multi-run significance tests: with one run of each system they agree with sacreBLEU."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.evaluation.metrics import SacreBleu, bleu_metric, chrf_metric
from dragoman.evaluation.significance import compare
from dragoman.tuning.multi_run_tests import compare_statistics, compare_weights
from dragoman.tuning.pool import BLEU, CHRF

from .pools import random_pool


def changed(line, random, often):
    words = line.split()
    return " ".join(random.choice(["x", "y"]) if random.random() < often else word for word in words)


@pytest.fixture(scope="module")
def corpora():
    random = np.random.default_rng(4)
    references = [" ".join(random.choice([*"abcdefg"], size=random.integers(5, 12))) for _ in range(60)]
    return [references, *([changed(line, random, often) for line in references] for often in (0.2, 0.25, 0.5))]


@pytest.mark.parametrize(("reference_metric", "metric"), [(bleu_metric("none"), BLEU), (chrf_metric(), CHRF)])
@pytest.mark.parametrize("other", [2, 3])
def test_p_values_of_single_runs_agree_with_sacrebleu(corpora, reference_metric: SacreBleu, metric, other):
    references, ours = corpora[0], corpora[1]
    rows = [
        np.stack([metric.statistics([line], [reference])[0] for line, reference in zip(text, references, strict=True)])
        for text in (ours, corpora[other])
    ]
    found = compare_statistics(rows[0][None], rows[1][None], metric)
    (expected,) = compare(ours, corpora[other], references, [reference_metric], "other").metrics
    assert found.scores == pytest.approx([expected.score], abs=1e-4)
    assert found.other_scores == pytest.approx([expected.other_score], abs=1e-4)
    assert found.bootstrap_p == pytest.approx(expected.bootstrap_p, abs=0.06)
    assert found.randomisation_p == pytest.approx(expected.randomisation_p, abs=0.03)


def test_repeated_runs_are_no_further_evidence():
    random = np.random.default_rng(2)
    one, other = random.integers(1, 20, size=(2, 1, 30, BLEU.size)).astype(float)
    single = compare_statistics(one, other, BLEU)
    several = compare_statistics(np.repeat(one, 3, axis=0), np.repeat(other, 2, axis=0), BLEU)
    assert several.bootstrap_p == pytest.approx(single.bootstrap_p)
    assert several.randomisation_p == pytest.approx(single.randomisation_p)
    assert several.scores.tolist() == [single.scores[0]] * 3


def test_equal_choices_differ_by_chance_alone():
    pool = random_pool(np.random.default_rng(1), sentences=20, size=2)
    weights = np.array([1.0, 0.3])
    found = compare_weights(pool, [weights, weights], [2 * weights])
    assert (found.bootstrap_p, found.randomisation_p) == (1.0, 1.0)
    assert found.scores[0] == pool.score(weights)


def test_the_feature_that_marks_the_reference_makes_a_difference():
    pool = random_pool(np.random.default_rng(1), sentences=60, size=3, marked=1)
    found = compare_weights(pool, [np.array([0.0, 1, 0])], [np.array([1.0, 0, 0]), np.array([0.0, 0, 1])])
    assert found.scores.tolist() == [pytest.approx(100)] * 2
    assert found.bootstrap_p < 0.01
    assert found.randomisation_p < 0.001
