"""Ticks of logarithmic axes whose labels do not overlap."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter

_MOST = 6
"""Labels on an axis of less than a decade."""


def make_logarithmic(axes: Axes) -> None:
    """Give a drawn chart a logarithmic y axis: labels at 1, 2, 5 times powers of ten, or round numbers in between."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(_locator(high / low))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def _locator(ratio: float) -> Locator:
    """The locator for an axis whose ends have this ratio."""
    if ratio < 10:
        return MaxNLocator(_MOST)
    return LogLocator(subs=(1, 2, 5) if ratio < 1000 else (1,))
