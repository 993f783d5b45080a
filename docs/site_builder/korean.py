"""The words around a Korean page: those of the theme, which a site of one language has in English only."""

from __future__ import annotations

WORDS = {
    "Search": "검색",
    "Previous": "이전",
    "Next": "다음",
    "Home": "처음",
    "On this page": "이 페이지의 내용",
    "Back to top": "맨 위로",
}


def word(text: str, **values: object) -> str:
    """A text of the theme in Korean, or as it is where it has no translation; stands for `gettext` in templates."""
    text = WORDS.get(text, text)
    return text % values if values else text
