"""Names that training sources never had."""

from __future__ import annotations

import random

import pytest

from dragoman.text.names import WordFilter, known_words

KNOWN = WordFilter.of(["a", "dog", "and", "the", "cat", "see", "old", "house", "müller", "berlin", "is"])


def names(line: str, known: WordFilter = KNOWN) -> list[str]:
    return [line[start:end] for start, end in known.names(line)]


def test_a_word_with_a_capital_inside_a_line_is_a_name_if_the_sources_never_had_it() -> None:
    assert names("The dog and Yeongsu see Kowalczyk, (Ödögh) McBrank and the LOVBR.") == [
        "Yeongsu", "Kowalczyk", "Ödögh", "McBrank", "LOVBR",
    ]  # fmt: skip
    assert names("A Dog and the CAT see unknown words.") == []


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert names("Yeongsu is old. Kowalczyk is old! “Brankvold is old.” … Lobrek: Anvurk (Dorvik") == ["Dorvik"]
    assert names("그는 Yeongsu 와 a dog") == ["Yeongsu"]


def test_in_a_line_of_a_script_without_case_any_new_word_with_a_capital_is_a_name() -> None:
    assert names("Yeongsu 는 a Dog 을 본다. Kowalczyk 도: Brankvold") == ["Yeongsu", "Kowalczyk", "Brankvold"]
    assert names("셀 C8이 TRUE 이므로 LOVBR 은 FALSE 를 반환합니다", WordFilter.of(["c", "true", "false"])) == ["LOVBR"]


def test_a_title_ends_no_sentence_and_is_part_of_the_name_if_it_is_as_new() -> None:
    assert names("See Dr. Kowalczyk and St. Brankvold. Lobrek is old.") == ["Dr. Kowalczyk", "St. Brankvold"]
    known = WordFilter.of(["see", "mrs", "old", "is"])
    assert names("Mrs. Kowalczyk is old.", known) == ["Kowalczyk"]
    assert names("Prof.\u00a0Kowalczyk is old.", known) == ["Prof.\u00a0Kowalczyk"]
    assert names("See the end. Kowalczyk is old.", known) == []


@pytest.mark.parametrize("line", ["THE YEONGSU SEES THE KOWALCZYK", "The Yeongsu Sees The Brankvold And Lobrek"])
def test_lines_in_capitals_and_title_case_have_no_names(line: str) -> None:
    assert names(line) == []


def test_a_word_is_the_same_in_any_form() -> None:
    assert names("A dog and Mu\u0308ller see Ber\u00adlin and Ber\u200blin.") == []
    assert names("A dog and Mu\u0308kker see Ber\u00addin.") == ["Mu\u0308kker", "Ber\u00addin"]
    assert names("A dog and O\u0308d see \ufeffLi\u200b.") == []
    assert names("\ufeffYeongsu is old.") == []


def test_hardly_any_new_word_is_taken_for_a_known_one() -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(20_000)]
    known = WordFilter.of(words[:10_000])
    assert all(word in known for word in words[:10_000])
    assert sum(word in known for word in words[10_000:]) < 200
    assert WordFilter.of_text(known.text()).bits == known.bits


def test_the_training_text_says_whether_words_with_a_capital_are_names() -> None:
    draw = random.Random(2)
    new = ["".join(draw.choices("bcdfgaeiou", k=6)).capitalize() for _ in range(60)]
    copied = [(f"the dog sees {word} and goes", f"der Hund sieht {word} und geht") for word in new]
    other = [(f"the dog sees {word} and goes", f"der Hund sieht {word[::-1]} und geht") for word in new]
    found = known_words([*copied[:30], *other[30:]])
    assert found is not None
    assert names("the dog sees Yeongsu", found) == ["Yeongsu"]
    assert names(f"the dog sees {new[0]}", found) == []
    assert known_words([*copied[:15], *other[15:]]) is None
    assert known_words(copied[:10]) is None, "too few words to tell"
