"""What messages are made of: one printable line, and values of users in part."""

from __future__ import annotations

import pytest

from dragoman.errors import abridged, escaped, one_line, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve – 日本 \u0645\u06cc\u200c\u062e", "naïve – 日本 \u0645\u06cc\u200c\u062e"),  # Persian words have U+200C
        ("a\nb\r\tc\0", r"a\nb\r\tc\x00"),
        ("\x1b[31mred\x9b0m\x7f", r"\x1b[31mred\x9b0m\x7f"),
        ("a\u202egnp.exe\u2066\u200f", r"a\u202egnp.exe\u2066\u200f"),
        ("a\u2028b\u2029c\u0085d\ufeff\U000e0041", r"a\u2028b\u2029c\x85d\ufeff\U000e0041"),
        ("caf\udce9 \ud800", r"caf\xe9 \ud800"),  # a byte that is not UTF-8 in a file name; half a character
        (r"C:\new", r"C:\new"),
    ],
)
def test_a_message_shows_what_a_terminal_would_obey(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert one_line(text) == shown


def test_a_long_word_loses_its_middle_and_a_long_message_too() -> None:
    path = "/data/" + "x" * 5000 + "/train.de"
    message = one_line(f"{path}: does not exist; did you mean {path}?")
    first, second = (word for word in message.split() if "…" in word)
    assert first.startswith("/data/xxx")
    assert first.endswith("xxx/train.de:")
    assert len(first) == len(second) == 200
    assert message.endswith("/train.de?")
    assert len(one_line("a b " * 5000)) == 2000
    assert one_line("x" * 200) == "x" * 200


def test_a_value_is_quoted_as_python_writes_it() -> None:
    assert quoted("a\n'b'") == "\"a\\n'b'\""
    assert len(quoted(list(range(1000)))) == 200
    assert quoted(10**5000) == "a number of thousands of digits"
    assert abridged("abcdefghij", 7) == "abcd…ij"
