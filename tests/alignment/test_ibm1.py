"""IBM Model 1, against the formulas worked out word by word."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from dragoman.alignment import ibm1
from dragoman.alignment.ibm1 import enough_pairs, list_translations, train_ibm1

PAIRS = [([4, 5], [6, 7]), ([4], [6]), ([5, 5, 8], [7, 9, 9]), ([8], []), ([], [7]), ([4, 8], [9, 6])]
NOTHING = 10


def _by_hand(rounds: int) -> dict[tuple[int, int], float]:
    """Brown et al. 1993, section 4.1: counts in proportion to t(f|e), then t in proportion to counts."""
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for source, target in PAIRS:
            words = [*source, NOTHING]
            for word in target:
                total = sum(table[other, word] for other in words)
                for other in words:
                    counts[other, word] += table[other, word] / total
        totals: dict[int, float] = defaultdict(float)
        for (source_word, _), count in counts.items():
            totals[source_word] += count
        table = defaultdict(float, {key: count / totals[key[0]] for key, count in counts.items()})
    return table


def test_probabilities_follow_the_em_equations() -> None:
    learnt = train_ibm1(PAIRS, NOTHING, 10)
    expected = {key: value for key, value in _by_hand(ibm1.ITERATIONS).items() if key[0] != NOTHING}
    found = dict(
        zip(zip(learnt.source.tolist(), learnt.target.tolist(), strict=True), learnt.probabilities, strict=True)
    )
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-9)


def test_the_most_probable_translations_of_each_word_are_listed() -> None:
    offsets, words = list_translations(train_ibm1(PAIRS, NOTHING, 10), NOTHING, 1)
    lists = [words[offsets[word] : offsets[word + 1]].tolist() for word in range(NOTHING)]
    assert lists == [[], [], [], [], [6], [7], [], [], [9], []]


def test_no_more_pairs_are_read_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ibm1, "MAX_LINKS", 7)
    assert list(enough_pairs(iter(PAIRS))) == PAIRS[:2]


def test_an_empty_corpus_gives_an_empty_table() -> None:
    offsets, words = list_translations(train_ibm1([], 5, 5), 5, 3)
    assert (offsets.tolist(), words.tolist()) == ([0] * 6, [])
    assert np.issubdtype(words.dtype, np.integer)
