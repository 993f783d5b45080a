"""Which word the weights of a step align is measured on the dev set when a training ends."""

from __future__ import annotations

import pytest

from dragoman.workflows.aligned_word import FEWEST, Readings


@pytest.mark.parametrize(
    ("readings", "better"),
    [
        (Readings(FEWEST, 20, 30), "read"),
        (Readings(FEWEST, 30, 20), "predicted"),
        (Readings(FEWEST, 20, 20), "predicted"),
        (Readings(FEWEST - 1, 20, 30), "predicted"),  # too few links decide nothing
    ],
)
def test_the_reading_with_more_links_is_better(readings: Readings, better: str) -> None:
    assert readings.better == better
