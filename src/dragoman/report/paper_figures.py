"""A figure of a paper and ours beside it, with the same axes; maps of words and phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dragoman.report.pictures import as_file, drawing, without_mathtext

_STYLE = {"svg.fonttype": "none", "font.size": 9}
Curves = Mapping[str, Sequence[tuple[float, float]]]
"""Name -> points."""


def draw_beside(file: BinaryIO, paper: Curves, ours: Curves, *, across: str, upwards: str, joined: bool = True) -> None:
    """Draw the curves of the paper, if there are any, and ours as SVG, each panel with a scale of its own.

    Points that are not `joined` by lines are a scatter plot.
    """
    panels = [("paper", paper), ("here", ours)] if paper else [("here", ours)]
    with drawing(_STYLE, "figures"):
        figure = Figure(figsize=(4.8 * len(panels), 3.6), layout="constrained")
        for place, (title, curves) in enumerate(panels, 1):
            _draw(figure.add_subplot(1, len(panels), place), title, curves, across, upwards, "-" if joined else "")
        file.write(as_file(figure, "svg"))


def draw_labelled(file: BinaryIO, points: Sequence[tuple[float, float]], labels: Sequence[str]) -> None:
    """Draw points with a text beside each as SVG; their coordinates have no units."""
    with drawing(_STYLE, "figures"):
        figure = Figure(figsize=(9.6, 7.2), layout="constrained")
        axes = figure.add_subplot()
        across, upwards = zip(*points, strict=True)
        axes.scatter(across, upwards, s=6)
        for place, label in zip(points, labels, strict=True):
            axes.annotate(without_mathtext(label), place, xytext=(3, 2), textcoords="offset points", fontsize=7)
        axes.set(xticks=[], yticks=[])
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        file.write(as_file(figure, "svg"))


def _draw(axes: Axes, title: str, curves: Curves, across: str, upwards: str, line: str) -> None:
    for name, curve in curves.items():
        if curve:
            places, values = zip(*curve, strict=True)
            axes.plot(places, values, marker=".", linestyle=line, label=name)
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    if axes.has_data():
        axes.legend(frameon=False, fontsize=8)
