"""Curves: of log.jsonl and of slices of a test set on the report page, and of several runs in one figure."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.evaluate import Evaluation
from dragoman.report.charts import FEW, LINES, Chart, draw
from dragoman.report.fonts import warn_of_missing_letters
from dragoman.report.pictures import FORMATS, LINE_STYLE, Lines, as_file, drawing, format_of, plot_lines
from dragoman.requests.pictures import Along
from dragoman.text.lines import replace_file

log = logging.getLogger(__name__)

Records = Sequence[Mapping[str, Any]]
"""Records as read by `training.log.read_log`: mappings with `kind`, `update`, `seconds` and the measurements."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement recorded in log.jsonl."""

    kind: str
    """Kind of the records that have it, under `key`."""
    key: str
    axis: str
    """Label of the y axis."""
    logarithmic: bool = False


MEASUREMENTS: Mapping[str, Measurement] = {
    "perplexity": Measurement("validation", "perplexity", "perplexity of the dev set", logarithmic=True),
    "bleu": Measurement("validation", "bleu", "BLEU of the dev set"),
    "chrf": Measurement("validation", "chrf", "chrF of the dev set"),
    "accuracy": Measurement("validation", "accuracy", "accuracy on the dev set, %"),
    "loss": Measurement("train", "loss", "training loss, nats per token"),
    "training-perplexity": Measurement("train", "perplexity", "perplexity in training", logarithmic=True),
}
_KEYS: dict[Along, tuple[str, float]] = {
    "updates": ("update", 1.0),
    "epochs": ("epoch", 1.0),
    "minutes": ("seconds", 60.0),
}
"""The key of the x axis in a record, and the divisor of its unit."""


def points(records: Records, measurement: Measurement, along: Along = "updates") -> list[tuple[float, float]]:
    """Return (x, value) of each record that has the measurement, oldest first; null (not finite) is skipped."""
    key, unit = _KEYS[along]
    return [
        (record[key] / unit, record[measurement.key])
        for record in records
        if record["kind"] == measurement.kind and record.get(measurement.key) is not None
    ]


# The report page ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Panel:
    """Measurements that share a chart."""

    title: str
    lines: tuple[tuple[str, Measurement], ...]
    """Name and measurement of each line."""
    logarithmic: bool = False


PANELS = (
    Panel("Loss, nats per token", (("training", MEASUREMENTS["loss"]),)),
    Panel(
        "Perplexity",
        (("training", MEASUREMENTS["training-perplexity"]), ("dev", MEASUREMENTS["perplexity"])),
        logarithmic=True,
    ),
    Panel(
        "Score on the dev set",
        tuple((name, MEASUREMENTS[name.lower()]) for name in ("BLEU", "chrF", "accuracy")),
    ),
)


class Curve(NamedTuple):
    """A chart of the page with its title."""

    title: str
    svg: Markup
    """An `<svg>` element; deterministic, with ids that are unique on the page."""


def learning_curves(records: Records) -> list[Curve]:
    """Return a chart for each panel with at least two points on a line."""
    curves = []
    for number, panel in enumerate(PANELS):
        lines = {name: points(records, measurement) for name, measurement in panel.lines}
        drawn = {name: line for name, line in lines.items() if len(line) > 1}
        if drawn:
            last = max(records, key=lambda record: int(record["update"]))
            chart = Chart(
                f"curve{number}",
                drawn,
                "updates",
                logarithmic=panel.logarithmic,
                minutes_per_x=float(last["seconds"]) / 60 / max(1, int(last["update"])),
            )
            curves.append(Curve(panel.title, Markup(draw(chart))))
    return curves


def slice_curves(evaluations: Mapping[str, Evaluation], slicing: str, metrics: Sequence[str]) -> list[Curve]:
    """Return a chart per metric of its scores over the slices of a test set, with a line per system.

    `evaluations` are by names of systems. The first must have the slicing of that name; others without it are left out.
    With fewer than three slices, or fewer than two of enough sentences for a line, there is no chart.
    """
    slices = {
        system: table.slices
        for system, evaluation in evaluations.items()
        for table in evaluation.slicings
        if table.name == slicing
    }
    parts = next(iter(slices.values()))
    if len(parts) < 3 or sum(part.sentences >= FEW for part in parts) < 2:
        return []
    curves = []
    for number, metric in enumerate(metrics):
        lines = {
            name: [
                (float(index), score.value)
                for index, part in enumerate(of_system)
                for score in part.scores
                if score.name == metric
            ]
            for name, of_system in islice(slices.items(), LINES)
        }
        chart = Chart(
            f"slices{number}-{re.sub('[^a-zA-Z0-9_]+', '-', slicing)}",
            lines,
            slicing.partition(",")[0],
            x_words={float(index): part.label.replace("-", "–") for index, part in enumerate(parts)},
            sizes={float(index): part.sentences for index, part in enumerate(parts)},
        )
        curves.append(Curve(metric, Markup(draw(chart))))
    return curves


# Several runs in one figure (Luong et al. 2015, figure 5) -------------------------------------------------------------


def require_picture(path: str | Path) -> None:
    """Check the suffix of a picture file.

    Raises:
        ConfigError: the suffix names no supported format.
    """
    if format_of(path) not in FORMATS:
        raise ConfigError(f"{path}: curves are drawn as .{', .'.join(FORMATS)}; end the name in one of them")


def draw_curves(path: str | Path, runs: Mapping[str, Records], measurement: Measurement, along: Along) -> None:
    """Draw a line for each run that has the measurement; warns of the others.

    Raises:
        InputError: no run has the measurement, or the file cannot be written.
    """
    lines = {name: points(records, measurement, along) for name, records in runs.items()}
    drawn = {name: line for name, line in lines.items() if line}
    if not drawn:
        raise InputError(f"no run has measured {measurement.key} in its log.jsonl; choose another --metric")
    if len(drawn) < len(lines):
        without = ", ".join(name for name in lines if name not in drawn)
        log.warning("no line of %s: %s is not in its log.jsonl", without, measurement.key)
    kind = format_of(path)
    warn_of_missing_letters(drawn, pictures=kind != "svg", page=kind == "svg")
    with drawing({**LINE_STYLE, "font.size": 10}, "curves", list(drawn)):
        file = as_file(curves_figure(drawn, measurement, along), kind, dpi=150)
    with replace_file(path, binary=True) as out:
        out.write(file)


def curves_figure(lines: Lines, measurement: Measurement, along: Along) -> Figure:
    """Return the figure with a line for each run."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    plot_lines(axes, lines, along, measurement.axis, logarithmic=measurement.logarithmic)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=along != "minutes"))
    return figure
