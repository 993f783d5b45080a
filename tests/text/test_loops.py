from __future__ import annotations

import random

import pytest

from dragoman.text.loops import _most, has_loop


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Gut.", "very very very good"),
        ("Er ist sehr, sehr gut.", "He is very, very, very good."),
        ("Ein Hund.", "A dog, a dog, a dog."),
        ("R&D", "&amp;" * 30),
        ("R&D", "&amp; " * 30),
        ("Sehr, sehr, sehr gut.", "very " * 30),
        ("Wir warten...", "We are waiting, we are waiting, we are waiting..."),
        ("a b c", "x the man in the house the man in the house the man in the house y"),
        ("dog", "我们的我们的我们的"),
        ("dog", "好" * 12),
        ("dog", "houndoundoundound"),
        ("dog", ". " * 12),
        ("dog", "-" * 40),
        ("dog", "कुत्ता कुत्ता कुत्ता"),
        ("x" * 2, "no no no"),
    ],
)
def test_a_span_three_times_is_a_loop(source, translation):
    assert has_loop(source, translation)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Sehr, sehr, sehr gut.", "very very very good"),
        ("sehr sehr sehr sehr gut", "very very very good"),
        ("& & &", "&amp; &amp; &amp;"),
        ("hahaha", "ha ha ha"),
        ("----------------", "- " * 16),
        ("Sehr gut.", "very very good"),
        ("Warte", "Wait ..."),
        ("Warte", "Wait ......"),
        ("Ja", "----------"),
        ("Ja", "hahaha"),
        ("Ja", "哈哈哈"),
        ("Ja", "1 1 1"),
        ("eine Milliarde", "1,000,000,000"),
        ("eine Milliarde", "1000000000"),
        ("", ""),
        ("", "a"),
        ("dog", "the dog and the cat and the cow"),
    ],
)
def test_what_the_source_repeats_or_is_short_is_no_loop(source, translation):
    assert not has_loop(source, translation)


def test_the_most_repetitions_are_those_of_all_spans():
    chance = random.Random(1)
    for _ in range(3000):
        units = chance.choices(("aa", "bb", "cc")[: chance.randint(1, 3)], k=chance.randint(0, 14))
        every = [
            times
            for length in range(1, len(units) + 1)
            for start in range(len(units))
            for times in range(1, len(units) // length + 1)
            if units[start : start + length] * times == units[start : start + length * times]
        ]
        assert _most(units, 0) == max(every, default=1), units


def test_a_line_of_one_letter_takes_no_time_to_speak_of():
    assert has_loop("", "a" * 200_000)
    assert not has_loop("", "".join(random.Random(2).choices("abcdefgh ", k=20_000)))
