"""The curves of the report page: learning curves from log.jsonl, and scores by slices of a test set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.report.charts import FEW, LINES, Chart, ChartLine, draw
from dragoman.report.measurements import MEASUREMENTS, Measurement, Records, points


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
