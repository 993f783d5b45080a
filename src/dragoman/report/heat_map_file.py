"""Heat maps of alignment weights as PNG, SVG or PDF files, drawn by matplotlib.

The scale `paper` is that of Bahdanau et al. 2015, figure 3: grey, 0 black, 1 white. `modern` is viridis, which is
perceptually uniform and keeps its order in black-and-white print. For local attention (Luong et al. 2015, section 3.2)
each row has its window drawn around it and a dot at p_t.

Glyph outlines are embedded in the file, so it looks the same everywhere. They come from the fonts of this system;
letters that no font has are reported, and drawn as boxes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dragoman.alignment.heat_map import HeatMap
from dragoman.report.pictures import as_file, drawing, format_of, without_mathtext
from dragoman.requests.pictures import Scale
from dragoman.text.lines import replace_file

SCALES: dict[Scale, str] = {"paper": "gray", "modern": "viridis"}
"""matplotlib's colour maps; both run from dark, 0, to bright, 1."""

CELL = 0.24
"""Side length of a cell, in inches."""
DOTS = 160
"""Dots per inch of a PNG file."""
_MARK = "#ff5a36"  # of p_t and its window: not a colour of either scale
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.linewidth": 0.6,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


def heat_map_file(heat_map: HeatMap, kind: str, scale: Scale = "paper") -> bytes:
    """Return the picture as a file in one of `FORMATS`; deterministic for the same input and fonts."""
    words = [*heat_map.source_words, *heat_map.target_words]
    with drawing(_STYLE, "dragoman", words, heat_map.languages):
        return as_file(_figure(heat_map, scale), kind, dpi=DOTS, bbox_inches="tight", pad_inches=0.08)


def write_heat_map(path: Path, heat_map: HeatMap, scale: Scale = "paper") -> None:
    """Write the picture to a file with one of `FORMATS` as its suffix.

    Raises:
        InputError: the file cannot be written.
    """
    picture = heat_map_file(heat_map, format_of(path), scale)
    with replace_file(path, binary=True) as file:
        file.write(picture)


def _figure(heat_map: HeatMap, scale: Scale) -> Figure:
    rows, columns = heat_map.weights.shape
    figure = Figure(figsize=(max(columns, 1) * CELL, max(rows, 1) * CELL))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.pcolormesh(heat_map.weights, cmap=SCALES[scale], vmin=0, vmax=1, antialiased=False)
    axes.set_xlim(0, max(columns, 1))
    axes.set_ylim(max(rows, 1), 0)
    if heat_map.right_to_left:
        axes.invert_xaxis()
    axes.xaxis.tick_top()
    source, target = ([without_mathtext(label) for label in labels] for labels in heat_map.labels)
    axes.set_xticks(np.arange(columns) + 0.5, source, rotation=90)
    axes.set_yticks(np.arange(rows) + 0.5, target)
    axes.tick_params(length=0, pad=4)
    if heat_map.windows is not None:
        for row, (centre, first, last) in enumerate(heat_map.windows + 0.5):
            if np.isfinite(centre):
                box = Rectangle((first, row), last - first, 1, fill=False, edgecolor=_MARK, linewidth=0.8)
                axes.add_patch(box)
                axes.plot(centre, row + 0.5, marker="o", markersize=3.2, color=_MARK, clip_on=False)
    return figure
