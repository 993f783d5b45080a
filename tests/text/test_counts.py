from __future__ import annotations

import pytest

from dragoman.text.counts import parse_count


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("017", 17), ("9" * 15, 10**15 - 1)])
def test_a_whole_number_is_read(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1_0", "٣", "²", "9" * 16, "9" * 5000])
def test_any_other_text_is_none(text: str) -> None:
    assert parse_count(text) is None
