"""Heat maps of alignment weights as PNG, SVG or PDF files, drawn by matplotlib.

The scale `paper` is that of Bahdanau et al. 2015, figure 3: grey, 0 black, 1 white. `modern` is viridis, which is
perceptually uniform and keeps its order in black-and-white print. For local attention (Luong et al. 2015, section 3.2)
each row has its window drawn around it and a dot at p_t.

Glyph outlines are embedded in the file, so it looks the same everywhere. They come from the fonts of this system;
letters that no font has are reported, and drawn as boxes.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, findSystemFonts, fontManager, get_font
from matplotlib.patches import Rectangle

from dragoman.alignment.heat_map import HeatMap
from dragoman.report.charts import without_mathtext
from dragoman.text.display import visible
from dragoman.text.lines import replace_file

Scale = Literal["paper", "modern"]
SCALES: dict[Scale, str] = {"paper": "gray", "modern": "viridis"}
"""matplotlib's colour maps; both run from dark, 0, to bright, 1."""

FORMATS = ("png", "svg", "pdf")

CELL = 0.24
"""Side length of a cell, in inches."""
DOTS = 160
"""Dots per inch of a PNG file."""
_HAN_REGIONS = {"zh": "SC", "ja": "JP", "ko": "KR"}  # suffixes of fonts with regional shapes of Han letters
_BASE = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, and much else
_MARK = "#ff5a36"  # of p_t and its window: not a colour of either scale
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "dragoman",  # ids depend on the content alone
    "pdf.fonttype": 42,
}


def heat_map_file(heat_map: HeatMap, kind: str, scale: Scale = "paper") -> bytes:
    """Return the picture as a file in one of `FORMATS`; deterministic for the same input and fonts."""
    assert kind in FORMATS
    words = [*heat_map.source_words, *heat_map.target_words]
    with mpl.rc_context({**_STYLE, "font.family": font_families(words, heat_map.languages)}), warnings.catch_warnings():
        # Missing letters are reported by `missing_letters`, once for all pictures.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = _figure(heat_map, scale)
        file = io.BytesIO()
        no_metadata = {"svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer"), "png": ("Software",)}
        figure.savefig(
            file, format=kind, dpi=DOTS, bbox_inches="tight", pad_inches=0.08, metadata=dict.fromkeys(no_metadata[kind])
        )
    return file.getvalue()


def write_heat_map(path: Path, heat_map: HeatMap, scale: Scale = "paper") -> None:
    """Write the picture to a file with one of `FORMATS` as its suffix.

    Raises:
        InputError: the file cannot be written.
    """
    picture = heat_map_file(heat_map, path.suffix.removeprefix("."), scale)
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


# Fonts ---------------------------------------------------------------------------------------------------------------


def font_families(words: Iterable[str], languages: Iterable[str | None] = ()) -> list[str]:
    """Return font families of this system that together cover the words as far as possible, the default one first."""
    regions = [_HAN_REGIONS[language[:2]] for language in languages if language and language[:2] in _HAN_REGIONS]
    return [_BASE, *_search(_letters(words), regions[0] if regions else "SC")[0]]


def missing_letters(words: Iterable[str]) -> str:
    """Return the letters that no font of this system has, sorted."""
    return "".join(sorted(_search(_letters(words), "SC")[1]))


def scripts_of(letters: str) -> list[str]:
    """Return the scripts of letters, by the first words of their Unicode names: Hangul, Thai."""
    names = (unicodedata.name(letter, "these letters") for letter in letters)
    known = ("these letters" if name == "these letters" else name.split()[0].capitalize() for name in names)
    return list(dict.fromkeys("Han" if name == "Cjk" else name for name in known))


def font_package(letters: str) -> str:
    """Return fonts that have the letters, and how Debian installs them."""
    if set(scripts_of(letters)) & {"Han", "Hangul", "Hiragana", "Katakana", "Bopomofo"}:
        return "Noto Sans CJK: apt-get install fonts-noto-cjk"
    return "Noto: apt-get install fonts-noto-core"


def _letters(words: Iterable[str]) -> frozenset[str]:
    return frozenset(letter for word in words for letter in visible(word) if not letter.isspace())


@cache
def _search(letters: frozenset[str], region: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the families needed besides the default one, and the letters without a glyph in any.

    Each family is the first, in the order of `_upright_fonts`, with a letter that is still missing.
    """
    missing = {ord(letter) for letter in letters} - _glyphs(_path(_BASE))
    families = []
    for fonts in (_upright_fonts, _new_upright_fonts) if missing else ():
        for entry in fonts(region) if missing else ():
            found = missing & _glyphs(entry.fname)
            if found:
                families.append(entry.name)
                missing -= found
            if not missing:
                break
    # Invisible characters need no glyph: joiners, directional marks, variation selectors.
    return tuple(families), frozenset(chr(code) for code in missing if unicodedata.category(chr(code)) != "Cf")


@cache
def _upright_fonts(region: str) -> tuple[FontEntry, ...]:
    """Return fonts of normal style and weight: sans serif first, and among these the large East Asian ones."""
    return _upright(fontManager.ttflist, region)


@cache
def _new_upright_fonts(region: str) -> tuple[FontEntry, ...]:
    """Return the same of fonts that were installed after matplotlib made its list, which it keeps between processes."""
    listed = len(fontManager.ttflist)
    for path in sorted(set(findSystemFonts()) - {entry.fname for entry in fontManager.ttflist}):
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError):  # not a font that matplotlib can read
            continue
    return _upright(fontManager.ttflist[listed:], region)


def _upright(entries: Iterable[FontEntry], region: str) -> tuple[FontEntry, ...]:
    regular = (400, "normal", "regular")
    fonts = [entry for entry in entries if entry.style == "normal" and entry.weight in regular]
    fonts = [entry for entry in fonts if not entry.name.startswith("Last Resort")]  # a box for every letter

    def preference(entry: FontEntry) -> tuple[bool, bool, bool, str]:
        name = entry.name
        return "Sans" not in name, "CJK" not in name, not name.endswith(region), name

    return tuple(sorted(fonts, key=preference))


@cache
def _glyphs(path: str) -> frozenset[int]:
    """Return the code points that a font file has a glyph for; none if it cannot be read."""
    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _path(family: str) -> str:
    return str(fontManager.findfont(family))


assert set(SCALES) == set(get_args(Scale))
