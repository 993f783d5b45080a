"""Lines without anything to see."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from dragoman.text.raw_lines import is_blank

SPACES = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())


def test_a_line_of_any_spaces_and_invisible_characters_is_blank() -> None:
    for line in (
        "",
        " ",
        "\t",
        "\xa0",
        "\u3000\u3000",
        "\u200b",
        "\ufeff",
        "\u2028\x00",
        "\u00ad\u200e",
        SPACES,
    ):
        assert is_blank(line), repr(line)


@pytest.mark.parametrize("line", [".", "\xa0.\xa0", "\u0301", "\u06dd", "\ufffd", "\U000e0001x", "\ue000"])
def test_a_line_with_anything_to_see_is_not_blank(line: str) -> None:
    assert not is_blank(line)


def test_no_letter_mark_number_or_punctuation_is_blank() -> None:
    for code in range(0x20, sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] in "LMNPS":
            assert not is_blank(chr(code)), hex(code)
