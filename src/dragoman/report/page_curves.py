"""Which curves a page shows: of a training, from the records of log.jsonl, and of scores by parts of a test set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.report.charts import LINES, Chart, ChartLine, draw

Records = Sequence[Mapping[str, Any]]
"""What `training.log.read_log` gives: one mapping a line, with `kind`, `update`, `seconds` and the measures."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a line of a learning curve shows."""

    name: str
    kind: str
    """The kind of record it is read from."""
    key: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Measurements that share an axis."""

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
    """A figure of the page."""

    title: str
    svg: str
    """An `<svg>` element, the same for the same records; its ids are its own on the page."""


def learning_curves(records: Records) -> list[Curve]:
    """One figure for each panel of which at least two points of a line were measured."""
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
    """How each of the metrics changes over the parts of a test set: a figure a metric, a line a system.

    `evaluations` by the names of systems, of which the first has the slicing of that name; those that lack it are left
    out. A division into one or two parts makes no curve.
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
    """(update, value) of each record that has the measurement; null, for what is not finite, leaves a gap."""
    return [
        (record["update"], record[line.key])
        for record in records
        if record["kind"] == line.kind and record.get(line.key) is not None
    ]


def _minutes_per_update(records: Records) -> float:
    last = max(records, key=lambda record: int(record["update"]))
    return float(last["seconds"]) / 60 / max(1, int(last["update"]))
