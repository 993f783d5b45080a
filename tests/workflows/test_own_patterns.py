from __future__ import annotations

import pytest

from dragoman.errors import ConfigError
from dragoman.workflows import own_patterns
from dragoman.workflows.own_patterns import try_patterns

LINES = ["order PN123456 now", "a dog", "PN000001 is out"]


def test_a_pattern_that_matches_nothing_is_told() -> None:
    assert try_patterns(["PN[0-9]{6}"], LINES) == []
    [warning] = try_patterns(["PN[0-9]{6}", "XX[0-9]"], LINES)
    assert warning == "warning: text.patterns: 'XX[0-9]' matches nothing in the training text"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a-z ]+", "matches more than half of the training text"),
        ("(?:a+)+b", "is slow: after 1 s it was at a line such as aaaaaa..."),
        ("(?:o|or|r|rd|d|e|er)+PX", "is slow: after 1 s it was at line 4 of the training text"),
    ],
)
def test_a_pattern_that_matches_most_or_is_slow_is_refused(
    pattern: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_patterns, "SECONDS", 1.0)
    with pytest.raises(ConfigError) as refused:
        try_patterns([pattern], [*LINES, "order" * 60])
    assert message in str(refused.value)
    assert pattern in str(refused.value)
