from __future__ import annotations

import pytest

from dragoman.smt.phrase_scoring import consistent_pairs
from dragoman.smt.reordering import DISCONTINUOUS, MONOTONE, SWAP, orientation, probabilities


def orientations(source_length, target_length, links):
    return {
        (pair.source, pair.target): (pair.previous, pair.following)
        for pair in consistent_pairs(source_length, target_length, links, 7)
    }


def test_words_in_order_are_monotone_at_sentence_boundaries_too():
    found = orientations(3, 3, [(0, 0), (1, 1), (2, 2)])
    assert set(found.values()) == {(MONOTONE, MONOTONE)}


def test_exchanged_words_have_swap_orientation():
    found = orientations(2, 2, [(0, 1), (1, 0)])
    # The first written comes from the end of the source: nothing stands beside it there.
    assert found[(1, 2), (0, 1)] == (DISCONTINUOUS, SWAP)
    assert found[(0, 1), (1, 2)] == (SWAP, DISCONTINUOUS)
    assert found[(0, 2), (0, 2)] == (MONOTONE, MONOTONE)


def test_a_distant_or_unaligned_neighbour_is_discontinuous():
    found = orientations(4, 4, [(0, 0), (2, 1), (1, 2), (3, 3)])
    assert found[(2, 3), (1, 2)] == (DISCONTINUOUS, SWAP)
    assert found[(1, 3), (1, 3)] == (MONOTONE, MONOTONE)
    found = orientations(3, 3, [(0, 0), (2, 2)])
    assert found[(2, 3), (2, 3)] == (DISCONTINUOUS, MONOTONE)


def test_a_word_linked_to_both_sides_is_discontinuous():
    # Before target word 1 stands one that is linked to the source words on both sides of the phrase.
    assert orientations(3, 2, [(0, 0), (2, 0), (1, 1)])[(1, 2), (1, 2)] == (DISCONTINUOUS, DISCONTINUOUS)


@pytest.mark.parametrize(
    ("previous", "current", "expected"),
    [
        ((0, 0), (0, 2), MONOTONE),
        ((0, 0), (1, 2), DISCONTINUOUS),
        ((2, 4), (4, 5), MONOTONE),
        ((2, 4), (0, 2), SWAP),
        ((2, 4), (5, 6), DISCONTINUOUS),
        ((2, 4), (0, 1), DISCONTINUOUS),
    ],
)
def test_orientation_of_two_spans(previous, current, expected):
    assert orientation(previous, current) == expected


def test_probabilities_are_smoothed_as_in_real_tables():
    # One occurrence: what stands in most lines of fr-en.lexreo.reordering-table.
    assert probabilities([1, 0, 0]) == pytest.approx([0.6, 0.2, 0.2])
    assert probabilities([2, 1, 5]) == pytest.approx([2.5 / 9.5, 1.5 / 9.5, 5.5 / 9.5])
