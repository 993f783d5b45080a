"""Each change gives the line that it should, for random numbers of a seed, and leaves alone what it does not find."""

from __future__ import annotations

import random
import unicodedata

from dragoman.text.changes import (
    CHANGES,
    INVISIBLE,
    ITEMS,
    SPACES,
    TYPING_ERRORS,
    add_typing_errors,
    contains,
    insert,
    own_script_names,
)

LINE = "Two dogs - \"old\" ones - don't run in Malmö's 25 streets."


def changed(name: str, line: str, seed: int = 1) -> str:
    return CHANGES[name].change(line, random.Random(seed))


def test_case_marks_and_forms_of_letters():
    for name, line, expected in (
        ("lower case", "A Dog IN Öl.", "a dog in öl."),
        ("ALL CAPITALS", "A Dog in Öl.", "A DOG IN ÖL."),
        ("Title Case", "A dog in öl.", "A Dog In Öl."),
        ("no final mark", "Is it? Yes!?  ", "Is it? Yes"),
        ("no final mark", "犬が走る。", "犬が走る"),
        ("no final mark", "...", "..."),
        ("no diacritics", "Öl, café, ёлка, Ελλάδα, ậ", "Ol, cafe, елка, Ελλαδα, a"),
        ("no diacritics", "йод が 각", "йод が 각"),
        ("NFD", "é각", "e\u0301\u1100\u1161\u11a8"),
    ):
        assert changed(name, line) == expected, name


def test_what_a_change_does_not_find_stays():
    for name, line in (
        ("lower case", "개가 달린다."),
        ("ALL CAPITALS", "개가 달린다."),
        ("no final mark", "A dog"),
        ("letters doubled", "of it"),
        ("no diacritics", "A dog"),
        ("NFD", "A dog"),
        ("other spaces", "dog"),
        ("invisible characters", "1 2 3 4 5 6 7 8 9"),
        ("full-width words", "개가 달린다."),
        ("other quotes and dashes", "A dog."),
    ):
        for seed in range(20):
            assert changed(name, line, seed) == line, name


def test_typing_errors_are_of_the_kind_that_is_asked_for():
    kinds = {"exchanged": {"wrod"}, "left out": {"wrd", "wod"}, "doubled": {"woord", "worrd"}}
    kinds["exchanged"].add("wodr")
    for error in TYPING_ERRORS:
        found = {add_typing_errors("word", random.Random(seed), [error]) for seed in range(200)}
        assert found == {"word"} | kinds[error], error


def test_other_characters_stand_in_their_places():
    for name, characters, before in (("other spaces", SPACES, " "), ("invisible characters", INVISIBLE, "")):
        lines = {changed(name, LINE, seed) for seed in range(200)}
        assert {line.translate({ord(one): before for one in characters}) for line in lines} == {LINE}, name
        assert set("".join(lines)) - set(LINE) == set(characters), name
    wide = changed("full-width words", "ab 12 " * 200)
    assert unicodedata.normalize("NFKC", wide) == "ab 12 " * 200
    assert 40 < wide.count("ａｂ") + wide.count("１２") < 80  # 15 % of 400 are 60
    assert set(wide) == set("ab 12ａｂ１２")


def test_quotation_marks_are_of_one_kind_and_dashes_are_others():
    lines = {changed("other quotes and dashes", LINE, seed) for seed in range(200)}
    assert {"".join(mark for mark in line if mark in '“”„«»"') for line in lines} == {"“”", "„“", "«»"}
    assert {line[9] for line in lines} == set("–—‐−")
    assert {line[line.index("don") + 3] for line in lines} == set("‘’")
    assert all(len(line) == len(LINE) for line in lines)
    for seed in range(20):
        assert changed("other quotes and dashes", "“a”", seed) in ("„a“", "«a»", '"a"')


def test_a_list_mark_stands_in_front_on_both_sides():
    marks = {changed("list mark in front", "A dog.", seed).removesuffix("A dog.") for seed in range(100)}
    assert marks == {"- ", "* ", "• ", "1. ", "a) ", "(2) "}
    assert changed("list mark in front", "Hund", 3).removesuffix("Hund") in marks
    assert [name for name, one in CHANGES.items() if one.both_sides] == [
        "lower case", "ALL CAPITALS", "Title Case", "list mark in front"]  # fmt: skip


def test_an_item_stands_between_the_words_in_the_middle():
    assert insert("A dog runs fast.", "{x}") == "A dog {x} runs fast."
    assert insert("A dog runs.", "{x}") is None
    assert insert("犬が公園を走っている。", "{x}") == "犬が公園を{x}走っている。"
    assert insert("犬が走る。", "{x}") is None


def test_an_item_is_found_only_as_it_is():
    for name, item in ITEMS.items():
        for example in item.examples:
            line = insert("A dog runs fast.", example)
            assert line is not None
            assert contains(line, example, digits_only=item.digits_only), name
            assert not contains(line.replace(example[1:], example[1:].swapcase()[::-1]), example) or len(example) < 3
    for text, item in (
        ("Kowalczyks", "Kowalczyk"),
        ("AB-12345", "AB-1234"),
        ("v2.0.10", "v2.0.1"),
        ("{ name }", "{name}"),
    ):
        assert not contains(text, item), text
    assert contains("Kowalczyk은", "Kowalczyk")


def test_numbers_may_be_separated_as_the_language_does():
    for text, found in (
        ("3,14 m", True),
        ("3.14", True),
        ("3 14", True),
        ("314", True),
        ("13,14", False),
        ("3,1", False),
    ):
        assert contains(text, "3.14", digits_only=True) is found, text
    assert not contains("3,14", "3.14")


def test_names_are_in_the_script_of_the_text():
    for text, script in (
        ("개가 dog 달린다", "HANGUL"),
        ("собака", "CYRILLIC"),
        ("犬公園", "CJK"),
        ("いぬが", "HIRAGANA"),
    ):
        names = own_script_names(text)
        assert len(names) == 2
        assert {unicodedata.name(letter).split()[0] for name in names for letter in name} == {script}
    assert own_script_names("A dog") == own_script_names("123") == ()
