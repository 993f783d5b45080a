"""Pictures drawn by matplotlib: how every figure becomes a file, and how lines are drawn in all of them.

Files are deterministic for the same content and fonts: they carry no dates, and the ids of an SVG depend on its content
alone.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter

from dragoman.report.fonts import font_families
from dragoman.requests.pictures import PictureFormat
from dragoman.text.display import visible

FORMATS = get_args(PictureFormat)

Lines = Mapping[str, Sequence[tuple[float, float]]]
"""Name -> points in ascending order."""

_NO_METADATA = {
    "svg": ("Date", "Creator", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
    "png": ("Software",),
}

_MOST_LABELS = 6
"""Labels on a logarithmic axis of less than a decade."""

_DOTTED = 40
"""Points of a line up to which each one has a dot."""

LINE_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, in the font of the page
    "font.size": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.alpha": 0.2,
    "legend.frameon": False,
}
"""matplotlib's settings for figures of lines and points."""


def format_of(path: str | Path) -> str:
    """Return the suffix of a file's name, which names the format of a picture."""
    return Path(path).suffix.lower().lstrip(".")


@contextmanager
def drawing(
    style: dict[Any, Any], salt: str, words: Sequence[str] = (), languages: Iterable[str | None] = ()
) -> Iterator[None]:
    """Draw under matplotlib's settings `style`, with fonts of this system that cover the words of the languages.

    `salt` keeps the ids of an SVG apart from those of others on a page.
    """
    fonts: dict[Any, Any] = {"font.family": font_families(words, languages)} if words else {}
    with mpl.rc_context({**style, **fonts, "svg.hashsalt": salt}), warnings.catch_warnings():
        # `warn_of_missing_letters` reports these letters, once for all pictures; a page uses the fonts of its reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def as_file(figure: Figure, kind: str, **saving: Any) -> bytes:
    """Return a figure as a file in one of `FORMATS`; `saving` are arguments of `Figure.savefig`."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=dict.fromkeys(_NO_METADATA[kind]), **saving)
    return file.getvalue()


def plot_lines(
    axes: Axes,
    lines: Lines,
    across: str,
    upwards: str = "",
    *,
    joined: bool = True,
    logarithmic: bool = False,
    legend: bool = True,
) -> None:
    """Draw lines with their axes, in the colours and dashes of the style; those that are not `joined` as dots alone."""
    for name, points in lines.items():
        if points:
            xs, ys = zip(*points, strict=True)
            marker = "." if len(points) <= _DOTTED or not joined else None
            axes.plot(xs, ys, label=_legend_label(name), marker=marker, linestyle=None if joined else "")
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.grid(axis="y")
    if logarithmic:
        _make_logarithmic(axes)
    if legend and axes.has_data():
        axes.legend()


def _make_logarithmic(axes: Axes) -> None:
    """Give a drawn chart a logarithmic y axis whose labels do not overlap.

    They stand at 1, 2, 5 times powers of ten, or at round numbers where the axis is shorter than a decade.
    """
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ratio = high / low
    steps = (1, 2, 5) if ratio < 1000 else (1,)
    axes.yaxis.set_major_locator(MaxNLocator(_MOST_LABELS) if ratio < 10 else LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def _legend_label(name: str) -> str:
    """Return a legend entry that matplotlib shows as it is: a leading `_` would hide the line."""
    shown = without_mathtext(visible(name))
    return f"\u200b{shown}" if shown.startswith("_") else shown


def without_mathtext(text: str) -> str:
    """Escape `$`, which matplotlib would read as the beginning of a formula."""
    return text.replace("$", r"\$")


# Figures of a paper ---------------------------------------------------------------------------------------------------


def draw_beside(paper: Lines, ours: Lines, *, across: str, upwards: str, joined: bool = True) -> bytes:
    """Return as SVG the curves of the paper, if there are any, and ours, each panel with a scale of its own.

    Points that are not `joined` by lines are a scatter plot.
    """
    panels = {"paper": paper, "here": ours} if paper else {"here": ours}
    with drawing(LINE_STYLE, "figures"):
        figure = Figure(figsize=(4.8 * len(panels), 3.6), layout="constrained")
        for number, (title, lines) in enumerate(panels.items(), 1):
            axes = figure.add_subplot(1, len(panels), number, title=title)
            plot_lines(axes, lines, across, upwards, joined=joined)
        return as_file(figure, "svg")


def draw_labelled(points: Sequence[tuple[float, float]], labels: Sequence[str]) -> bytes:
    """Return as SVG points with a text beside each; their coordinates have no units."""
    with drawing(LINE_STYLE, "figures"):
        figure = Figure(figsize=(9.6, 7.2), layout="constrained")
        axes = figure.add_subplot(xticks=[], yticks=[], frame_on=False)
        xs, ys = zip(*points, strict=True)
        axes.scatter(xs, ys, s=6)
        for point, label in zip(points, labels, strict=True):
            axes.annotate(without_mathtext(label), point, xytext=(3, 2), textcoords="offset points", fontsize=7)
        return as_file(figure, "svg")
