"""Curves: of log.jsonl and of slices of a test set on the report page, and of several runs in one figure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.report.charts import FEW, LINES, Chart, ChartLine, draw
from dragoman.report.fonts import warn_of_missing_letters
from dragoman.report.pictures import FORMATS, as_file, drawing, format_of, legend_label, make_logarithmic
from dragoman.text.lines import replace_file

Records = Sequence[Mapping[str, Any]]
"""Records as read by `training.log.read_log`: mappings with `kind`, `update`, `seconds` and the measurements."""

Along = Literal["updates", "epochs", "minutes"]
"""The x axis of a learning curve."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement recorded in log.jsonl."""

    kind: str
    """Kind of the records that have it, under `key`."""
    key: str
    axis: str
    """Label of the y axis."""
    logarithmic: bool = False


MEASUREMENTS = {
    "perplexity": Measurement("validation", "perplexity", "perplexity of the dev set", logarithmic=True),
    "bleu": Measurement("validation", "bleu", "BLEU of the dev set"),
    "chrf": Measurement("validation", "chrf", "chrF of the dev set"),
    "accuracy": Measurement("validation", "accuracy", "accuracy on the dev set, %"),
    "loss": Measurement("train", "loss", "training loss, nats per token"),
    "training-perplexity": Measurement("train", "perplexity", "perplexity in training", logarithmic=True),
}
"""By the names of the command line."""

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


@dataclass(frozen=True, slots=True)
class Curve:
    """A chart of the page with its title."""

    title: str
    svg: str
    """An `<svg>` element; deterministic, with ids that are unique on the page."""


def learning_curves(records: Records) -> list[Curve]:
    """Return a chart for each panel with at least two points on a line."""
    curves = []
    for number, panel in enumerate(PANELS):
        lines = [ChartLine(name, points(records, measurement)) for name, measurement in panel.lines]
        drawn = [line for line in lines if len(line.points) > 1]
        if drawn:
            chart = Chart(
                f"curve{number}",
                drawn,
                "updates",
                logarithmic=panel.logarithmic,
                minutes_per_x=_minutes_per_update(records),
            )
            curves.append(Curve(panel.title, draw(chart)))
    return curves


def slice_curves(evaluations: Mapping[str, Evaluation], slicing: str, metrics: Sequence[str]) -> list[Curve]:
    """Return a chart per metric of its scores over the slices of a test set, with a line per system.

    `evaluations` are by names of systems. The first must have the slicing of that name; others without it are left out.
    With fewer than three slices, or fewer than two of enough sentences for a line, there is no chart.
    """
    tables = {
        system: table
        for system, evaluation in evaluations.items()
        for table in evaluation.slicings
        if table.name == slicing
    }
    parts = next(iter(tables.values())).slices
    if len(parts) < 3 or sum(part.sentences >= FEW for part in parts) < 2:
        return []
    return [
        Curve(
            metric,
            draw(
                Chart(
                    f"slices{number}-{_identifier(slicing)}",
                    [ChartLine(name, _by_slice(table, metric)) for name, table in tables.items()][:LINES],
                    slicing.partition(",")[0],
                    x_words={float(place): part.label.replace("-", "–") for place, part in enumerate(parts)},
                    sizes=[(float(place), part.sentences) for place, part in enumerate(parts)],
                )
            ),
        )
        for number, metric in enumerate(metrics)
    ]


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "-", name)


def _by_slice(table: SliceTable, metric: str) -> list[tuple[float, float]]:
    return [
        (float(place), score.value)
        for place, part in enumerate(table.slices)
        for score in part.scores
        if score.name == metric
    ]


def _minutes_per_update(records: Records) -> float:
    last = max(records, key=lambda record: int(record["update"]))
    return float(last["seconds"]) / 60 / max(1, int(last["update"]))


# Several runs in one figure (Luong et al. 2015, figure 5) -------------------------------------------------------------


def require_picture(path: str | Path) -> None:
    """Check the suffix of a picture file.

    Raises:
        ConfigError: the suffix names no supported format.
    """
    if format_of(path) not in FORMATS:
        raise ConfigError(f"{path}: curves are drawn as .{', .'.join(FORMATS)}; end the name in one of them")


def draw_curves(path: str | Path, runs: Mapping[str, Records], measurement: Measurement, along: Along) -> None:
    """Draw a line for each run that has the measurement.

    Raises:
        InputError: no run has the measurement, or the file cannot be written.
    """
    lines = {name: points(records, measurement, along) for name, records in runs.items()}
    drawn = {name: curve for name, curve in lines.items() if curve}
    if not drawn:
        raise InputError(f"no run has measured {measurement.key} in its log.jsonl; choose another --metric")
    kind = format_of(path)
    warn_of_missing_letters(drawn, pictures=kind != "svg", page=kind == "svg")
    with drawing({"svg.fonttype": "none", "font.size": 10}, "curves", list(drawn)):  # text stays text in SVG
        file = as_file(_figure(drawn, measurement, along), kind, dpi=150)
    with replace_file(path, binary=True) as out:
        out.write(file)


def _figure(lines: Mapping[str, Sequence[tuple[float, float]]], measurement: Measurement, along: Along) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in lines.items():
        places, values = zip(*curve, strict=True)
        axes.plot(places, values, marker="." if len(curve) < 40 else None, label=legend_label(name))
    if measurement.logarithmic:
        make_logarithmic(axes)
    axes.set_xlabel(along)
    axes.set_ylabel(measurement.axis)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=along != "minutes"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.legend(frameon=False)
    return figure
