"""Learning curves from the records of log.jsonl, as SVG that takes its colours from the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

Records = Sequence[Mapping[str, Any]]
"""What `training.log.read_log` gives: one mapping a line, with `kind`, `update`, `seconds` and the measures."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement over the updates."""

    name: str
    kind: str
    """The kind of record it is read from."""
    key: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Measurements that share an axis."""

    title: str
    lines: tuple[Line, ...]
    logarithmic: bool = False


PANELS = (
    Panel("Loss, nats per token", (Line("training", "train", "loss"),)),
    Panel("Perplexity", (Line("training", "train", "perplexity"), Line("dev", "validation", "perplexity")), True),
    Panel("Score on the dev set", (Line("BLEU", "validation", "bleu"), Line("chrF", "validation", "chrf"))),
)

_INK = "#010203"
_COLOURS = {_INK: "currentColor", "#0a0b0c": "var(--first, #1f5fa8)", "#0d0e0f": "var(--second, #b5541c)"}
"""matplotlib knows no CSS; it draws in these stand-ins, which are then replaced by what the page decides."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, in the page's font
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.linewidth": 0.6,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "grid.color": _INK,
    "grid.alpha": 0.12,
    "lines.linewidth": 1.6,
    "font.size": 9,
    "legend.frameon": False,
}


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
        points = {line.name: _points(records, line) for line in panel.lines}
        drawn = {name: line for name, line in points.items() if len(line) > 1}
        if drawn:
            curves.append(Curve(panel.title, _draw(panel, drawn, _minutes_per_update(records), f"curve{number}")))
    return curves


def _points(records: Records, line: Line) -> list[tuple[int, float]]:
    """(update, value) of each record that has the measurement; null, for what is not finite, leaves a gap."""
    return [
        (record["update"], record[line.key])
        for record in records
        if record["kind"] == line.kind and record.get(line.key) is not None
    ]


def _minutes_per_update(records: Records) -> float:
    last = max(records, key=lambda record: int(record["update"]))
    return float(last["seconds"]) / 60 / max(1, int(last["update"]))


def _draw(panel: Panel, lines: Mapping[str, Sequence[tuple[int, float]]], pace: float, name: str) -> str:
    """The figure; `pace` in minutes per update makes the second axis, along the top."""
    # svg.hashsalt: ids depend on the content alone; without it every drawing differs.
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(3.6, 2.7), layout="constrained")
        axes = figure.add_subplot()
        for (label, points), colour in zip(lines.items(), list(_COLOURS)[1:], strict=False):
            updates, values = zip(*points, strict=True)
            axes.plot(updates, values, color=colour, label=label)
        if panel.logarithmic:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="y")
        axes.set_xlabel("updates")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if pace > 0:
            to_minutes: Callable[[Any], Any] = partial(np.multiply, pace)
            to_updates: Callable[[Any], Any] = partial(np.multiply, 1 / pace)
            minutes = axes.secondary_xaxis("top", functions=(to_minutes, to_updates))
            minutes.set_xlabel("minutes")
            minutes.xaxis.set_major_locator(MaxNLocator(5))
            minutes.spines["top"].set_visible(False)
        if len(lines) > 1:
            axes.legend()
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    return _adapted(file.getvalue(), name)


def _adapted(svg: str, name: str) -> str:
    """matplotlib's file as an element of a page: no prolog, ids that are unique there, colours of the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for stand_in, colour in _COLOURS.items():
        svg = svg.replace(stand_in, colour)
    return svg
