from __future__ import annotations

import pytest

from dragoman.config.item_patterns import check_pattern


@pytest.mark.parametrize(
    "pattern", [r"\bPN-?[0-9]{6}\b", r"(?<![A-Za-z])[A-Z]{2}(?:\.\d+)*(?!\w)", "Ärzte ohne Grenzen|MSF", "[^a-z]x"]
)
def test_patterns_that_browsers_read_alike_are_taken(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "is no regular expression: missing )"),
        (r"\#[a-z]+", r"has '\\#', which browsers read in another way"),
        (r"a\s+b", r"has '\\s', which browsers"),
        ("(?i)abc", "has '(?', which browsers"),
        ("(?P<n>a)", "has '(?', which browsers"),
        ("[0-9]*", "matches no text at all"),
    ],
)
def test_other_patterns_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^text\.patterns: ") as refused:
        check_pattern(pattern)
    assert message in str(refused.value)
