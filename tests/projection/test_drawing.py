"""Maps as pages, pictures and tables."""

import json
import re

import numpy as np
import pytest

from dragoman.errors import ConfigError
from dragoman.projection.drawing import MAX_LABELS, require_format, write_map
from dragoman.projection.reduction import Projection
from dragoman.projection.vectors import LabelledText

LINES = [
    LabelledText("dog", "animals"),
    LabelledText("</script><b>&", "signs"),
    LabelledText("猫 “x”", "animals"),
    LabelledText("a\u2028b", "signs"),
]
PLACES = Projection(np.array([[0.0, 1.0], [2.5, -1.25], [3.0, 4.0], [1.0, 1.0]]), ("across", "up"))


def test_the_page_holds_all_points_and_cannot_be_broken_by_their_text(tmp_path):
    path = tmp_path / "map.html"
    write_map(path, "4 words of <run>", LINES, PLACES)
    page = path.read_text(encoding="utf-8")
    assert "<title>4 words of &lt;run&gt;</title>" in page
    assert "<h1>4 words of &lt;run&gt;</h1>\n<div" in page
    assert page.count("</script>") == page.count("<script")
    values = json.loads(re.search(r'"points":(\[\{"x".*?\}\])', page).group(1))
    assert [(each["text"], each["group"]) for each in values] == LINES
    assert (values[1]["x"], values[1]["y"]) == (2.5, -1.25)
    assert [each["far_right"] for each in values] == [False, True, True, False]  # their text stands to the left
    assert "<script src" not in page  # nothing comes from elsewhere
    assert len(page) < 1_500_000


def test_few_points_are_labelled(tmp_path):
    path = tmp_path / "map.svg"
    write_map(path, "t", LINES, PLACES)
    assert ">dog<" in path.read_text(encoding="utf-8")
    many = [LabelledText(f"w{number}") for number in range(MAX_LABELS + 1)]
    places = Projection(np.random.default_rng(1).normal(size=(len(many), 2)), ("a", "b"))
    write_map(path, "t", many, places)
    assert ">w7<" not in path.read_text(encoding="utf-8")


def test_png_is_a_picture(tmp_path):
    path = tmp_path / "map.PNG"
    write_map(path, "t", LINES, PLACES)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_table_has_a_line_for_each_point(tmp_path):
    path = tmp_path / "map.tsv"
    write_map(path, "t", LINES, PLACES)
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")]
    assert rows[:3] == [
        ["x", "y", "group", "text"],
        ["0", "1", "animals", "dog"],
        ["2.5", "-1.25", "signs", "</script><b>&"],
    ]
    assert len(rows) == 6


@pytest.mark.parametrize("name", ["map.pdf", "map", "map.html.gz"])
def test_other_formats_are_refused_by_name(name):
    with pytest.raises(
        ConfigError, match=r"a map is written as \.html, \.svg, \.png, \.tsv; end the name in one of them"
    ):
        require_format(name)
