"""Which pairs are learnt beside a correction."""

from __future__ import annotations

import random

from dragoman.learning.pool import IdPair, PairPool


def test_pairs_that_share_rare_words_come_first() -> None:
    pool = PairPool()
    for number, text in enumerate(["the cat", "the dog", "the old dog", "the bird and the old dog", "the"]):
        pool.add(text, IdPair([number], [number] * (number + 1)))
    assert pool.like("the bird", 2, 9)[0].source == [3]
    assert [3] not in [pair.source for pair in pool.like("the bird", 9, 3)]
    assert [pair.source for pair in pool.like("the old dog", 2, 9)] == [[3], [1]]
    pool.add("the dog", IdPair([7], [7]))
    assert [7] in [pair.source for pair in pool.like("dog", 9, 9)]
    assert len(pool) == 5


def test_others_are_drawn_and_not_too_long() -> None:
    pool = PairPool()
    assert pool.like("a", 3, 9) == pool.unlike(random.Random(1), 3, 9) == []
    for number in range(50):
        pool.add(f"w{number}", IdPair([number], [1] * (1 + number % 5)))
    drawn = pool.unlike(random.Random(1), 6, 3)
    assert len(drawn) == 6
    assert max(pair.longer for pair in drawn) <= 3
    assert drawn == pool.unlike(random.Random(1), 6, 3) != pool.unlike(random.Random(2), 6, 3)
