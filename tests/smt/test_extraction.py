from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dragoman.smt.extraction import consistent_pairs


def by_definition(source_length, target_length, links, limit):
    """All pairs of spans within the limit that hold a link, and no link with one end inside only."""
    found = Counter()
    for start in range(source_length):
        for end in range(start + 1, min(source_length, start + limit) + 1):
            for first in range(target_length):
                for last in range(first + 1, min(target_length, first + limit) + 1):
                    inside = [(start <= i < end, first <= j < last) for i, j in links]
                    if (True, True) in inside and all(one == other for one, other in inside):
                        found[(start, end), (first, last)] += 1
    return found


@pytest.mark.parametrize("seed", range(30))
def test_extracted_pairs_are_consistent_with_the_links(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 8, size=2)
    grid = random.random(lengths) < random.choice([0.1, 0.2, 0.4])
    links = [(int(i), int(j)) for i, j in np.argwhere(grid)]
    limit = int(random.integers(1, 8))
    found = Counter((pair.source, pair.target) for pair in consistent_pairs(*map(int, lengths), links, limit))
    assert found == by_definition(*map(int, lengths), links, limit)


def test_phrases_extend_over_unaligned_words():
    pairs = {(pair.source, pair.target) for pair in consistent_pairs(3, 2, [(1, 0)], 7)}
    sources = {(1, 2), (0, 2), (1, 3), (0, 3)}
    assert pairs == {(source, target) for source in sources for target in ((0, 1), (0, 2))}


def test_a_sentence_without_links_has_no_pairs():
    assert list(consistent_pairs(4, 4, [], 7)) == []
