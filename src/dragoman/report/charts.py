"""Line charts of the report page: SVG drawn by matplotlib that takes its colours from the page.

A chart is a static picture of a few kilobytes, so it prints and needs no script. Invisible columns lie over it, one for
each point of the x axis, with the values there as text: hovering shows a cursor by CSS alone, and `script.js` writes
the values below the chart and moves between columns with the arrow keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dragoman.report.pictures import LINE_STYLE, Lines, as_file, drawing, plot_lines

_INK = "#010203"
_COLOURS = {
    _INK: "currentColor",
    "#0a0b0c": "var(--first)",
    "#0d0e0f": "var(--second)",
    "#111213": "var(--third)",
    "#141516": "var(--fourth)",
}
"""matplotlib has no CSS colours: it draws in these placeholders, which are then replaced by those of the page."""

_DOTS = 72
"""Dots per inch of a figure; one dot is one SVG unit."""

_STYLE: dict[Any, Any] = {
    **LINE_STYLE,
    "figure.dpi": _DOTS,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.6,
    # A line style for each colour, so that lines can be told apart without colours.
    "axes.prop_cycle": cycler(color=list(_COLOURS)[1:], linestyle=("-", "--", "-.", ":")),
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "grid.color": _INK,
    "grid.alpha": 0.12,
    "lines.linewidth": 1.6,
    "legend.handlelength": 2.6,
}


@dataclass(frozen=True, slots=True)
class Chart:
    """The content of a chart."""

    name: str
    """Prefix of its ids; unique on the page."""
    lines: Lines
    """At most `LINES`."""
    x_name: str
    x_words: dict[float, str] = field(default_factory=dict)
    """Labels of points of the x axis; without them its numbers are shown."""
    logarithmic: bool = False
    minutes_per_x: float = 0.0
    """If above 0, a second axis in minutes is drawn along the top."""
    sizes: Mapping[float, int] = field(default_factory=dict)
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
        _draw_lines(axes, chart)
        _scale(axes, chart)
        if chart.sizes:
            _draw_sizes(axes, chart.sizes)
        svg = as_file(figure, "svg").decode("utf-8")
        return _adapted(svg, chart).replace("</svg>", f"{_columns(chart, axes)}</svg>")


def _draw_lines(axes: Axes, chart: Chart) -> None:
    """Draw the lines through their points; points of few sentences are hollow marks beside them."""
    few = {x for x, size in chart.sizes.items() if size < FEW}
    connected = {
        name: [(x, math.nan if x in few else value) for x, value in points] for name, points in chart.lines.items()
    }
    plot_lines(axes, connected, chart.x_name, logarithmic=chart.logarithmic, legend=len(chart.lines) > 1)
    for points, line in zip(chart.lines.values(), axes.get_lines(), strict=True):
        alone = [point for point in points if point[0] in few]
        if alone:
            xs, values = zip(*alone, strict=True)
            axes.plot(xs, values, "o", markersize=3.2, color=line.get_color(), markerfacecolor="none")


def _scale(axes: Axes, chart: Chart) -> None:
    """Set up the scales of the axes, and their ticks."""
    if not chart.logarithmic:
        axes.set_ylim(bottom=0)
    if chart.x_words:
        xs = list(chart.x_words)
        shown = xs[:: -(-len(xs) // 10)]
        axes.set_xticks(shown, [chart.x_words[x] for x in shown])
        if max(len(chart.x_words[x]) for x in shown) * len(shown) > 32:
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


def _draw_sizes(axes: Axes, sizes: Mapping[float, int]) -> None:
    """Draw bars in the lower part of the chart, the largest one a third of its height."""
    behind = axes.twinx()
    behind.bar(list(sizes), list(sizes.values()), width=0.8, color=_INK, alpha=0.12, linewidth=0)
    behind.set_ylim(0, 3 * max(sizes.values()))
    if len(sizes) <= COUNTED:
        for point in sizes.items():
            behind.annotate(f"{point[1]:,}", point, (0, 1), textcoords="offset points", ha="center", fontsize=7)
    behind.set_yticks([])


def _columns(chart: Chart, axes: Axes) -> str:
    """Return the hover columns: invisible, each reaching half-way to its neighbours."""
    xs = _hover_points(chart.lines)
    box, height = axes.get_window_extent(), axes.figure.bbox.height
    middles = [float(axes.transData.transform((x, axes.get_ylim()[0]))[0]) for x in xs]
    bounds = [box.x0, *((left + right) / 2 for left, right in pairwise(middles)), box.x1]
    lines = [(name, dict(points)) for name, points in chart.lines.items()]
    columns = []
    for x, middle, (left, right) in zip(xs, middles, pairwise(bounds), strict=True):
        texts, dots = [f"{chart.x_name} {chart.x_words.get(x, f'{x:,g}')}"], ""
        for (name, values), colour in zip(lines, list(_COLOURS.values())[1:], strict=False):
            if x in values:
                texts.append(f"{name} {_figure(values[x])}")
                y = height - float(axes.transData.transform((x, values[x]))[1])
                dots += f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="3.4" style="fill:{colour}"/>'
        if x in chart.sizes:
            texts.append(f"{chart.sizes[x]:,} sentences")
        columns.append(
            f'<g class="column"><title>{escape(" · ".join(texts))}</title>'
            f'<rect x="{left:.1f}" y="{height - box.y1:.1f}" width="{max(0.0, right - left):.1f}" '
            f'height="{box.height:.1f}"/><path d="M{middle:.1f} {height - box.y1:.1f}v{box.height:.1f}"/>{dots}</g>'
        )
    return f'<g class="columns">{"".join(columns)}</g>'


def _hover_points(lines: Lines) -> list[float]:
    """Return the x values with a hover column: an even selection, plus one of the line with the fewest points."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    fewest = [x for x, _ in min(lines.values(), key=len)]
    return sorted({x for shown in (xs, fewest) for x in shown[:: -(-len(shown) // COLUMNS)]})


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
    for name, points in chart.lines.items():
        (first, begin), (last, end) = points[0], points[-1]
        xs = [chart.x_words.get(x, f"{x:,g}") for x in (first, last)]
        parts.append(f"{name}: {_figure(begin)} at {xs[0]}, {_figure(end)} at {xs[1]}")
    return f"Line chart over {chart.x_name}. {'; '.join(parts)}."
