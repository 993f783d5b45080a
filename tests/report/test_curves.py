"""Curves: which lines are drawn from a log or from slices, always alike, in the page's colours."""

import re
import xml.etree.ElementTree as ET

import pytest

from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.slices import by_length
from dragoman.report.charts import COLUMNS
from dragoman.report.curves import learning_curves, slice_curves


def log(updates=(100, 200, 300)) -> list[dict]:
    records = []
    for update in updates:
        moment = {"time": "2026-03-01T12:00:00+00:00", "seconds": update * 0.6, "update": update, "epoch": update / 100}
        records.append({"kind": "train", **moment, "loss": 500 / update, "perplexity": 9000 / update, "rate": 1e-3})
        records.append({"kind": "validation", **moment, "perplexity": 1e4 / update, "bleu": update / 10, "best": True})
    records.append({"kind": "event", **moment, "name": "end", "text": "enough"})
    return records


def test_measurements_are_drawn():
    curves = learning_curves(log())
    assert [curve.title for curve in curves] == ["Loss, nats per token", "Perplexity", "Score on the dev set"]
    perplexity = curves[1].svg
    assert ">training<" in perplexity
    assert ">dev<" in perplexity
    assert ">minutes<" in perplexity


def test_missing_measurements_have_no_chart():
    without_scores = [{key: value for key, value in record.items() if key != "bleu"} for record in log()]
    assert [curve.title for curve in learning_curves(without_scores)] == ["Loss, nats per token", "Perplexity"]


def test_a_single_point_and_an_empty_log_have_no_chart():
    assert learning_curves(log(updates=(100,))) == []
    assert learning_curves([]) == []


def test_a_measurement_that_was_not_finite_leaves_a_gap():
    records = log()
    records[0]["loss"] = None
    assert len(learning_curves(records)) == 3


def test_the_same_log_gives_the_same_bytes():
    assert learning_curves(log()) == learning_curves(log())


def test_charts_have_unique_ids_on_a_page():
    curves = learning_curves(log())
    ids = [name for curve in curves for name in re.findall(r'\bid="([^"]*)"', curve.svg)]
    assert len(ids) == len(set(ids)) > 0
    for curve in curves:
        assert curve.svg.startswith("<svg")
        ET.fromstring(curve.svg)
        own = set(re.findall(r'\bid="([^"]*)"', curve.svg))
        assert set(re.findall(r'(?:url\(|href=")#([^")]*)', curve.svg)) <= own


def test_charts_have_the_colours_of_the_page_and_no_date():
    for curve in learning_curves(log()):
        assert "currentColor" in curve.svg
        assert "var(--first" in curve.svg
        assert not re.search(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]", curve.svg)
        assert "#ffffff" not in curve.svg
        assert "<dc:" not in curve.svg


def test_labels_of_charts_are_text():
    assert "<text" in learning_curves(log())[0].svg


def evaluation(worse: bool = False):
    sources = ["a " * length for length in (3, 7, 12, 12) for _ in range(10)]
    references = ["b c d e f g h i" for _ in sources]
    hypotheses = ["b c d e x x x x" if worse else line for line in references]
    return evaluate(hypotheses, references, slicings=[by_length(sources, "source")])


def test_scores_of_slices_are_a_line_for_each_system_with_the_sizes_of_slices():
    name = "source length in words"
    (bleu,) = slice_curves({"one": evaluation(), "other": evaluation(worse=True)}, name, ["BLEU"])
    said = re.findall("<title>(.*?)</title>", bleu.svg)
    assert bleu.title == "BLEU"
    assert said[0].startswith(f"{name} 0–4 · one 100.00 · other ")
    assert [words.rpartition(" · ")[2] for words in said] == ["10 sentences", "10 sentences", "20 sentences"]
    assert ">one<" in bleu.svg
    assert ">other<" in bleu.svg


def slices(*sizes: int):
    """BLEU over slices of so many sentences."""
    sources = ["a " * (5 * place + 1) for place, size in enumerate(sizes) for _ in range(size)]
    found = evaluate(["b c d e"] * len(sources), ["b c d e"] * len(sources), slicings=[by_length(sources, "source")])
    return slice_curves({"one": found}, "source length in words", ["BLEU"])


def test_no_line_is_drawn_through_a_slice_of_few_sentences():
    (bleu,) = slices(12, 3, 20, 15)
    lines = re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="fill: none; stroke: var\(--first\)', bleu.svg)
    assert [line.count("L") for line in lines] == [1]  # from the third slice to the fourth
    assert " · one 100.00 · 3 sentences</title>" in bleu.svg  # its score can be pointed at all the same
    assert all(f">{size}<" in bleu.svg for size in (12, 3, 20, 15))
    assert slices(1, 1, 30) == []  # one slice alone makes no line


def test_scores_and_losses_begin_at_zero():
    for curve in (*slices(12, 12, 12), *learning_curves(log())):
        assert bool(re.search(r">0(\.0+)?<", curve.svg)) == (curve.title != "Perplexity")


def test_one_or_two_slices_make_no_curve():
    table = evaluate(["a"], ["a"], slicings=[by_length(["a"], "source")])
    assert slice_curves({"one": table}, "source length in words", ["BLEU"]) == []


def test_every_x_value_has_a_hover_column_and_the_chart_a_description():
    svg = learning_curves(log())[1].svg
    assert re.findall('<g class="column"><title>(.*?)</title>', svg) == [
        "updates 100 · training 90.00 · dev 100.00",
        "updates 200 · training 45.00 · dev 50.00",
        "updates 300 · training 30.00 · dev 33.33",
    ]
    told = ET.fromstring(svg).get("aria-label")
    assert told == "Line chart over updates. training: 90.00 at 100, 30.00 at 300; dev: 100.00 at 100, 33.33 at 300."


def test_columns_lie_where_matplotlib_drew_the_points():
    """The circles of a line with few points are matplotlib's own marks: ours must have the same centres."""
    svg = ET.fromstring(learning_curves(log())[0].svg)
    space = "{http://www.w3.org/2000/svg}"
    ours = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in svg.iter(f"{space}circle")]
    marks = [
        (float(mark.get("x")), float(mark.get("y")))
        for mark in svg.iter(f"{space}use")
        if "var(--first)" in mark.get("style", "")
    ]
    assert len(ours) == 3
    for (x, y), (mark_x, mark_y) in zip(ours, marks[:3], strict=True):
        assert abs(x - mark_x) < 0.1
        assert abs(y - mark_y) < 0.1


def test_a_long_log_has_some_hover_columns_and_one_for_each_validation():
    long = [record for update in range(1, 3001) for record in log((update,)) if record["kind"] == "train"]
    validations = [record for record in log(range(100, 3001, 100)) if record["kind"] == "validation"]
    loss, perplexity, _ = learning_curves([*long, *validations])
    assert loss.svg.count('class="column"') <= COLUMNS
    assert perplexity.svg.count(" · dev ") == 30
    assert len(loss.svg) + len(perplexity.svg) < 200_000


@pytest.mark.parametrize("name", ["_hidden", "a$b$c", "漢字", "<b>&amp;", "tab\there"])
def test_any_name_of_a_system_is_shown_as_it_is(name):
    (bleu,) = slice_curves({"one": evaluation(), name: evaluation(worse=True)}, "source length in words", ["BLEU"])
    texts = [
        "".join(text.itertext()).strip("\u200b") for text in ET.fromstring(bleu.svg).iter() if text.tag.endswith("text")
    ]
    assert name.replace("\t", "␉") in texts
