"""Text as it is shown to people."""

import pytest

from dragoman.text.display import runs_right_to_left, shortened, visible


def test_control_characters_become_pictures():
    assert visible("a\x00b\x1b\x7f\ufffe") == "a␀b␛\ufffd\ufffd"


def test_long_text_ends_in_an_ellipsis():
    assert shortened("x" * 100_000) == "x" * 27 + "…"
    assert shortened("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["hello"], False), (["مرحبا", "hi"], True), (["שלום"], True), (["1", "!"], False), ([], False)],
)
def test_the_direction_is_that_of_most_letters(words, expected):
    assert runs_right_to_left(words) is expected
