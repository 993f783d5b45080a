"""Segmentations with placeholders for items: pieces, spans, files, pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import RunError
from dragoman.text.items import KINDS, NAMES, PLACEHOLDERS, Items, Masked, restore
from dragoman.text.names import WordFilter
from dragoman.text.segmentation import load_segmentation
from dragoman.text.segmentation.base import Segmentation
from dragoman.text.segmentation.case_marks import MARKS
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, innermost, segment_pair
from dragoman.text.segmentation.subwords import SubwordSegmentation, train_case_marks, train_model
from dragoman.text.segmentation.words import WordSegmentation
from dragoman.text.side import TextSide, encode_pair
from dragoman.text.vocabulary import Vocabulary

LINES = [f"The dog number {number} sees the old house, {word}." for number in range(30) for word in ("and", "Or")]
FORM = NormalForm.of_sources(LINES)
ITEMS = Items(
    [kind.pattern for kind in KINDS.values()], [(".", False, ",")], WordFilter.of(["the", "dog"]), FORM.foreign_words
)


def segmentation(kind: str) -> Segmentation:
    if kind == "words":
        return WordSegmentation("en")
    if kind == "characters":
        return CharacterSegmentation()
    if kind == "case marks":
        return train_case_marks(LINES, "bpe", 80).extended(PLACEHOLDERS)
    return SubwordSegmentation(train_model(LINES, kind, 80)).extended(PLACEHOLDERS)


KINDS_OF_SEGMENTS = ["words", "characters", "bpe", "unigram", "case marks"]


@pytest.mark.parametrize("kind", KINDS_OF_SEGMENTS)
def test_an_item_is_one_segment_whatever_stands_beside_it(kind: str) -> None:
    source = ProtectedSegmentation(NormalisedSegmentation(segmentation(kind), FORM), ITEMS, source=True)
    line = "The {name} sees (http://a.org), 3.14 %s the\u00a0😀THE."
    pieces, offsets = source.segment(line)
    found = [(piece, line[start:end]) for piece, (start, end) in zip(pieces, offsets, strict=True) if piece in NAMES]
    assert found == [("⟦1⟧", "{name}"), ("⟦2⟧", "http://a.org"), ("⟦3⟧", "3.14"), ("⟦4⟧", "%s"), ("⟦5⟧", "😀")]
    assert "".join("".join(line[start:end] for start, end in offsets).split()) == "".join(line.split())


@pytest.mark.parametrize("kind", KINDS_OF_SEGMENTS)
def test_text_comes_back_but_for_the_writing_of_numbers(kind: str) -> None:
    source = ProtectedSegmentation(segmentation(kind), ITEMS, source=True)
    pieces = dict.fromkeys([*source.segment("the dog sees {a}, {b} {c}.").pieces, *NAMES, *MARKS])
    side = TextSide(source, Vocabulary(pieces))
    line = "the dog sees {a}, {b} {c}."
    encoded = side.encode(line)
    assert encoded.items == ("{a}", "{b}", "{c}")
    masked = side.decode_masked(encoded.ids)
    assert restore(masked, encoded.items) == line
    assert side.decode(encoded.ids) == "the dog sees ⟦1⟧, ⟦2⟧ ⟦3⟧."
    assert side.encode_masked(Masked(masked, None)).ids == encoded.ids


def test_a_target_has_placeholders_for_the_items_of_its_source_only() -> None:
    sides = [
        TextSide(ProtectedSegmentation(CharacterSegmentation(), ITEMS, source=source), Vocabulary([*NAMES, *"▁abc{}"]))
        for source in (True, False)
    ]
    assert sides[1].encode("{a} b").pieces == list("{a}▁b")
    assert sides[1].encode("{a} {b}", ["{b}"]).pieces == [*"{a}▁", "⟦1⟧"]
    source, target = encode_pair((sides[0], sides[1]), "{a} {b} c", "b {b} a")
    assert (source.pieces, target.pieces) == ([*"{a}▁", "⟦1⟧", *"▁c"], [*"b▁", "⟦1⟧", *"▁a"])


def test_numbers_and_links_in_full_width_are_items_unless_the_sources_have_them() -> None:
    line = "the dog sees １，２３４．５ ٣٤ ｈｔｔｐ：／／ａ．ｂ ６"
    source = ProtectedSegmentation(NormalisedSegmentation(CharacterSegmentation(), FORM), ITEMS, source=True)
    masked = source.mask(line)
    assert masked.items == ("1,234,5", "34", "http://a.b")
    assert masked.spans is not None
    spans = [(start, end) for start, end in masked.spans if end - start > 1]
    assert [line[start:end] for start, end in spans] == ["１，２３４．５", "٣٤", "ｈｔｔｐ：／／ａ．ｂ"]
    assert source.count_items(line) == 3
    target = ProtectedSegmentation(CharacterSegmentation(), ITEMS, source=False)
    assert segment_pair((source, target), "a １２", "12 b")[1].pieces == ["⟦1⟧", "▁", "b"]
    known = NormalisedSegmentation(CharacterSegmentation(), NormalForm.of_sources(["１２ ab"]))
    assert ProtectedSegmentation(known, ITEMS, source=True).mask("a １２").items == ()


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    for own in (True, False):
        made = ProtectedSegmentation(NormalisedSegmentation(segmentation("case marks"), FORM), ITEMS, source=own)
        made.save(tmp_path / "source.segmentation.json")
        loaded = load_segmentation(tmp_path / "source.segmentation.json")
        assert isinstance(loaded, ProtectedSegmentation)
        assert type(innermost(loaded)) is SubwordSegmentation
        for line in ("The {dog} 3.14 Šťávěk http://a.b", "⟦1⟧ the Brankvold"):
            assert loaded.segment(line) == made.segment(line)
            assert loaded.mask(line, ["{dog}"]) == made.mask(line, ["{dog}"])


def test_a_damaged_pattern_is_told(tmp_path: Path) -> None:
    path = tmp_path / "source.segmentation.json"
    ProtectedSegmentation(CharacterSegmentation(), Items(["a"]), source=True).save(path)
    path.write_text(path.read_text().replace('"a"', '"(a"'))
    with pytest.raises(RunError, match="protected cannot be read"):
        load_segmentation(path)


@pytest.mark.parametrize("stay", [True, False])
def test_whether_lines_without_letters_stay_is_saved(tmp_path: Path, stay: bool) -> None:
    path = tmp_path / "source.segmentation.json"
    ProtectedSegmentation(CharacterSegmentation(), Items(["a"], letterless_stay=stay), source=True).save(path)
    loaded = load_segmentation(path)
    assert isinstance(loaded, ProtectedSegmentation)
    assert loaded.items.letterless_stay is stay
