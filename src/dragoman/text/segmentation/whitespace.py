"""Text that is segmented already, by another tool: what stands between spaces is a piece."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.text.segmentation.base import Segments, printable, save_description

_PIECE = re.compile("[^ ]+")
"""Only the space parts: a piece may hold other blanks (a no-break space in a number), as in the field's other tools."""


class WhitespaceSegmentation:
    """Every piece is what stands between spaces, as it is; pieces are joined with one space."""

    def segment(self, line: str) -> Segments:
        found = list(_PIECE.finditer(printable(line)))
        return Segments([match[0] for match in found], [match.span() for match in found])

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def save(self, path: Path) -> None:
        save_description(path, "whitespace")
