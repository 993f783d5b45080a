"""The picture of alignment weights: every weight a cell of its shade, every word readable, in files of three kinds."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from dragoman.alignment.heat_map import HeatMap
from dragoman.errors import InputError
from dragoman.report.heat_map_file import heat_map_file, write_heat_map


def picture(weights, source, target, scale="paper", **more) -> np.ndarray:
    """The cells of the PNG file, top to bottom and left to right: the colour in the middle of each, [J, I, 3]."""
    weights = np.array(weights, dtype=np.float32)
    file = heat_map_file(HeatMap(weights, source, target, **more), "png", scale)
    pixels = np.asarray(Image.open(io.BytesIO(file)).convert("RGB")).astype(int)
    # The lowest long dark line is the frame's; cells are all of one size inside it.
    dark = (pixels < 60).all(axis=2)
    bottom = np.flatnonzero(dark.sum(axis=1) >= dark.sum(axis=1).max() * 0.85)[-1]
    left, right = np.flatnonzero(dark[bottom])[[0, -1]]
    cell = (right - left) / weights.shape[1]
    rows = [bottom - cell * (weights.shape[0] - row - 0.5) for row in range(weights.shape[0])]
    columns = [left + cell * (column + 0.5) for column in range(weights.shape[1])]
    return np.array([[pixels[round(y), round(x)] for x in columns] for y in rows])


def test_weights_are_grey_from_black_for_0_to_white_for_1_as_in_the_paper():
    weights = [[0.0, 0.5, 1.0], [0.25, 0.75, 0.0]]
    shades = picture(weights, ["a", "b", "c"], ["x", "y"])
    np.testing.assert_allclose(shades / 255, np.repeat(np.array(weights)[:, :, None], 3, axis=2), atol=0.01)


def test_the_modern_scale_is_viridis():
    shades = picture([[0.0, 1.0]], ["a", "b"], ["x"], "modern")
    np.testing.assert_allclose(shades[0], [[68, 1, 84], [253, 231, 37]], atol=2)


def test_a_source_that_runs_from_right_to_left_has_its_first_word_at_the_right():
    shades = picture([[1.0, 0.5, 0.0]], ["مرحبا", "بكم", "!"], ["hello"])
    assert shades[0, :, 0].tolist() == pytest.approx([0, 128, 255], abs=2)


def test_the_centre_of_a_window_is_marked_at_its_place():
    plain = picture(np.zeros((2, 3)), ["a", "b", "c"], ["x", "y"])
    marked = picture(
        np.zeros((2, 3)), ["a", "b", "c"], ["x", "y"], windows=np.array([[2.0, 0.5, 2.5], [np.nan, np.nan, np.nan]])
    )
    assert (plain == 0).all()
    assert marked[0, 2].tolist() == pytest.approx([255, 90, 54], abs=3)
    assert (marked[1] == 0).all()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_input_gives_the_same_bytes(kind):
    heat_map = HeatMap(np.eye(2), ["a", "$b$"], ["c", "d"])
    assert heat_map_file(heat_map, kind) == heat_map_file(heat_map, kind)


def test_an_svg_file_has_the_outlines_of_letters_so_that_it_looks_the_same_everywhere():
    svg = heat_map_file(HeatMap(np.eye(1), ["a"], ["b"]), "svg").decode()
    assert "<text" not in svg
    assert svg.count("<use ") >= 2


def test_letters_that_no_font_has_are_drawn_without_a_warning():
    assert heat_map_file(HeatMap(np.eye(1), ["\U000e0fff"], ["a"]), "png").startswith(b"\x89PNG")


def test_a_dollar_sign_begins_no_formula():
    assert heat_map_file(HeatMap(np.eye(1), ["$x$"], ["$"]), "svg") != heat_map_file(
        HeatMap(np.eye(1), ["x"], ["$"]), "svg"
    )


def test_an_empty_heat_map_is_drawn():
    assert heat_map_file(HeatMap(np.zeros((0, 0)), [], []), "png").startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "missing" / "1.png"
    with pytest.raises(InputError, match=re.escape(str(path))):
        write_heat_map(path, HeatMap(np.eye(1), ["a"], ["b"]))
