from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.alignment.dictionary import (
    fitting_minimum,
    learn_dictionary,
    read_dictionary,
    write_dictionary,
)
from dragoman.errors import InputError


def test_the_most_frequent_translation_of_each_word_is_kept() -> None:
    sentences = [
        ("der Hund", "the dog", [(0, 0), (1, 1)]),
        ("„Hund“, der", "a dog, that", [(0, 1), (1, 2)]),
        ("der Hund", "the hound", [(0, 0), (1, 1)]),
        ("der die", "that the", [(0, 0), (1, 1)]),
    ]
    # der: the 2, that 2 (the first in order of code points); Hund: dog 2, hound 1; die: the 1.
    assert learn_dictionary(sentences, 1).words == {"Hund": ("dog", 2), "der": ("that", 2), "die": ("the", 1)}
    assert learn_dictionary(sentences, 2).words == {"Hund": ("dog", 2), "der": ("that", 2)}
    found = learn_dictionary(sentences, 3)
    assert (found.words, found.most, found.sentences) == ({}, 2, 4)


def test_a_small_corpus_has_a_lower_minimum() -> None:
    minima = {1: 1, 1999: 1, 2000: 2, 9999: 9, 10_000: 10, 5_000_000: 10}
    assert {sentences: fitting_minimum(sentences) for sentences in minima} == minima
    pairs = [("Hund", "dog", [(0, 0)])]
    for lines, links, kept in ((1, 1, True), (3000, 2, False), (3000, 3, True), (12_000, 9, False), (12_000, 10, True)):
        found = learn_dictionary([*pairs * links, *[("", "", [])] * (lines - links)])
        assert found.words == ({"Hund": ("dog", links)} if kept else {}), (lines, links)
        assert found.minimum == fitting_minimum(lines)


def test_punctuation_and_words_are_never_paired() -> None:
    sentences = [("a , ¿ 5 €", "x x ! y euro", [(0, 0), (1, 1), (1, 0), (2, 2), (3, 3), (4, 4)])] * 10
    words = learn_dictionary(sentences).words
    assert words == {"a": ("x", 10), "¿": ("!", 10), "5": ("y", 10), "€": ("euro", 10)}
    assert learn_dictionary([("ab", "- ,", [(0, 0), (0, 1)])] * 10).words == {}


def test_pairs_that_are_linked_as_random_words_would_be_are_counted() -> None:
    words = [f"w{number}" for number in range(8)]
    learnt = [(f"{word} .", f"{word.upper()} .", [(0, 0), (1, 1)]) for word in words for _ in range(10)]
    assert learn_dictionary(learnt).by_chance == 0
    undertrained = [(" ".join(words), "a b c", [(i, j) for i in range(8) for j in range(3)])] * 10
    found = learn_dictionary(undertrained)
    assert found.by_chance == len(found.words) == 8


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "words.gz"
    write_dictionary(path, {"Hund": ("dog", 12), "rot": ("red", 10)})
    assert read_dictionary(path) == {"Hund": "dog", "rot": "red"}


def test_the_highest_count_wins_then_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("a\tx\t2\na\ty\t3\na\tz\t3\n\nb\tone\nb\ttwo\nc\tp q\n", encoding="utf-8")
    assert read_dictionary(path) == {"a": "y", "b": "one", "c": "p q"}


@pytest.mark.parametrize("line", ["word", "a\tb\tc", "a\tb\t1\td", "\tb", "a\t", "a\tb\t-1", "a\tb\t" + "9" * 5000])
def test_a_malformed_dictionary_line_is_reported(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words"
    path.write_text(f"a\tx\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_dictionary(path)
    assert str(error.value).startswith(f"{path}:2: {line[:60]!r} is not a dictionary line")
