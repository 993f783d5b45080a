"""Learning curves: which lines are drawn from a log, always alike, in the page's colours."""

import re
import xml.etree.ElementTree as ET

from dragoman.report.curves import learning_curves


def log(updates=(100, 200, 300)) -> list[dict]:
    records = []
    for update in updates:
        moment = {"time": "2026-03-01T12:00:00+00:00", "seconds": update * 0.6, "update": update, "epoch": update / 100}
        records.append({"kind": "train", **moment, "loss": 500 / update, "perplexity": 9000 / update, "rate": 1e-3})
        records.append({"kind": "validation", **moment, "perplexity": 1e4 / update, "bleu": update / 10, "best": True})
    records.append({"kind": "event", **moment, "name": "end", "text": "enough"})
    return records


def test_what_was_measured_is_drawn():
    curves = learning_curves(log())
    assert [curve.title for curve in curves] == ["Loss, nats per token", "Perplexity", "Score on the dev set"]
    perplexity = curves[1].svg
    assert ">training<" in perplexity
    assert ">dev<" in perplexity
    assert ">minutes<" in perplexity


def test_what_was_not_measured_is_left_out():
    without_scores = [{key: value for key, value in record.items() if key != "bleu"} for record in log()]
    assert [curve.title for curve in learning_curves(without_scores)] == ["Loss, nats per token", "Perplexity"]


def test_one_point_is_no_curve_and_no_log_has_none():
    assert learning_curves(log(updates=(100,))) == []
    assert learning_curves([]) == []


def test_a_measurement_that_was_not_finite_leaves_a_gap():
    records = log()
    records[0]["loss"] = None
    assert len(learning_curves(records)) == 3


def test_the_same_log_gives_the_same_bytes():
    assert learning_curves(log()) == learning_curves(log())


def test_figures_are_elements_that_can_stand_together_on_a_page():
    curves = learning_curves(log())
    ids = [name for curve in curves for name in re.findall(r'\bid="([^"]*)"', curve.svg)]
    assert len(ids) == len(set(ids)) > 0
    for curve in curves:
        assert curve.svg.startswith("<svg")
        ET.fromstring(curve.svg)
        own = set(re.findall(r'\bid="([^"]*)"', curve.svg))
        assert set(re.findall(r'(?:url\(|href=")#([^")]*)', curve.svg)) <= own


def test_colours_are_the_pages_and_no_date_is_inside():
    for curve in learning_curves(log()):
        assert "currentColor" in curve.svg
        assert "var(--first" in curve.svg
        assert not re.search(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]", curve.svg)
        assert "#ffffff" not in curve.svg
        assert "<dc:" not in curve.svg


def test_words_in_figures_are_text():
    assert "<text" in learning_curves(log())[0].svg
