"""The heat map of one sentence pair: its labels, and the table that a notebook shows."""

import re

import numpy as np
import pytest

from dragoman.alignment.heat_map import HeatMap, heat_map_html, segment_heat_map


def test_the_table_is_grey_from_black_for_0_to_white_for_1():
    page = heat_map_html(HeatMap(np.array([[0.0, 0.5, 1.0]]), ["a", "b", "c"], ["x"]))
    assert re.findall(r"rgb\((\d+),\1,\1\)", page) == ["0", "128", "255"]
    assert re.findall(r'title="([^"]*)"', page) == ["0.000", "0.500", "1.000"]


def test_a_source_that_runs_from_right_to_left_has_its_first_word_at_the_right():
    page = heat_map_html(HeatMap(np.array([[1.0, 0.5, 0.0]]), ["مرحبا", "بكم", "!"], ["hello"]))
    assert re.findall(r"rgb\((\d+),", page) == ["0", "128", "255"]
    assert re.findall(r">([^<>]+)</th>", page) == ["!", "بكم", "مرحبا", "hello"]


def test_labels_are_shortened_visible_and_escaped():
    heat_map = HeatMap(np.eye(1), ["x" * 100], ["<b>\x00"])
    assert heat_map.labels == (["x" * 27 + "…"], ["<b>␀"])
    assert "&lt;b&gt;␀" in heat_map_html(heat_map)


def test_eos_labels_the_row_and_the_column_beyond_the_segments():
    heat_map = segment_heat_map(np.zeros((3, 2)), ["a", "b"], ["x", "y"])
    assert (heat_map.source_words, heat_map.target_words) == (["a", "b"], ["x", "y", "</s>"])
    heat_map = segment_heat_map(np.zeros((2, 3)), ["a", "b"], ["x", "y"])
    assert (heat_map.source_words, heat_map.target_words) == (["a", "b", "</s>"], ["x", "y"])


def test_a_heat_map_of_nothing_is_an_empty_table():
    assert "<td" not in heat_map_html(HeatMap(np.zeros((0, 0)), [], []))


def test_weights_of_another_shape_than_the_words_are_refused():
    with pytest.raises(AssertionError):
        HeatMap(np.eye(2), ["a"], ["b", "c"])
