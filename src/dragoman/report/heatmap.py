"""Alignment weights of one sentence pair as a picture, after Bahdanau et al. 2015, figure 3.

Source words stand along the top, target words down the side. The picture is drawn in the colour of the text around
it, from invisible (0) to solid (1): ink on a light page; on a dark page light on dark, as in the paper.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

CELL = 22
"""Side of a cell, in the SVG's own units (pixels at natural size)."""

FAINTEST = 0.005
"""A weight below is not drawn: it could not be seen, and most weights are that small."""

_LETTER = 7.5  # mean advance of a Latin letter at the font size below; wide East Asian ones take two
_FONT_SIZE = 13
_GAP = 6  # between a word and its row or column
_LONGEST = 28  # letters of a word that are shown; a title has the whole word


def heat_map(weights: NDArray[np.floating], source_words: Sequence[str], target_words: Sequence[str]) -> str:
    """An `<svg>` element of weights [T, S], T target words by S source words.

    Words may be of any script and hold anything; each keeps its own direction.
    """
    assert weights.shape == (len(target_words), len(source_words))
    rows, columns = weights.shape
    left = max(map(_width, target_words), default=0) + _GAP
    top = max(map(_width, source_words), default=0) + _GAP
    width, height = left + columns * CELL + 1, top + rows * CELL + 1  # 1 for the outer half of the last grid line
    parts = [
        f'<svg class="heat-map" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" font-size="{_FONT_SIZE}" '
        f'fill="currentColor"><title>Alignment weights: source words across, target words down</title>'
    ]
    for column, word in enumerate(source_words):
        x, y = left + (column + 0.5) * CELL, top - _GAP
        parts.append(f'<text transform="translate({x:g} {y:g}) rotate(-90)" dy=".35em">{_label(word)}</text>')
    for row, word in enumerate(target_words):
        x, y = left - _GAP, top + (row + 0.5) * CELL
        parts.append(f'<text x="{x:g}" y="{y:g}" dy=".35em" text-anchor="end">{_label(word)}</text>')
    for row, column in zip(*np.nonzero(weights >= FAINTEST), strict=True):
        weight = float(weights[row, column])
        x, y = left + column * CELL, top + row * CELL
        pair = f"{visible(source_words[column])} – {visible(target_words[row])}: {weight:.2f}"
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" fill-opacity="{min(weight, 1.0):.3f}">'
            f"<title>{escape(pair)}</title></rect>"
        )
    grid = _grid(left, top, rows, columns)
    parts.append(f'<path fill="none" stroke="currentColor" stroke-opacity=".25" d="{grid}"/>')
    parts.append("</svg>")
    return "".join(parts)


def visible(text: str) -> str:
    """Text in which control characters, which neither HTML nor XML can hold, are pictures of themselves."""
    return "".join(
        chr(0x2400 + ord(char)) if char < " " else "\ufffd" if char in "\x7f\ufffe\uffff" else char for char in text
    )


def _label(word: str) -> str:
    """A word as the content of `<text>`: shortened, escaped, isolated.

    U+2068 and U+2069 let a right-to-left word, its punctuation included, run its own way without turning round the
    meaning of `text-anchor`, which the attribute `direction` would.
    """
    word = visible(word)
    shown = word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"
    title = f"<title>{escape(word)}</title>" if shown != word else ""
    return f"{title}\u2068{escape(shown)}\u2069"


def _width(word: str) -> float:
    """About how long the shown word is, in units of the SVG; no font is at hand to measure."""
    shown = visible(word)[:_LONGEST]
    letters = sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in shown
    )
    return letters * _LETTER


def _grid(left: float, top: float, rows: int, columns: int) -> str:
    """The path of the lines between cells and around them."""
    down = [f"M{left + column * CELL:g} {top:g}v{rows * CELL}" for column in range(columns + 1)]
    across = [f"M{left:g} {top + row * CELL:g}h{columns * CELL}" for row in range(rows + 1)]
    return "".join(down + across)
