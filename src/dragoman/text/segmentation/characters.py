"""Characters (Unicode code points) as segments; a space is the piece "▁"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.text.segmentation.base import NONE, SPACE_SYMBOL, Entries, Segments, save_description
from dragoman.text.words import printable


class CharacterSegmentation:
    """Every character is a piece; whitespace at either end of a line is dropped, all other is kept."""

    def segment(self, line: str) -> Segments:
        line = printable(line)
        start = len(line) - len(line.lstrip())
        end = len(line.rstrip())
        pieces = list(line[start:end].replace(" ", SPACE_SYMBOL))
        return Segments(pieces, list(zip(range(start, end), range(start + 1, end + 1), strict=True)) if pieces else [])

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(SPACE_SYMBOL, " ").strip()

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "characters", entries)
