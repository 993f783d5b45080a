"""Text as it is shown to people: control characters as pictures, shortened words, the direction of writing, tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

LONGEST_LABEL = 28
"""Characters of a word beside a heat map."""


def visible(text: str) -> str:
    """Replace control characters, which neither HTML nor XML can hold, by their Unicode control pictures."""
    return "".join(
        chr(0x2400 + ord(char)) if char < " " else "\ufffd" if char in "\x7f\ufffe\uffff" else char for char in text
    )


def shortened(text: str, longest: int = LONGEST_LABEL) -> str:
    """Truncate to `longest` characters; the last is then an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def runs_right_to_left(words: Iterable[str]) -> bool:
    """Return whether most letters that have a direction run right to left (Unicode bidirectional classes R and AL)."""
    classes = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return sum(kind in ("R", "AL") for kind in classes) > sum(kind == "L" for kind in classes)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text: the first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))])
        for first, *rest in rows
    )
