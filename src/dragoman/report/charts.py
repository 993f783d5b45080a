"""Line charts of the report page: SVG drawn by matplotlib that takes its colours from the page.

A chart is a static picture of a few kilobytes, so it prints and needs no script. Invisible columns lie over it, one for
each point of the x axis, with the values there as text: hovering shows a cursor by CSS alone, and `script.js` writes
the values below the chart and moves between columns with the arrow keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.report.pictures import as_file, drawing, legend_label, make_logarithmic

_INK = "#010203"
_COLOURS = {
    _INK: "currentColor",
    "#0a0b0c": "var(--first)",
    "#0d0e0f": "var(--second)",
    "#111213": "var(--third)",
    "#141516": "var(--fourth)",
}
"""matplotlib has no CSS colours: it draws in these placeholders, which are then replaced by those of the page."""

_DASHES = ("-", "--", "-.", ":")
"""Line styles, one for each colour, so that lines can be told apart without colours."""

_DOTS = 72
"""Dots per inch of a figure; one dot is one SVG unit."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, in the font of the page
    "figure.dpi": _DOTS,
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
class ChartLine:
    """One measurement over the x axis, in ascending order."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """The content of a chart."""

    name: str
    """Prefix of its ids; unique on the page."""
    lines: Sequence[ChartLine]
    """At most the first `LINES` are drawn."""
    x_name: str
    x_words: dict[float, str] = field(default_factory=dict)
    """Labels of points of the x axis; without them its numbers are shown."""
    logarithmic: bool = False
    minutes_per_x: float = 0.0
    """If above 0, a second axis in minutes is drawn along the top."""
    sizes: Sequence[tuple[float, int]] = ()
    """Number of sentences at each x, drawn as bars from the bottom; points of fewer than `FEW` are not connected."""


LINES = len(_COLOURS) - 1

FEW = 10
"""Sentences below which the score of a point is mostly chance, so that no line is drawn through it."""

COUNTED = 12
"""Bars up to which each one has its number of sentences above it."""

COLUMNS = 120
"""Points of one line that have a hover column; more would be too narrow, and would enlarge the page."""


def draw(chart: Chart) -> str:
    """Return an `<svg>` element; deterministic, with ids that are unique on the page."""
    with drawing(_STYLE, chart.name):
        figure = Figure(figsize=(3.4, 2.55), layout="constrained")
        axes = figure.add_subplot()
        for line, colour, dash in zip(chart.lines, list(_COLOURS)[1:], _DASHES, strict=False):
            _draw_line(axes, line, dict(chart.sizes), dash, colour)
        _scale(axes, chart)
        if len(chart.lines) > 1:
            axes.legend(handlelength=2.6)
        svg = as_file(figure, "svg").decode("utf-8")
        return _adapted(svg, chart).replace("</svg>", f"{_columns(chart, axes)}</svg>")


def _draw_line(axes: Axes, line: ChartLine, sizes: Mapping[float, int], dash: str, colour: str) -> None:
    """Draw a line through its points; those of few sentences are hollow marks beside it."""
    places, values = zip(*line.points, strict=True)
    thin = [sizes.get(place, FEW) < FEW for place in places]
    connected = np.where(thin, np.nan, values)
    mark = "o" if len(places) <= 12 else None
    axes.plot(places, connected, dash, color=colour, label=legend_label(line.name), marker=mark, markersize=3.2)
    if any(thin):
        alone = np.where(thin, values, np.nan)
        axes.plot(places, alone, color=colour, marker="o", markersize=3.2, markerfacecolor="none", linestyle="none")


def _scale(axes: Axes, chart: Chart) -> None:
    """Set up axes, ticks and labels."""
    axes.grid(axis="y")
    axes.set_xlabel(chart.x_name)
    if chart.logarithmic:
        make_logarithmic(axes)
    else:
        axes.set_ylim(bottom=0)
    if chart.x_words:
        places = list(chart.x_words)
        shown = places[:: -(-len(places) // 10)]
        axes.set_xticks(shown, [chart.x_words[place] for place in shown])
        if max(len(chart.x_words[place]) for place in shown) * len(shown) > 32:
            for label in axes.get_xticklabels():
                label.set(rotation=40, rotation_mode="anchor", horizontalalignment="right")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if chart.minutes_per_x > 0:
        to_minutes: Callable[[Any], Any] = partial(np.multiply, chart.minutes_per_x)
        to_x: Callable[[Any], Any] = partial(np.multiply, 1 / chart.minutes_per_x)
        minutes = axes.secondary_xaxis("top", functions=(to_minutes, to_x))
        minutes.set_xlabel("minutes")
        minutes.xaxis.set_major_locator(MaxNLocator(5))
        minutes.spines["top"].set_visible(False)
    if chart.sizes:
        _draw_sizes(axes, chart)


def _draw_sizes(axes: Axes, chart: Chart) -> None:
    """Draw bars in the lower part of the chart, the largest one a third of its height."""
    places, counts = zip(*chart.sizes, strict=True)
    behind = axes.twinx()
    behind.bar(places, counts, width=0.8, color=_INK, alpha=0.12, linewidth=0)
    behind.set_ylim(0, 3 * max(counts))
    if len(places) <= COUNTED:
        for place, count in zip(places, counts, strict=True):
            behind.annotate(f"{count:,}", (place, count), (0, 1), textcoords="offset points", ha="center", fontsize=7)
    behind.set_yticks([])
    behind.spines["right"].set_visible(False)


def _columns(chart: Chart, axes: Axes) -> str:
    """Return the hover columns: invisible, each reaching half-way to its neighbours."""
    places = _hover_points(chart.lines[:LINES])
    pixels = [float(axes.transData.transform((place, axes.get_ylim()[0]))[0]) for place in places]
    box = axes.get_window_extent()
    height = axes.figure.bbox.height
    bounds = [box.x0, *((left + right) / 2 for left, right in pairwise(pixels)), box.x1]
    values = [dict(line.points) for line in chart.lines[:LINES]]
    sizes = dict(chart.sizes)
    parts = []
    for place, middle, (left, right) in zip(places, pixels, pairwise(bounds), strict=True):
        texts = [f"{chart.x_name} {chart.x_words.get(place, f'{place:,g}')}"]
        dots = []
        for line, measured, colour in zip(chart.lines, values, list(_COLOURS.values())[1:], strict=False):
            if place in measured:
                texts.append(f"{line.name} {_figure(measured[place])}")
                y = height - float(axes.transData.transform((place, measured[place]))[1])
                dots.append(f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="3.4" style="fill:{colour}"/>')
        if place in sizes:
            texts.append(f"{sizes[place]:,} sentences")
        parts.append(
            f'<g class="column"><title>{escape(" · ".join(texts))}</title>'
            f'<rect x="{left:.1f}" y="{height - box.y1:.1f}" width="{max(0.0, right - left):.1f}" '
            f'height="{box.height:.1f}"/><path d="M{middle:.1f} {height - box.y1:.1f}v{box.height:.1f}"/>'
            f"{''.join(dots)}</g>"
        )
    return f'<g class="columns">{"".join(parts)}</g>'


def _hover_points(lines: Sequence[ChartLine]) -> list[float]:
    """Return the x values with a hover column: an even selection, plus one of the line with the fewest points."""
    places = sorted({place for line in lines for place, _ in line.points})
    fewest = [place for place, _ in min((line.points for line in lines), key=len)]
    return sorted({place for found in (places, fewest) for place in found[:: -(-len(found) // COLUMNS)]})


def _figure(value: float) -> str:
    """Format a number with three or four significant digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value < 1 else f"{value:.2f}"


def _adapted(svg: str, chart: Chart) -> str:
    """Turn matplotlib's file into an element of a page: without prolog, with unique ids and the colours of the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{chart.name}-", svg)
    for stand_in, colour in _COLOURS.items():
        svg = svg.replace(stand_in, colour)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(_description(chart))}"', 1)


def _description(chart: Chart) -> str:
    """Describe the chart for screen readers: the first and last value of each line."""
    parts = []
    for line in chart.lines[:LINES]:
        (first, begin), (last, end) = line.points[0], line.points[-1]
        names = [chart.x_words.get(place, f"{place:,g}") for place in (first, last)]
        parts.append(f"{line.name}: {_figure(begin)} at {names[0]}, {_figure(end)} at {names[1]}")
    return f"Line chart over {chart.x_name}. {'; '.join(parts)}."
