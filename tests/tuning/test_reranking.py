from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.evaluation.minimum_risk import pairwise_bleu, pairwise_chrf
from dragoman.scoring.nbest import parse_entry
from dragoman.tuning.pool import CHRF as CHRF_OBJECTIVE
from dragoman.tuning.pool import read_references
from dragoman.tuning.reranking import by_average, by_expectation, by_oracle, by_total, by_weights, rerank

TEXTS = ["the cat sat", "the cat sat down", "a dog", "the cat sat down", "cats sit down here"]
TOTALS = [-1.0, -1.2, -0.9, -1.1, -4.0]
NETS = [(-2.0, 0), (-1.0, 1), (-9.0, 2), (-1.0, -3), (-1.0, 0)]
ENTRIES = [
    parse_entry(f"0 ||| {text} ||| LM= {-number} Net= {net[0]} {net[1]} ||| {total}", "list:1")
    for number, (text, total, net) in enumerate(zip(TEXTS, TOTALS, NETS, strict=True))
]


def chosen(criterion):
    (entry,) = rerank([ENTRIES], criterion)
    return ENTRIES.index(entry)


def test_the_largest_total_wins_and_the_first_of_equal_ones():
    assert chosen(by_total) == 2
    assert chosen(lambda entries: np.ones(len(entries))) == 0


def test_each_value_of_a_feature_has_its_own_weight():
    assert chosen(by_weights({"LM": (0.0,), "Net": (0.0, 1.0)}, "w", "list")) == 2
    assert chosen(by_weights({"LM": (1.0,), "Net": (0.0, 0.0)}, "w", "list")) == 0
    assert chosen(by_weights({"LM": (0.0,), "Net": (0.0, -1.0)}, "w", "list")) == 3


@pytest.mark.parametrize(("entries", "values"), [(5, 8), (5, 14), (7, 17), (7, 30)])
def test_of_hypotheses_with_equal_features_the_first_wins(entries, values):
    random = np.random.default_rng(0)
    for _ in range(50):
        features = " ".join(map(str, random.normal(size=values)))
        same = [parse_entry(f"0 ||| {number} ||| F= {features} ||| 0", "list:1") for number in range(entries)]
        (entry,) = rerank([same], by_weights({"F": tuple(random.normal(size=values))}, "w", "list"))
        assert entry.text == "0"


def test_the_average_weights_total_and_feature_equally():
    np.testing.assert_allclose(by_average(["LM"], "list")(ENTRIES), [(t - n) / 2 for n, t in enumerate(TOTALS)])
    np.testing.assert_allclose(
        by_average(["Net"], "list")(ENTRIES), [(t + a + b) / 3 for t, (a, b) in zip(TOTALS, NETS, strict=True)]
    )


def test_the_oracle_is_the_best_by_sentence_bleu():
    metric = BLEU(tokenize="none", effective_order=True)
    references = ["the cat sat down here", "the cat sat up"]
    expected = [metric.sentence_score(text, references).score for text in TEXTS]
    np.testing.assert_allclose(by_oracle([references], "refs")(ENTRIES), expected)
    assert chosen(by_oracle([references], "refs")) == int(np.argmax(expected))


def test_an_empty_reference_is_none_where_a_sentence_has_another(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    for path, text in zip(paths, ("the cat sat down\n\n\n", " \na dog\n\n"), strict=True):
        path.write_text(text)
    assert read_references(paths) == [("the cat sat down",), ("a dog",), ("",)]


def test_the_oracle_can_be_by_chrf():
    references = ["the cat sat down here", "the cat sat up"]
    expected = [CHRF().sentence_score(text, references).score for text in TEXTS]
    np.testing.assert_allclose(by_oracle([references], "refs", CHRF_OBJECTIVE)(ENTRIES), expected)


@pytest.mark.parametrize(
    ("metric", "utility"), [(BLEU(tokenize="none", effective_order=True), pairwise_bleu), (CHRF(), pairwise_chrf)]
)
@pytest.mark.parametrize(("scale", "most"), [(1.0, 100), (0.1, 100), (5.0, 3)])
def test_minimum_bayes_risk_is_the_expected_metric(scale, most, metric, utility):
    kept = sorted(range(len(TEXTS)), key=lambda row: -TOTALS[row])[:most]
    posterior = np.exp(scale * np.array(TOTALS)[kept])
    posterior /= posterior.sum()
    found = by_expectation(by_total, scale, most, utility)(ENTRIES)
    for row, text in enumerate(TEXTS):
        if row in kept:
            gains = [metric.sentence_score(text, [TEXTS[other]]).score for other in kept]
            assert found[row] == pytest.approx(posterior @ gains)
        else:
            assert found[row] == -np.inf
