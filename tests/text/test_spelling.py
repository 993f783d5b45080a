"""Typing errors: which words are read as others, and what they were."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from dragoman.config.schema import SideConfig
from dragoman.text.items import KINDS, Items
from dragoman.text.names import WordFilter
from dragoman.text.segmentation import load_segmentation, train_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, knowing
from dragoman.text.side import TextSide
from dragoman.text.spelling import Spelling, TypingError
from dragoman.text.vocabulary import Vocabulary

SOURCES = [
    *["the dog with the grass runs over the grass"] * 10,
    *["a mädchen sees the spreadsheet"] * 10,
    *["a rabbit and coral"] * 2,
    "seldom corral",
]
SPELLING = Spelling.of_sources(SOURCES)


@pytest.mark.parametrize(
    ("word", "read_as"),
    [
        ("teh", "the"),  # exchanged
        ("rabbti", "rabbit"),  # at the end, of a word that occurs twice
        ("ddog", "dog"),  # doubled
        ("rabit", None),  # a letter left out of a rare word
        ("gass", "grass"),
        ("Gass", "Grass"),
        ("GASS", "GRASS"),
        ("gAss", None),  # written like no word
        ("madchen", "mädchen"),
        ("spreadshet", "spreadsheet"),
        ("spreaadsheet", "spreadsheet"),
        ("spreedsheet", "spreadsheet"),  # another letter in a long word
        ("grasss", "grass"),
        ("glass", None),  # another letter in a short one
        ("rgass", None),  # the first letter
        ("spreadsheets", None),  # the end of a word
        ("spreadshee", None),
        ("seldom", None),  # known, though rare
        ("selodm", None),  # of a word that occurs once
        ("th", None),
        ("teh2", None),
        ("teh's", None),
        ("teh_x", None),
        ("Ж", None),
    ],
)
def test_a_word_is_read_as_one_that_is_an_error_away(word: str, read_as: str | None) -> None:
    expected = [] if read_as is None else [TypingError(2, 2 + len(word), read_as)]
    assert SPELLING.errors(f"a {word}, a") == expected


def test_a_line_of_other_new_words_stays_as_it_is() -> None:
    assert SPELLING.errors("teh gass and Rhabarber") == [TypingError(0, 3, "the"), TypingError(4, 8, "grass")]
    assert SPELLING.errors("teh Rhabarber") == []


def test_no_training_source_has_errors() -> None:
    assert not any(map(SPELLING.errors, SOURCES))


def test_rarer_words_than_are_remembered_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.text.spelling._MOST", 3)
    assert Spelling.of_sources(SOURCES).words == ["the", "grass", "dog"]


def test_spans_are_those_of_the_raw_line() -> None:
    segmentation = NormalisedSegmentation(train_segmentation(SideConfig(segmentation="characters"), []), _form())
    side = TextSide(segmentation, Vocabulary("abc"))
    line = "the\u00ad ga\u00adss, e\u0301 teh"
    assert side.typing_errors(line) == [TypingError(5, 10, "grass"), TypingError(15, 18, "the")]
    pieces, offsets = segmentation.segment(line)
    assert "".join(pieces).replace("▁", " ") == "the grass, é the"
    assert offsets[4:9] == [(5, 10)] * 5
    assert offsets[-3:] == [(15, 18)] * 3
    assert side.formed(line) == "the gass, é teh"  # what a translation memory looks for is as it was written


def test_protected_items_are_not_corrected(tmp_path: Path) -> None:
    inner = NormalisedSegmentation(train_segmentation(SideConfig(segmentation="characters"), []), _form())
    items = Items([KINDS["url"].pattern, KINDS["path"].pattern], known=WordFilter.of(["the"]))
    segmentation = ProtectedSegmentation(inner, items, source=True)
    line = "www.gass.org is with teh Gass and teh /usr/gass"
    side = TextSide(segmentation, Vocabulary("abc"))
    assert [(line[start:end], read_as) for start, end, read_as in side.typing_errors(line)] == [("teh", "the")] * 2

    side.save(tmp_path, "source")
    loaded = load_segmentation(tmp_path / "source.segmentation.json")
    assert loaded.segment(line) == segmentation.segment(line) == pickle.loads(pickle.dumps(loaded)).segment(line)

    learnt = TextSide(knowing(segmentation, lambda: iter(["teh dog"])), side.vocabulary)
    assert learnt.typing_errors(line) == []


def _form() -> NormalForm:
    return NormalForm.of_sources([*SOURCES, "é,"]).with_spelling(SOURCES)
