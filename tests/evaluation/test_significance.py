"""The paired tests, against draws of our own."""

import json
import random

import numpy as np
import pytest
from sacrebleu.metrics.ter import TER

from dragoman.errors import InputError
from dragoman.evaluation.metrics import (
    Preparation,
    bleu,
    bleu_metric,
    chrf_metric,
    corpus_score,
    ter_metric,
    tokenised_bleu_metric,
)
from dragoman.evaluation.significance import compare


def corpus(losses, sentences=60, seed=1):
    """References, and for each share of lost words a system that loses so many."""
    draw = random.Random(seed)
    references = [" ".join(draw.choices("abcdefghij", k=draw.randint(6, 12))) for _ in range(sentences)]
    systems = [
        [" ".join(word for word in line.split() if draw.random() >= loss) for line in references] for loss in losses
    ]
    return references, systems


def test_a_clear_difference_is_significant_and_none_is_not():
    references, (good, bad) = corpus([0.05, 0.3])
    options = {"samples": 200, "trials": 200}
    (found,) = compare(good, bad, references, [bleu_metric()], "bad", **options).metrics
    assert (found.score, found.other_score) == pytest.approx((bleu(good, references), bleu(bad, references)))
    assert found.bootstrap_p < 0.02
    assert found.randomisation_p < 0.02
    assert found.interval > 0
    (same,) = compare(good, good, references, [bleu_metric()], "same", **options).metrics
    # sacreBLEU counts larger differences only: by its count, 0 against 0 would be a sure difference
    assert (same.bootstrap_p, same.randomisation_p) == (1, 1)


def test_the_randomisation_agrees_with_an_independent_implementation():
    references, (one, other) = corpus([0.10, 0.115])
    (found,) = compare(one, other, references, [bleu_metric()], "other", samples=10, trials=1000).metrics
    metric = bleu_metric()
    rows = np.stack([metric.statistics(one, references), metric.statistics(other, references)])
    seen = abs(metric.score(rows[0].sum(axis=0)) - metric.score(rows[1].sum(axis=0)))
    draw, extreme = np.random.default_rng(5), 0
    for _ in range(1000):
        swap = draw.random(len(references)) < 0.5
        a = np.where(swap[:, None], rows[1], rows[0]).sum(axis=0)
        b = np.where(swap[:, None], rows[0], rows[1]).sum(axis=0)
        extreme += abs(metric.score(a) - metric.score(b)) >= seen
    expected = (extreme + 1) / 1001
    assert 0.1 < expected < 0.95
    assert found.randomisation_p == pytest.approx(expected, abs=0.06)


def test_metrics_of_one_name_in_sacrebleu_stay_apart():
    references, (good, bad) = corpus([0.1, 0.3], sentences=10)
    metrics = [bleu_metric(), tokenised_bleu_metric(Preparation("same", str)), chrf_metric()]
    found = compare(good, bad, references, metrics, "bad", samples=10, trials=10)
    assert [each.name for each in found.metrics] == ["BLEU", "tokenised BLEU", "chrF"]
    assert "tok:none|smooth:none" in found.metrics[1].signature
    assert found.metrics[1].signature.endswith("|text:same|ar:10")
    assert "bs:10|seed:12345" in found.metrics[0].signature


def test_sentences_are_counted_once_for_both_tests(monkeypatch):
    references, (good, bad) = corpus([0.1, 0.3], sentences=10)
    metric, counted = ter_metric(), []
    count = TER._extract_corpus_statistics
    monkeypatch.setattr(TER, "_extract_corpus_statistics", lambda *given: counted.append(given) or count(*given))
    (found,) = compare(good, bad, references, [metric], "bad", samples=10, trials=10).metrics
    assert len(counted) == 2  # one for each system: TER's search for shifts takes longer than the tests
    assert (found.score, found.other_score) == pytest.approx(
        (corpus_score(metric, good, references), corpus_score(metric, bad, references))
    )


def test_equal_tests_give_equal_numbers_as_json_and_as_rows():
    references, (good, bad) = corpus([0.1, 0.2], sentences=10)
    one, two = (compare(good, bad, references, [bleu_metric()], "b.txt", samples=20, trials=20) for _ in range(2))
    assert one == two
    values = json.loads(json.dumps(one.to_json()))
    assert values["against"] == "b.txt"
    assert values["scores"]["BLEU"]["bootstrap_p"] == one.metrics[0].bootstrap_p
    head, row = one.rows()
    assert head[0] == "against b.txt"
    assert len(head) == len(row)
    assert row[3] == f"{one.metrics[0].score - one.metrics[0].other_score:+.2f}"


def test_unequal_numbers_of_translations_are_an_error():
    with pytest.raises(InputError, match="1 translations cannot be compared with 2 references"):
        compare(["a", "b"], ["a"], ["a", "b"], [bleu_metric()], "other")
