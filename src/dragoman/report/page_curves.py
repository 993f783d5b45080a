"""The curves of the report page: learning curves from log.jsonl, and scores by slices of a test set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.report.charts import LINES, Chart, ChartLine, draw

Records = Sequence[Mapping[str, Any]]
"""Records as read by `training.log.read_log`: mappings with `kind`, `update`, `seconds` and the measurements."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement that one line of a learning curve shows."""

    name: str
    kind: str
    """Kind of the records that have it, under `key`."""
    key: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Measurements that share a chart."""

    title: str
    lines: tuple[Measurement, ...]
    logarithmic: bool = False


PANELS = (
    Panel("Loss, nats per token", (Measurement("training", "train", "loss"),)),
    Panel(
        "Perplexity",
        (Measurement("training", "train", "perplexity"), Measurement("dev", "validation", "perplexity")),
        logarithmic=True,
    ),
    Panel(
        "Score on the dev set", (Measurement("BLEU", "validation", "bleu"), Measurement("chrF", "validation", "chrf"))
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
        lines = [ChartLine(line.name, _points(records, line)) for line in panel.lines]
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
    With fewer than three slices there is no chart.
    """
    tables = {
        system: table
        for system, evaluation in evaluations.items()
        for table in evaluation.slicings
        if table.name == slicing
    }
    parts = next(iter(tables.values())).slices
    if len(parts) < 3:
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


def _points(records: Records, line: Measurement) -> list[tuple[float, float]]:
    """Return (update, value) of each record that has the measurement; null (not finite) is skipped."""
    return [
        (record["update"], record[line.key])
        for record in records
        if record["kind"] == line.kind and record.get(line.key) is not None
    ]


def _minutes_per_update(records: Records) -> float:
    last = max(records, key=lambda record: int(record["update"]))
    return float(last["seconds"]) / 60 / max(1, int(last["update"]))
