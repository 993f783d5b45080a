"""Curves of several runs in one picture."""

from __future__ import annotations

import logging
from itertools import combinations

import pytest

from dragoman.errors import ConfigError, InputError
from dragoman.report.curves import MEASUREMENTS, curves_figure, draw_curves, points, require_picture


def records(*perplexities):
    train = {"kind": "train", "update": 5, "epoch": 0.5, "seconds": 30.0, "loss": 4.0, "perplexity": 60.0}
    return [
        train,
        *(
            {
                "kind": "validation",
                "update": 10 * number,
                "epoch": number,
                "seconds": 90.0 * number,
                "perplexity": value,
            }
            for number, value in enumerate(perplexities, 1)
        ),
    ]


@pytest.mark.parametrize(("along", "places"), [("updates", [10, 30]), ("epochs", [1, 3]), ("minutes", [1.5, 4.5])])
def test_a_curve_has_what_was_measured_as_a_number(along, places):
    found = points(records(50.0, None, 20.0), MEASUREMENTS["perplexity"], along)
    assert found == list(zip(places, [50.0, 20.0], strict=True))
    assert points(records(), MEASUREMENTS["loss"], "updates") == [(5, 4.0)]


@pytest.mark.parametrize("name", ["c.png", "c.svg", "c.PDF"])
def test_curves_are_drawn_in_the_format_of_the_name(name, tmp_path, caplog):
    path = tmp_path / name
    runs = {"one <run>": records(50.0, 30.0), "other": records(40.0, 20.0, 15.0), "none": []}
    require_picture(path)
    draw_curves(path, runs, MEASUREMENTS["perplexity"], "updates")
    assert caplog.messages == ["no line of none: perplexity is not in its log.jsonl"]
    written = path.read_bytes()
    draw_curves(path, runs, MEASUREMENTS["perplexity"], "updates")
    assert path.read_bytes() == written
    if name.endswith("svg"):
        drawing = written.decode()
        assert "one &lt;run&gt;" in drawing
        assert "perplexity of the dev set" in drawing
        assert ">none<" not in drawing
    else:
        assert written.startswith((b"\x89PNG", b"%PDF"))


@pytest.mark.parametrize("values", [(4.9, 4.4, 4.1), (60.0, 12.0, 3.0), (200.0, 150.0, 110.0), (4e4, 500.0, 3.0)])
def test_labels_of_ticks_do_not_overlap(values):
    drawn = curves_figure({"one": list(enumerate(values))}, MEASUREMENTS["perplexity"], "updates")
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    for axis in (axes.xaxis, axes.yaxis):
        labels = [label for label in axis.get_ticklabels(which="both") if label.get_text()]
        boxes = [label.get_window_extent() for label in labels]
        shown = [box for box in boxes if axes.bbox.y0 - 30 <= box.y0 <= axes.bbox.y1]
        assert len(shown) >= 3
        assert not any(one.overlaps(other) for one, other in combinations(shown, 2))


def test_names_of_runs_are_shown_as_they_are(tmp_path, caplog):
    runs = {name: records(50.0, 30.0) for name in ("_a", "b$2$", "\U000e0fff")}
    with caplog.at_level(logging.WARNING):  # warnings of matplotlib itself would be errors here
        draw_curves(tmp_path / "c.svg", runs, MEASUREMENTS["perplexity"], "updates")
        draw_curves(tmp_path / "c.png", runs, MEASUREMENTS["perplexity"], "updates")
    drawing = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert all(name in drawing for name in runs)
    browser, boxes = caplog.messages
    assert "a browser draws them as boxes" in browser
    assert "; they are drawn as boxes" in boxes


def test_a_measurement_that_no_run_has_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"no run has measured bleu in its log\.jsonl; choose another --metric"):
        draw_curves(tmp_path / "c.svg", {"one": records(5.0)}, MEASUREMENTS["bleu"], "updates")
    assert not list(tmp_path.iterdir())


def test_other_formats_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"c\.gif: curves are drawn as \.png, \.svg, \.pdf"):
        require_picture("c.gif")
