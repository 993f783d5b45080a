"""Alignment weights of one sentence pair as a heat map, after Bahdanau et al. 2015, figure 3: the value and its HTML.

Source words are along the top and target words down the side; the first word of a source that runs from right to left
is at the right. Every drawing takes its labels from here: the notebook's table below, the pictures of
`report/heat_map_file.py`, and the report page. Imports neither matplotlib nor jinja, so that a notebook cell is cheap.

Letters: I columns (source words or segments), J rows (target words or segments).
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.text.display import runs_right_to_left, shortened, visible
from dragoman.text.vocabulary import EOS, SPECIALS


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The weights of one sentence pair and their labels."""

    weights: NDArray[np.floating]
    """[J, I] target words by source words, from 0 to 1."""
    source_words: Sequence[str]
    target_words: Sequence[str]
    windows: NDArray[np.floating] | None = None
    """[J, 3] p_t and both edges of its window, in columns: column i spans i - 1/2 to i + 1/2; NaN for none."""
    languages: tuple[str | None, str | None] = (None, None)
    """Codes of source and target; Chinese, Japanese or Korean decides which regional shapes Han letters have."""

    def __post_init__(self) -> None:
        assert self.weights.shape == (len(self.target_words), len(self.source_words)), "one label for each row, column"

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """Source and target words as shown beside the cells."""
        source, target = (
            [shortened(visible(word)) for word in words] for words in (self.source_words, self.target_words)
        )
        return source, target

    @property
    def right_to_left(self) -> bool:
        """Whether the first source word is at the right."""
        return runs_right_to_left(self.source_words)


def segment_heat_map(
    attention: NDArray[np.floating],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    windows: NDArray[np.floating] | None = None,
    languages: tuple[str | None, str | None] = (None, None),
) -> HeatMap:
    """Return the heat map of a model's own segments.

    `attention` is [T or T + 1, S or S + 1]: with a row or column more than segments it includes EOS, last.
    """
    rows, columns = attention.shape
    source, target = [*source_tokens, SPECIALS[EOS]][:columns], [*target_tokens, SPECIALS[EOS]][:rows]
    return HeatMap(attention, source, target, windows, languages)


def heat_map_html(heat_map: HeatMap) -> str:
    """Return a `<table>` in the grey scale of the paper, 0 black and 1 white, with inline styles only."""
    source, target = ([html.escape(label) for label in labels] for labels in heat_map.labels)
    step = -1 if heat_map.right_to_left else 1
    upright = "writing-mode:vertical-rl;transform:rotate(180deg);font-weight:normal;text-align:left"
    head = "".join(f'<th style="{upright}">{label}</th>' for label in source[::step])
    rows = []
    for label, weights in zip(target, heat_map.weights[:, ::step].tolist(), strict=True):
        cells = "".join(
            f'<td style="width:1.2em;background:rgb({grey},{grey},{grey})" title="{weight:.3f}"></td>'
            for weight in weights
            for grey in [round(255 * min(weight, 1))]
        )
        rows.append(f'<tr><th style="font-weight:normal;text-align:right">{label}</th>{cells}</tr>')
    return f'<table style="border-collapse:collapse"><tr><th></th>{head}</tr>{"".join(rows)}</table>'
