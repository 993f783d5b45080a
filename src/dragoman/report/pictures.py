"""Pictures drawn by matplotlib: how every figure of this package becomes a file, and what figures share.

Files are deterministic for the same content and fonts: they carry no dates, and the ids of an SVG depend on its content
alone.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter

from dragoman.report.fonts import font_families
from dragoman.text.display import visible

FORMATS = ("png", "svg", "pdf")

_NO_METADATA = {
    "svg": ("Date", "Creator", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
    "png": ("Software",),
}

_MOST_LABELS = 6
"""Labels on a logarithmic axis of less than a decade."""


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


def make_logarithmic(axes: Axes) -> None:
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


def legend_label(name: str) -> str:
    """Return a legend entry that matplotlib shows as it is: a leading `_` would hide the line."""
    shown = without_mathtext(visible(name))
    return f"\u200b{shown}" if shown.startswith("_") else shown


def without_mathtext(text: str) -> str:
    """Escape `$`, which matplotlib would read as the beginning of a formula."""
    return text.replace("$", r"\$")
