"""Learning curves of several runs in one figure (Luong et al. 2015, figure 5): PNG, SVG or PDF by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.errors import ConfigError, InputError
from dragoman.report.page_curves import Records
from dragoman.text.lines import replace_file

FORMATS = ("png", "svg", "pdf")

Along = Literal["updates", "epochs", "minutes"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measurement recorded in log.jsonl."""

    kind: str
    """Kind of the records that have it, under `key`."""
    key: str
    axis: str
    logarithmic: bool = False


MEASURES = {
    "perplexity": Measure("validation", "perplexity", "perplexity of the dev set", logarithmic=True),
    "bleu": Measure("validation", "bleu", "BLEU of the dev set"),
    "chrf": Measure("validation", "chrf", "chrF of the dev set"),
    "loss": Measure("train", "loss", "training loss, nats per token"),
    "training-perplexity": Measure("train", "perplexity", "perplexity in training", logarithmic=True),
}
"""The measurements that can be drawn, by name."""

_KEYS: dict[Along, tuple[str, float]] = {
    "updates": ("update", 1.0),
    "epochs": ("epoch", 1.0),
    "minutes": ("seconds", 60.0),
}
"""The key of the x axis in a record, and the divisor of its unit."""


def require_picture(path: str | Path) -> None:
    """Check the suffix of a picture file.

    Raises:
        ConfigError: the suffix names no supported format.
    """
    if Path(path).suffix.lower().lstrip(".") not in FORMATS:
        raise ConfigError(f"{path}: curves are drawn as .{', .'.join(FORMATS)}; end the name in one of them")


def curve(records: Records, measure: Measure, along: Along) -> list[tuple[float, float]]:
    """Return (x, value) of each record that has the measurement, oldest first."""
    key, unit = _KEYS[along]
    return [
        (record[key] / unit, record[measure.key])
        for record in records
        if record["kind"] == measure.kind and record.get(measure.key) is not None
    ]


def draw_curves(path: str | Path, runs: Mapping[str, Records], measure: Measure, along: Along) -> None:
    """Draw a line for each run that has the measurement.

    Raises:
        InputError: no run has the measurement, or the file cannot be written.
    """
    lines = {name: curve(records, measure, along) for name, records in runs.items()}
    drawn = {name: points for name, points in lines.items() if points}
    if not drawn:
        raise InputError(f"no run has measured {measure.key} in its log.jsonl; choose another --measure")
    # Text stays text in SVG, and the file is deterministic.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "curves", "font.size": 10}):
        figure = _figure(drawn, measure, along)
        kind = Path(path).suffix.lower().lstrip(".")
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        with replace_file(path, binary=True) as file:
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)


def _figure(lines: Mapping[str, Sequence[tuple[float, float]]], measure: Measure, along: Along) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, points in lines.items():
        places, values = zip(*points, strict=True)
        axes.plot(places, values, marker="." if len(points) < 40 else None, label=name)
    if measure.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel(along)
    axes.set_ylabel(measure.axis)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=along != "minutes"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.legend(frameon=False)
    return figure
