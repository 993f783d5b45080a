"""The picture of alignment weights: every weight a cell of its shade, every word readable."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dragoman.report.heatmap import CELL, FAINTEST, heat_map, visible

SVG = "{http://www.w3.org/2000/svg}"


def drawn(weights, source_words, target_words) -> ET.Element:
    return ET.fromstring(heat_map(np.array(weights, dtype=np.float32), source_words, target_words))


def words(svg: ET.Element) -> list[str]:
    """The words as shown, without the marks that isolate them."""
    return ["".join(text.itertext()).strip("\u2068\u2069") for text in svg.iter(f"{SVG}text")]


def test_every_weight_is_a_cell_at_its_place_with_its_shade():
    weights = [[0.25, 0.5, 0.25], [1.0, 0.0, 0.004]]
    svg = drawn(weights, ["the", "red", "house"], ["das", "Haus"])
    cells = list(svg.iter(f"{SVG}rect"))
    left = min(float(cell.get("x")) for cell in cells)
    top = min(float(cell.get("y")) for cell in cells)
    found = {
        ((float(cell.get("y")) - top) / CELL, (float(cell.get("x")) - left) / CELL): float(cell.get("fill-opacity"))
        for cell in cells
    }
    assert found == {(0, 0): 0.25, (0, 1): 0.5, (0, 2): 0.25, (1, 0): 1.0}  # 0 and 0.004 cannot be seen
    assert FAINTEST > 0.004


def test_a_weight_that_rounding_made_larger_than_one_is_solid():
    (cell,) = drawn([[1.0000001]], ["a"], ["b"]).iter(f"{SVG}rect")
    assert float(cell.get("fill-opacity")) == 1


def test_source_words_stand_upright_along_the_top_and_target_words_down_the_side():
    svg = drawn(np.eye(2, 3), ["the", "red", "house"], ["das", "Haus"])
    assert words(svg) == ["the", "red", "house", "das", "Haus"]
    upright = ["rotate(-90)" in text.get("transform", "") for text in svg.iter(f"{SVG}text")]
    assert upright == [True, True, True, False, False]


def test_a_cell_says_its_words_and_weight():
    svg = drawn([[0.127]], ["house"], ["Haus"])
    assert svg.find(f"{SVG}rect/{SVG}title").text == "house – Haus: 0.13"


@pytest.mark.parametrize("word", ["<script>", "a&b", '"quoted"', "]]>", "it's"])
def test_words_are_escaped(word):
    svg = drawn([[1.0]], [word], [word])
    assert words(svg) == [word, word]
    assert svg.find(f"{SVG}rect/{SVG}title").text == f"{word} – {word}: 1.00"


def test_every_word_is_isolated_so_that_right_to_left_ones_keep_their_punctuation_in_place():
    svg = drawn([[1.0]], ["مرحبا!"], ["hello!"])
    for text in svg.iter(f"{SVG}text"):
        content = "".join(text.itertext())
        assert content.startswith("\u2068")
        assert content.endswith("\u2069")


def test_control_characters_become_pictures_of_themselves():
    assert visible("a\x00b\x1b\x7f\ufffe") == "a␀b␛\ufffd\ufffd"
    assert words(drawn([[1.0]], ["\x00"], ["\x07"])) == ["␀", "␇"]


def test_an_endless_word_is_shortened_and_whole_in_its_title():
    svg = drawn([[1.0]], ["x" * 100_000], ["y"])
    first = next(svg.iter(f"{SVG}text"))
    assert first.find(f"{SVG}title").text == "x" * 100_000
    assert first.find(f"{SVG}title").tail.strip("\u2068\u2069") == "x" * 27 + "…"
    assert float(svg.get("height")) < 300


def test_wide_letters_get_more_room_than_narrow_ones_and_combining_marks_none():
    narrow, wide, marked = (
        float(drawn([[1.0]], ["a"], [word]).get("width")) for word in ("xxx", "漢字仮", "e\u0301" * 3)
    )
    assert wide > narrow == marked


def test_weights_of_another_shape_than_the_words_are_a_mistake_of_ours():
    with pytest.raises(AssertionError):
        drawn([[1.0, 0.0]], ["a"], ["b", "c"])
