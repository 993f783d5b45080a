"""The error rates of single words, by hand and against an independent definition of the edit distance."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.error_rates import SymbolErrorRate, WordErrorRate, edit_distance
from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.metrics import ExactMatch, corpus_score

FOUND = ["k a t", "d ɔː ɡ", "m a ʊ s", ""]
WANTED = ["k æ t", "d ɔː ɡ", "m aʊ s", "a"]


def test_rates_of_phones_by_hand() -> None:
    # Wrong: 3 of 4 words. Edits: 1 substitution; 0; 1 substitution and 1 insertion; 1 deletion. Phones: 3, 3, 3, 1.
    assert corpus_score(WordErrorRate("phones"), FOUND, WANTED) == pytest.approx(75)
    assert corpus_score(SymbolErrorRate("phones"), FOUND, WANTED) == pytest.approx(100 * 4 / 10)


def test_rates_of_characters_count_code_points_and_spaces_within() -> None:
    assert corpus_score(SymbolErrorRate("characters"), [" ab c "], ["abc"]) == pytest.approx(100 / 3)
    assert corpus_score(WordErrorRate("characters"), [" abc "], ["abc"]) == 0


def test_the_nearest_of_several_references_counts() -> None:
    references = [("a b c d", "a b"), ("x", "y z")]
    rows = SymbolErrorRate("phones").statistics(["a b e", "y"], references)
    assert rows.tolist() == [[1, 2], [1, 1]]  # of y's references x is as near as y z, and comes first
    assert WordErrorRate("phones").statistics(["a b", "y z"], references).tolist() == [[0, 1], [0, 1]]


def test_more_edits_than_symbols_give_more_than_100_percent() -> None:
    assert corpus_score(SymbolErrorRate("phones"), ["a b c"], ["x"]) == pytest.approx(300)
    assert SymbolErrorRate("phones").score(np.array([2.0, 0.0])) == 100


def test_word_error_rate_is_100_minus_exact_match() -> None:
    assert corpus_score(WordErrorRate("characters"), FOUND, WANTED) == pytest.approx(
        100 - corpus_score(ExactMatch(), FOUND, WANTED)
    )


def test_signatures_name_symbols_and_references() -> None:
    for metric in (WordErrorRate("phones"), SymbolErrorRate("phones")):
        metric.statistics(["a", "b"], [("a", "b"), "b"])
        assert metric.signature() == "nrefs:var|case:mixed|symbols:phones"


def test_an_evaluation_has_them_when_symbols_are_named() -> None:
    names = [score.name for score in evaluate(FOUND, WANTED, symbols="phones").scores]
    assert names[-2:] == ["WER", "PER"]
    assert [score.name for score in evaluate(FOUND, WANTED, symbols="characters").scores][-1] == "CER"
    assert not {"WER", "PER", "CER"} & {score.name for score in evaluate(FOUND, WANTED).scores}


@given(one=st.text("abc", max_size=7), other=st.text("abc", max_size=7))
def test_edit_distance_is_that_of_its_recursive_definition(one: str, other: str) -> None:
    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        )

    assert edit_distance(one, other) == distance(len(one), len(other))
