"""Words by one rule for all languages."""

import pytest

from dragoman.inspection.words import folded_words, split_words


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("", []),
        ("Don't stop, Anna.", ["Don", "'", "t", "stop", ",", "Anna", "."]),
        ("3,5 km²  «ja»", ["3", ",", "5", "km²", "«", "ja", "»"]),
        ("我喜欢 tea。", ["我", "喜", "欢", "tea", "。"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # combining vowel signs stay in their words
        ("می‌روم", ["می‌روم"]),  # with a zero-width non-joiner, which is spelling
        ("한국어를 배워요", ["한국어를", "배워요"]),
    ],
)
def test_words(line, cut):
    assert split_words(line) == cut


def test_folded_words_have_neither_case_nor_signs():
    assert folded_words("Ein Hund, ein STRASSEN-Hund!") == {"ein", "hund", "strassen"}
    assert folded_words("Straße") == folded_words("STRASSE")
