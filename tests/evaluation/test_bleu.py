from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from dragoman.evaluation.bleu import ReferenceNgrams, add_one_bleu, bleu_statistics, corpus_bleu, sentence_bleu
from dragoman.evaluation.metrics import bleu_metric

SENTENCES = st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join)


def rows(hypotheses, references):
    return np.array([ReferenceNgrams(group).statistics(one) for one, group in zip(hypotheses, references, strict=True)])


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_statistics_and_scores_are_those_of_sacrebleu(pairs):
    hypotheses, references = map(list, zip(*pairs, strict=True))
    ours = rows(hypotheses, [[reference] for reference in references])
    metric = bleu_metric("none")
    np.testing.assert_array_equal(ours, metric.statistics(hypotheses, references))
    assert corpus_bleu(ours.sum(axis=0)) == pytest.approx(metric.score(ours.sum(axis=0)), abs=1e-9)
    sentence = BLEU(tokenize="none", effective_order=True)
    for row, hypothesis, reference in zip(ours, hypotheses, references, strict=True):
        expected = sentence.sentence_score(hypothesis, [reference]).score
        assert sentence_bleu(row) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(SENTENCES, SENTENCES, SENTENCES), min_size=1, max_size=4))
def test_several_references_count_as_in_sacrebleu(triples):
    hypotheses, *references = map(list, zip(*triples, strict=True))
    ours = rows(hypotheses, list(zip(*references, strict=True))).sum(axis=0)
    metric = BLEU(tokenize="none", force=True)
    assert corpus_bleu(ours) == pytest.approx(metric.corpus_score(hypotheses, references).score, abs=1e-9)


def test_many_sums_are_scored_at_once():
    draw = random.Random(1)
    lines = [" ".join(draw.choices("abcd", k=draw.randint(1, 9))) for _ in range(40)]
    ours = rows(lines[:20], [[line] for line in lines[20:]])
    for function in (corpus_bleu, sentence_bleu, add_one_bleu):
        np.testing.assert_allclose(function(ours), [function(row) for row in ours])


def test_the_brevity_penalty_and_precisions_of_a_known_pair():
    row = ReferenceNgrams(["the cat sat on the red mat yesterday evening"]).statistics(
        "the cat sat on the red mat today"
    )
    assert row.tolist() == [8, 9, 7, 6, 5, 4, 8, 7, 6, 5]
    assert corpus_bleu(row) == pytest.approx(74.21, abs=0.005)
    smoothed = 7 / 8 * 7 / 8 * 6 / 7 * 5 / 6
    assert add_one_bleu(row) == pytest.approx(100 * np.exp(1 - 9 / 8) * smoothed**0.25)


def test_equal_hypotheses_have_equal_rows():
    found = bleu_statistics(["a b", "c", "a b"], ReferenceNgrams(["a b"]))
    assert found[0].tolist() == found[2].tolist() == [2, 2, 2, 1, 0, 0, 2, 1, 0, 0]
