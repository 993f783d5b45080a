from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.alignment.symmetrize import METHODS, symmetrize

FORWARD = [(0, 0), (1, 1), (1, 2), (4, 4), (5, 6)]
BACKWARD = [(0, 0), (1, 1), (2, 1), (4, 5), (6, 7)]
"""In common (0, 0) and (1, 1). (1, 2) and (2, 1) touch the latter; the rest touches nothing that is taken."""


@pytest.mark.parametrize(
    ("method", "added"),
    [
        ("intersection", []),
        ("grow-diag", [(1, 2), (2, 1)]),
        # forward: (4, 4) and (5, 6) have two free words each; then backward: (4, 5) has its target free, (6, 7) two
        ("grow-diag-final", [(1, 2), (2, 1), (4, 4), (4, 5), (5, 6), (6, 7)]),
        # (4, 5) is left out, for source word 4 has a link by then
        ("grow-diag-final-and", [(1, 2), (2, 1), (4, 4), (5, 6), (6, 7)]),
        ("union", [(1, 2), (2, 1), (4, 4), (4, 5), (5, 6), (6, 7)]),
    ],
)
def test_methods_on_links_made_by_hand(method, added):
    assert symmetrize(FORWARD, BACKWARD, method) == sorted([(0, 0), (1, 1), *added])


def test_growing_continues_from_added_links_also_diagonally():
    # (0, 0) is common; (1, 1) touches it at a corner, (2, 2) touches that one.
    assert symmetrize([(0, 0), (1, 1), (2, 2)], [(0, 0)], "grow-diag") == [(0, 0), (1, 1), (2, 2)]
    assert symmetrize([(0, 0), (2, 2)], [(0, 0)], "grow-diag") == [(0, 0)]


def test_growing_adds_no_link_between_aligned_words():
    forward, backward = [(0, 0), (1, 1), (0, 1)], [(0, 0), (1, 1)]
    assert symmetrize(forward, backward, "grow-diag") == [(0, 0), (1, 1)]
    assert symmetrize(forward, backward, "grow-diag-final") == [(0, 0), (1, 1)]
    assert symmetrize(forward, backward, "union") == [(0, 0), (0, 1), (1, 1)]


def test_growing_adds_a_link_with_one_unaligned_word_and_final_and_does_not():
    assert symmetrize([(0, 0), (0, 1)], [(0, 0)], "grow-diag") == [(0, 0), (0, 1)]
    assert symmetrize([(0, 0), (0, 5)], [(0, 0)], "grow-diag-final") == [(0, 0), (0, 5)]
    assert symmetrize([(0, 0), (0, 5)], [(0, 0)], "grow-diag-final-and") == [(0, 0)]


def test_forward_links_come_before_backward_ones():
    assert symmetrize([(0, 3)], [(0, 6)], "grow-diag-final-and") == [(0, 3)]
    assert symmetrize([(0, 6)], [(0, 3)], "grow-diag-final-and") == [(0, 6)]


@pytest.mark.parametrize("method", METHODS)
def test_equal_and_empty_alignments_are_unchanged(method):
    assert symmetrize(FORWARD, FORWARD, method) == sorted(FORWARD)
    assert symmetrize([], [], method) == []


def by_the_book(forward, backward, size, *, final=None):
    """GROW-DIAG-FINAL as the pseudo-code of Koehn et al. walks it: the whole matrix, nothing kept in between."""
    e2f = {(e, f) for f, e in forward}
    f2e = {(e, f) for f, e in backward}
    alignment = e2f & f2e

    def aligned(e, f):
        return any(point[0] == e for point in alignment), any(point[1] == f for point in alignment)

    while True:
        before = len(alignment)
        for e in range(size):
            for f in range(size):
                if (e, f) in alignment:
                    for de, df in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                        point = e + de, f + df
                        if not all(aligned(*point)) and point in e2f | f2e:
                            alignment.add(point)
        if len(alignment) == before:
            break
    if final is not None:
        for one_way in (e2f, f2e):
            for e in range(size):
                for f in range(size):
                    if (e, f) in one_way and not final(aligned(e, f)):
                        alignment.add((e, f))
    return sorted((f, e) for e, f in alignment)


SIZE = 5
LINKS = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=8)


@given(LINKS, LINKS)
def test_growing_agrees_with_the_pseudo_code_and_methods_include_each_other(forward, backward):
    assert symmetrize(forward, backward, "grow-diag") == by_the_book(forward, backward, SIZE)
    assert symmetrize(forward, backward, "grow-diag-final") == by_the_book(forward, backward, SIZE, final=all)
    assert symmetrize(forward, backward, "grow-diag-final-and") == by_the_book(forward, backward, SIZE, final=any)
    found = {method: set(symmetrize(forward, backward, method)) for method in METHODS}
    assert found["intersection"] <= found["grow-diag"] <= found["grow-diag-final-and"] <= found["union"]
    assert found["grow-diag"] <= found["grow-diag-final"] <= found["union"]
