from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.config.building import override
from dragoman.config.schema import Config, SideConfig
from dragoman.errors import ConfigError, RunError
from dragoman.text.segmentation import load_segmentation, train_segmentation
from dragoman.text.segmentation.case_marks import MARKS, Marked, mark_case, restore_case
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.vocabulary import Vocabulary

LINES = [
    ("a dog", "a dog"),
    ("a dog runs", "⤋a dog runs"),
    ("The dog", "⇧the dog"),
    ("NATO and the USA", "⇪nato and the ⇪usa"),
    ("THE OLD NATO", "⟪the old nato⟫"),
    ("I saw A.B.C", "⇧i saw ⟪a.b.c⟫"),
    ("Open File", "⇧open ⇧file"),
    ("The Old Man And the Sea", "⤊the old man and⟫ the ⇧sea"),
    ("an iPhone and McDonald", "an iPhone and McDonald"),
    ("Anna-Lena's H2O", "⇧anna-⇧lena's ⇧h2⇧o"),
    ("(STOP! GO NOW) Then", "(⟪stop! go now⟫) ⇧then"),
    ("ΟΔΟΣ Οδός", "⇪οδοσ ⇧οδός"),
    ("ΟΔΟΣ οδος", "⇪οδοσ οδος"),
    ("STRASSE Straße STRAẞE", "⇪strasse ⇧straße ⇪straẞe"),
    ("İstanbul ISPARTA", "İstanbul ⇪isparta"),
    ("µm µM", "µm µM"),
    ("나는 어제 Kim을", "나는 어제 ⇧kim을"),
    ("나는 어제 집에", "나는 어제 집에"),
    ("a ⇧ ⇪ ⟪B⟫ ⤊⤋", "a ↑ ↑ «⇧b» ↑↓"),
    ("", ""),
]


def written(marked: Marked) -> str:
    text = marked.text
    for place, mark in reversed(marked.marks):
        text = text[:place] + mark + text[place:]
    return text


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_words_are_in_lower_case_behind_marks(line: str, expected: str) -> None:
    marked = mark_case(line)
    assert written(marked) == expected
    assert len(marked.text) == len(line)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@example("ZA\u0301MOK Za\u0301mok")
@example("ǅ ǆ Ǆ ŉ ΐ ﬁ Ⅷ Ⓐ ʼN ß ẞ")
@example("A B C. D")
def test_every_line_comes_back(line: str) -> None:
    marked = mark_case(line)
    expected, restored = line.translate(str.maketrans("⇧⇪⟪⤊⤋⟫▁", "↑↑«↑↓» ")), restore_case(written(marked))
    if all(len(letter.upper()) == 1 for letter in line):
        assert restored == expected
    assert restored.upper() == expected.upper()
    assert [place for place, _ in marked.marks] == sorted(place for place, _ in marked.marks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("⇧⇧dog", "Dog"),
        ("⇧ . dog ⇪", " . Dog "),
        ("⟪ the dog", " THE DOG"),
        ("a⟫ ⟪b⇧c", "a BC"),
        ("⇪straße", "STRASSE"),
        ("⟪die straße", "DIE STRASSE"),
        ("⟪⇧der ⇧hund⟫ ⇧da", "DER HUND Da"),
        ("⤊⇧der hund ⇪nato⟫ da", "Der Hund NATO da"),
        ("⤋⇧der ⇪nato ⇧hund", "der nato hund"),
    ],
)
def test_whatever_a_model_writes_is_read(text: str, expected: str) -> None:
    assert restore_case(text) == expected


@pytest.fixture(scope="module")
def segmentation() -> SubwordSegmentation:
    draw = random.Random(2)
    words = ["haus", "hund", "baum", "das", "ist", "ein", "und", "grün", "straße", "läuft"]
    lines = [
        " ".join(word.title() if word in words[:3] else word for word in draw.choices(words, k=8)) for _ in range(300)
    ]
    trained = train_segmentation(
        SideConfig(vocabulary=120), [line[:1].upper() + line[1:] for line in lines], case_marks=True
    )
    assert isinstance(trained, SubwordSegmentation)
    return trained


def test_a_word_has_the_same_pieces_however_it_is_written(segmentation: SubwordSegmentation) -> None:
    plain = [*segmentation.segment("das grün").pieces, *segmentation.segment("läuft").pieces]
    assert segmentation.segment("DAS GRÜN LÄUFT").pieces == ["⟪", *plain, "⟫"]
    [das, *others] = plain
    assert segmentation.segment("Das grün läuft").pieces in (["⇧" + das, *others], ["⇧", *plain])
    assert "⇧▁hund" in segmentation.segment("das Hund").pieces, "frequent in the text"
    assert segmentation.segment("das Grün").pieces[:2] == [das, "⇧"], "never in the text"


def test_spans_are_those_of_the_raw_line(segmentation: SubwordSegmentation) -> None:
    line = "Das GRÜN xyz Hund"
    pieces, offsets = segmentation.segment(line)
    shown = [(piece, line[start:stop]) for piece, (start, stop) in zip(pieces, offsets, strict=True)]
    assert ("⇪", "") in shown
    assert shown[-1] == ("⇧▁hund", "Hund")
    assert "".join(text for _, text in shown) == line.replace(" ", "")
    assert all(one[0] <= other[0] for one, other in pairwise(offsets))


@given(st.lists(st.text("aAbBßẞ sS.-1 ⇧⟫▁é\u0301üÜ日", max_size=30), max_size=6))
@example(["", "  Das  Haus ", "DAS HAUS IST", "und"])
def test_many_lines_are_segmented_as_each_alone(segmentation: SubwordSegmentation, lines: list[str]) -> None:
    found = segmentation.segment_lines(lines)
    bounds = [0, *found.lengths.cumsum().tolist()]
    for line, (start, stop) in zip(lines, pairwise(bounds), strict=True):
        pieces = segmentation.segment(line).pieces
        assert [found.pieces[number] for number in found.ids[start:stop].tolist()] == pieces
        clean = " ".join(line.translate(str.maketrans("⇧⟫▁", "↑» ")).split())
        assert segmentation.join(pieces).upper() == clean.upper()
        assert "ß" in line or segmentation.join(pieces) == clean
    assert len(set(found.pieces)) == len(found.pieces)


def test_it_is_saved_and_loaded(segmentation: SubwordSegmentation, tmp_path: Path) -> None:
    segmentation.save(tmp_path / "source.segmentation.json")
    loaded = load_segmentation(tmp_path / "source.segmentation.json")
    line = "Das HAUS und der Hund"
    assert loaded.segment(line) == segmentation.segment(line)
    assert loaded.join(loaded.segment(line).pieces) == line


@pytest.mark.parametrize("joined", [[""], ["⇧"], ["▁the"], [3], "⇧▁the", {}])
def test_a_damaged_description_is_refused(segmentation: SubwordSegmentation, tmp_path: Path, joined: object) -> None:
    path = tmp_path / "source.segmentation.json"
    segmentation.save(path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"case_marks": joined}), encoding="utf-8")
    with pytest.raises(RunError, match=r"source\.segmentation\.json: .*case_marks"):
        load_segmentation(path)


def test_new_characters_keep_the_marks(segmentation: SubwordSegmentation) -> None:
    assert sorted(segmentation.unknown_characters("Das XYZ ⇧")) == sorted("xyz↑")
    extended = segmentation.extended(list("xyz"))
    assert extended.segment("XYZ").pieces == ["⇪", "▁", "x", "y", "z"]


def test_marks_are_known_to_every_vocabulary() -> None:
    vocabulary = Vocabulary.from_counts({"⇧": 5, "a": 3, "b": 9}, 11, minimum=2, always=MARKS)
    assert vocabulary.ids([*MARKS, "b", "a"]) == [4, 5, 6, 7, 8, 9, 10, 1]


@pytest.mark.parametrize("settings", [["text.target.segmentation=words"], ["text.source.model=some.model"]])
def test_segmentations_that_cannot_have_marks_are_refused(settings: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"text\.case_marks: requires segmentation bpe or unigram"):
        override(Config(), ["text.case_marks=true", *settings])
