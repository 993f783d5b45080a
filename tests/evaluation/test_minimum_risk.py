from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import sacrebleu
from numpy.typing import NDArray

from dragoman.evaluation.minimum_risk import by_expected_utility, sentence_utility


def shared_words(texts: Sequence[str]) -> NDArray[np.float64]:
    words = [set(text.split()) for text in texts]
    return np.array([[float(len(one & other)) for other in words] for one in words])


def test_the_candidate_that_agrees_most_with_all_is_first() -> None:
    # Weighted sums of shared words: 2 + 1 + 0, 1 + 2 + 1, 0 + 1 + 2.
    assert by_expected_utility(["a b", "b c", "c d"], [1, 1, 1], shared_words) == [1, 0, 2]


def test_candidates_are_weighted() -> None:
    # 2 * 3 + 1, 3 + 2 + 1, 1 + 2.
    assert by_expected_utility(["a b", "b c", "c d"], [3, 1, 1], shared_words) == [0, 1, 2]


def test_a_candidate_drawn_twice_counts_twice_and_keeps_both_places() -> None:
    assert by_expected_utility(["b c", "a b", "a b", "a b"], [1, 1, 1, 1], shared_words) == [1, 2, 3, 0]


@pytest.mark.parametrize("name", ["chrf", "bleu"])
def test_all_pairs_have_the_score_of_sacrebleu(name: str) -> None:
    texts = [
        "The cat sat on the mat.",
        "a cat sat on a mat, today",
        "Cats!",
        "the cat sat on the mat.",
        "",
        "don't 1,5",
    ]
    score = sacrebleu.sentence_chrf if name == "chrf" else sacrebleu.sentence_bleu
    expected = [[score(candidate, [reference]).score for reference in texts] for candidate in texts]
    found = sentence_utility(name)(texts)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found[0, 0] == pytest.approx(100)
    assert 0 < found[0, 1] < 100


@pytest.mark.parametrize("name", ["chrf", "bleu"])
def test_an_outlier_is_last(name: str) -> None:
    candidates = ["a big dog runs", "something else entirely", "a big dog ran", "the big dog runs"]
    order = by_expected_utility(candidates, [1, 1, 1, 1], sentence_utility(name))  # type: ignore[arg-type]
    assert order[-1] == 1
    assert order[0] == 0
