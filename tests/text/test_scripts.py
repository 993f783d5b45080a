"""Scripts without spaces, and lengths of their lines."""

import pytest

from dragoman.text.scripts import is_unsegmented, line_lengths


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["これは日本語の文章です。", "道元は鎌倉時代の禅僧である。"], True),
        (["这是一个没有空格的中文句子。"], True),
        (["นี่คือประโยคภาษาไทย ที่มีสองวลีอยู่ด้วยกัน"], True),
        (["これ は 日本 語 の 文章 です 。", "道元 は 鎌倉 時代 の 禅僧 で ある 。"], False),
        (["นี่ คือ ประโยค ภาษา ไทย"], False),
        (["이것은 한국어 문장입니다."], False),
        (["This is a sentence about 東京都港区赤坂一丁目 and nothing else."], False),
        (["", " "], False),
    ],
)
def test_lines_of_a_script_without_spaces_are_unsegmented(lines, expected):
    assert is_unsegmented(lines) is expected


def test_unsegmented_lines_are_as_long_as_they_have_characters():
    assert line_lengths(["これは日本語の文章です。", "", "道元は 鎌倉時代の禅僧である。"]) == (
        "characters",
        [12, 0, 14],
    )
    assert line_lengths(["これ は 日本 語", "", "a b"]) == ("words", [4, 0, 2])
