"""Text that another tool has segmented: pieces are separated by spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.text.segmentation.base import NONE, Entries, Segments, save_description
from dragoman.text.words import printable

_PIECE = re.compile("[^ ]+")
"""Only U+0020 separates: a piece may contain other whitespace (a no-break space in a number), as in other tools."""


class WhitespaceSegmentation:
    """Pieces are separated by spaces and otherwise unchanged; they are joined by one space."""

    def segment(self, line: str) -> Segments:
        found = list(_PIECE.finditer(printable(line)))
        return Segments([match[0] for match in found], [match.span() for match in found])

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "whitespace", entries)
