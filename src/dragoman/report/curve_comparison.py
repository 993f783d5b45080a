"""Learning curves of several runs in one figure (Luong et al. 2015, figure 5): PNG, SVG or PDF by matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.errors import ConfigError, InputError
from dragoman.report.charts import legend_label
from dragoman.report.fonts import font_families, warn_of_missing_letters
from dragoman.report.measurements import Along, Measurement, Records, points
from dragoman.report.ticks import make_logarithmic
from dragoman.text.lines import replace_file

FORMATS = ("png", "svg", "pdf")


def require_picture(path: str | Path) -> None:
    """Check the suffix of a picture file.

    Raises:
        ConfigError: the suffix names no supported format.
    """
    if Path(path).suffix.lower().lstrip(".") not in FORMATS:
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
    kind = Path(path).suffix.lower().lstrip(".")
    warn_of_missing_letters(drawn, pictures=kind != "svg", page=kind == "svg")
    # Text stays text in SVG, and the file is deterministic.
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "curves", "font.size": 10}
    with mpl.rc_context({**style, "font.family": font_families(drawn)}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # told above
        figure = _figure(drawn, measurement, along)
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        with replace_file(path, binary=True) as file:
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)


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
