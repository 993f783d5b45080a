"""Scores of changed test sets, counts of items and of loops, by translators whose outputs are known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman.corpora.pairs import Pair
from dragoman.evaluation.metrics import bleu
from dragoman.evaluation.robustness import OtherText, Robustness, Translated, measure_robustness
from dragoman.text.changes import CHANGES

SOURCES = [f"A young dog runs over {number} green fields." for number in range(60)]
PAIRS = [Pair(source, source, "here") for source in SOURCES]


def copy(lines: Sequence[str]) -> list[Translated]:
    return [Translated(line, finished=True) for line in lines]


def lower(lines: Sequence[str]) -> list[Translated]:
    return [Translated(line.lower(), finished=True) for line in lines]


def by_name(found: Robustness) -> tuple[dict, dict]:
    return {one.name: one for one in found.changes}, {one.name: one for one in found.items}


def test_a_translator_that_copies_is_right_where_the_reference_is_changed_too():
    changes, items = by_name(measure_robustness(PAIRS, copy))
    for name in ("lower case", "ALL CAPITALS", "Title Case", "list mark in front"):
        assert (changes[name].lines, changes[name].bleu, changes[name].plain) == (
            60,
            pytest.approx(100),
            pytest.approx(100),
        )
    assert 0 < changes["letters exchanged"].bleu_without_case < 90
    assert changes["letters exchanged"].plain_without_case == pytest.approx(100)
    for name, item in items.items():
        assert item.lines == item.unchanged == (0 if name == "name in the source's own script" else 50), name


def test_scores_are_those_of_the_changed_lines_with_and_without_case():
    found = by_name(measure_robustness(PAIRS, lower))[0]["ALL CAPITALS"]
    plain = [source.lower() for source in SOURCES]
    assert found.plain == pytest.approx(bleu(plain, SOURCES))
    assert found.bleu == pytest.approx(bleu(plain, [source.upper() for source in SOURCES]))
    assert found.bleu_without_case == found.plain_without_case == pytest.approx(100)


def test_items_that_are_altered_are_not_counted():
    items = by_name(measure_robustness(PAIRS, lower))[1]
    assert (items["part number"].unchanged, items["e-mail address"].unchanged) == (0, 50)


def test_a_change_that_alters_nothing_is_no_score():
    found = measure_robustness(PAIRS, copy)
    assert [one.name for one in found.changes if not one.lines] == ["no diacritics", "NFD", "other quotes and dashes"]
    assert found.to_json()["changes"]["NFD"] is None
    assert found.to_json()["items"]["name in the source's own script"] is None
    row = next(row for row in found.tables()[0] if row[0] == "NFD")
    assert row == ("NFD", "0", "no such text", "", "", "", "")


def test_lines_are_translated_once_and_the_same_lines_are_changed_again():
    asked: list[str] = []

    def translate(lines: Sequence[str]) -> list[Translated]:
        asked.extend(lines)
        return copy(lines)

    known = dict(zip(SOURCES, copy(SOURCES), strict=True))
    first = measure_robustness(PAIRS, translate, known=known, other=SOURCES[:1])
    assert len(asked) == len(set(asked))
    assert not set(asked) & set(known)
    assert measure_robustness(PAIRS, copy, other=SOURCES[:1]) == first


def test_at_most_400_lines_are_changed_from_all_over_the_test_set():
    pairs = [Pair(f"Line {number} of a text.", "x", "here") for number in range(1000)]
    found = measure_robustness(pairs, copy)
    assert found.sentences == 400
    assert [one.lines for one in found.changes][:4] == [400] * 4
    assert len(CHANGES) == len(found.changes)


def test_loops_and_truncated_translations_of_another_text_are_counted():
    outputs = {
        "a dog": ("dog dog dog dog", True),
        "very very very very good": ("sehr sehr sehr gut", True),
        "cat": ("c", False),
    }

    def translate(lines: Sequence[str]) -> list[Translated]:
        return [Translated(*outputs.get(line, (line, True))) for line in lines]

    found = measure_robustness(PAIRS[:1], translate, other=list(outputs))
    assert found.other == OtherText(3, loops=1, truncated=1)
    assert found.tables()[2] == [("other text", "3"), ("with a loop", "1"), ("cut at the longest length", "1")]
    assert measure_robustness(PAIRS[:1], translate).other is None
