"""chrF of rows and of sums of rows, against sacreBLEU's public functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dragoman.evaluation.chrf import SIZE, chrf2, chrf_statistics

LINES = st.lists(st.sampled_from(["ab", "abc", "c", "dab", "dcba"]), max_size=7).map(" ".join)


@given(st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=5))
def test_sums_and_sentences_have_the_chrf_of_sacrebleu(triples):
    hypotheses, *references = map(list, zip(*triples, strict=True))
    rows = np.concatenate([chrf_statistics([one], group) for one, *group in zip(hypotheses, *references, strict=True)])
    assert rows.shape == (len(hypotheses), SIZE)
    metric = CHRF()
    assert chrf2(rows.sum(axis=0)) == pytest.approx(metric.corpus_score(hypotheses, references).score, abs=1e-9)
    sentences = [metric.sentence_score(one, group).score for one, *group in zip(hypotheses, *references, strict=True)]
    np.testing.assert_allclose(chrf2(rows), sentences, atol=1e-9)


def test_equal_hypotheses_have_equal_rows_in_their_order():
    found = chrf_statistics(["ab", "c", "ab"], ["abc"])
    np.testing.assert_array_equal(found[0], found[2])
    assert found[0, :6].tolist() == [2, 3, 2, 1, 2, 1]
    assert found[1, :6].tolist() == [1, 3, 1, 0, 2, 0]
