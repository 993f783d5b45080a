"""The tree of hypotheses of a beam search as SVG, HTML or text: steps from left to right, a row for each leaf.

The thick line is the translation. The drawing takes the colour of the text around it; hovering over a token shows its
log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from dragoman.search.trace import Fate, Node
from dragoman.text.display import shortened, visible
from dragoman.text.vocabulary import Vocabulary

ROW = 20
"""Height of a row, in SVG units (pixels at natural size)."""

_LETTER = 7.5  # mean width of a letter at the font size below
_FONT_SIZE = 13
_GAP = 26  # between a token and the next one
_LONGEST = 14  # characters of a token that are shown

_FADED: dict[Fate, float] = {"kept": 0.85, "finished": 1.0, "cut off": 1.0, "dropped": 0.4, "open": 0.7}
_END: dict[Fate, str] = {"kept": "", "finished": " ■", "cut off": " ✂", "dropped": "", "open": " …"}


class _Placed(NamedTuple):
    node: Node
    depth: int
    row: float
    parent: int
    """Index of the parent in the list of all nodes; -1 for the root."""


def as_svg(root: Node, vocabulary: Vocabulary) -> str:
    """Return an `<svg>` element."""
    placed = _place(root)
    pieces = vocabulary.pieces([each.node.token for each in placed])
    ends = [_END[each.node.fate] for each in placed]
    names = [shortened(visible(piece), _LONGEST) + end for piece, end in zip(pieces, ends, strict=True)]
    columns = _columns(placed, names)
    width = columns[-1] + 1
    height = (1 + max(each.row for each in placed)) * ROW
    parts = [
        f'<svg class="beam-tree" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" font-size="{_FONT_SIZE}" '
        f'fill="currentColor" stroke="none"><title>Hypotheses of the search, step by step to the right</title>'
    ]
    for each in placed[1:]:
        parts.append(_edge(each, placed[each.parent], names[each.parent], columns))
    for each, name in zip(placed, names, strict=True):
        parts.append(_token(each, name, vocabulary, columns))
    return "".join([*parts, "</svg>"])


def as_page(root: Node, vocabulary: Vocabulary, source: str, translation: str) -> str:
    """Return a self-contained HTML page."""
    legend = "■ finished   ✂ cut off at the maximum length   … open when the search stopped   pale: pruned   bold: best"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(visible(source))}</title><style>{_STYLE}</style></head><body>"
        f'<h1 dir="auto">{escape(visible(source))}</h1><p dir="auto">{escape(visible(translation))}</p>'
        f"<div>{as_svg(root, vocabulary)}</div><p><small>{escape(legend)}</small></p></body></html>\n"
    )


_STYLE = (
    ":root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:1rem}h1{font-size:1.2rem}"
    "div{overflow-x:auto;padding-bottom:1rem}small{white-space:pre-wrap}"
)


def tokens_of(root: Node, vocabulary: Vocabulary) -> list[str]:
    """The distinct tokens of a tree."""
    ids, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        ids.add(node.token)
        waiting += node.children
    return vocabulary.pieces(sorted(ids))


def as_text(root: Node, vocabulary: Vocabulary) -> str:
    """Return the hypotheses of each step with their log-probabilities, the most probable first."""
    lines: list[str] = []
    level: list[tuple[Node, str]] = [(root, "")]
    number = 0
    while any(node.children for node, _ in level):
        number += 1
        level = [
            (child, f"{words} {visible(vocabulary.pieces([child.token])[0])}".strip())
            for node, words in level
            for child in node.children
        ]
        level.sort(key=lambda each: -each[0].total)
        lines.append(f"step {number}")
        lines += [f"{'*' if node.best else ' '} {node.fate:<8} {node.total:9.3f}  {words}" for node, words in level]
    return "\n".join(lines)


def _place(root: Node) -> list[_Placed]:
    """Place the nodes depth first: the best child is in the row of its parent, every other child in a new row below."""
    placed: list[_Placed] = []
    rows = 0
    waiting: list[tuple[Node, int, int, bool]] = [(root, 0, -1, False)]
    while waiting:
        node, depth, parent, new_row = waiting.pop()
        rows += new_row
        placed.append(_Placed(node, depth, rows, parent))
        index = len(placed) - 1
        # Last in, first out: the continuation of the translation, otherwise the most probable one, keeps the row.
        ordered = sorted(node.children, key=lambda child: not child.best)
        steps = [(child, depth + 1, index, rank > 0) for rank, child in enumerate(ordered)]
        waiting.extend(reversed(steps))
    return placed


def _columns(placed: Sequence[_Placed], names: Sequence[str]) -> list[float]:
    """Return where each step begins, and where the last one ends."""
    widths = [0.0] * (1 + max(each.depth for each in placed))
    for each, name in zip(placed, names, strict=True):
        widths[each.depth] = max(widths[each.depth], len(name) * _LETTER + _GAP)
    columns = [0.0]
    for width in widths:
        columns.append(columns[-1] + width)
    return columns


def _edge(each: _Placed, parent: _Placed, parent_name: str, columns: Sequence[float]) -> str:
    start = columns[parent.depth] + len(parent_name) * _LETTER + 5
    end, y, above = columns[each.depth] - 3, (each.row + 0.5) * ROW, (parent.row + 0.5) * ROW
    middle = columns[each.depth] - _GAP / 2
    width, opacity = (2.4, 1.0) if each.node.best else (1.0, 0.5 * _FADED[each.node.fate])
    return (
        f'<path d="M{start:g} {above:g}H{middle:g}V{y:g}H{end:g}" fill="none" stroke="currentColor" '
        f'stroke-width="{width}" stroke-opacity="{opacity:g}"/>'
    )


def _token(each: _Placed, name: str, vocabulary: Vocabulary, columns: Sequence[float]) -> str:
    node = each.node
    weight = ' font-weight="bold"' if node.best else ""
    whole = visible(vocabulary.pieces([node.token])[0])
    title = f"{whole}: {node.log_probability:.3f}, total {node.total:.3f}; {node.fate}"
    return (
        f'<text x="{columns[each.depth]:g}" y="{(each.row + 0.5) * ROW:g}" dy=".35em"{weight} '
        f'fill-opacity="{_FADED[node.fate]}">\u2068{escape(name)}\u2069<title>{escape(title)}</title></text>'
    )
