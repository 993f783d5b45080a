"""Progress on standard error."""

from __future__ import annotations

import io
import re

import pytest

from dragoman import progress
from dragoman.progress import Console, as_duration


def test_a_counter_without_a_terminal_prints_lines_with_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    stream = io.StringIO()
    with Console(stream=stream).counter("pairs", 4000) as advance:
        advance(0)
        advance(1000)
    assert re.fullmatch(
        r"1,000 of 4,000 pairs, [\d,]+ a second, about \S+ (s|min \d+ s|h \d+ min) left\n", stream.getvalue()
    )
    with Console(stream=stream).counter("lines") as advance:
        advance(7)
    assert re.search(r"\n7 lines, [\d,]+ a second\n$", stream.getvalue())
    with Console(stream=io.StringIO(), quiet=True).counter("lines") as advance:
        advance(7)


def test_a_counter_is_silent_within_its_interval() -> None:
    stream = io.StringIO()
    with Console(stream=stream).counter("pairs") as advance:
        advance(1000)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.42, "0.4 s"), (59, "59 s"), (725, "12 min 5 s"), (12_000, "3 h 20 min"), (446_400, "5 days 4 h")],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert as_duration(seconds) == text
