from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.permutation import LARGE, KeyedPermutation, draw_permutation


def drawn(count: int, seed: int, *, large: bool) -> list[int]:
    return draw_permutation(np.random.default_rng(seed), count, large=large)(np.arange(count)).tolist()


@given(st.integers(1, 3000), st.integers(0, 1 << 32), st.booleans())
def test_every_item_has_one_place(count: int, seed: int, large: bool) -> None:
    assert sorted(drawn(count, seed, large=large)) == list(range(count))


def test_orders_of_large_corpora_are_computed_and_others_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    assert isinstance(draw_permutation(rng, LARGE), KeyedPermutation)
    assert drawn(100, 3, large=False) == np.random.default_rng(3).permutation(100).tolist()


@pytest.mark.parametrize("large", [True, False])
def test_places_are_random(large: bool) -> None:
    """Each of the 24 orders of 4 items is drawn as often; a chi-square of 23 degrees has 49.7 as its 0.1 % point."""
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(2400):
        order = tuple(drawn(4, seed, large=large))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 49.7


def test_neighbours_are_far_apart() -> None:
    """The same for a large number of items: places, steps between neighbours and halves of seeds look independent."""
    count = 1 << 16
    first, second = (np.array(drawn(count, seed, large=True)) for seed in (1, 2))
    for other in (np.arange(count), np.roll(first, 1), np.roll(first, 256), second):
        assert abs(np.corrcoef(first, other)[0, 1]) < 5 / count**0.5
