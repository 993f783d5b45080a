"""What every kind of segmentation promises, and what all of them do to a line first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from dragoman.text.lines import replace_file

FORMAT = 2
"""Version of the file that describes a segmentation."""

SPACE_SYMBOL = "▁"
"""How a space is written inside a piece (U+2581, SentencePiece's habit), so that pieces show and fit on a line."""

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Segments(NamedTuple):
    """A line cut up."""

    pieces: list[str]
    offsets: list[tuple[int, int]]
    """[start, end) in characters of the raw line, one for each piece; starts never decrease. A piece that only
    announces a word (a lone "▁") is empty and lies where that word starts."""


class Segmentation(Protocol):
    """One way of cutting raw lines into pieces, and of putting pieces together again.

    It takes any line: a line of blanks has no pieces, control characters count as blanks, and no piece holds a
    line end or a tab.
    """

    def segment(self, line: str) -> Segments:
        """Cut a raw line."""

    def join(self, pieces: Sequence[str]) -> str:
        """Raw text again, from any pieces in any order."""

    def save(self, path: Path) -> None:
        """Write a small JSON file that says the kind, and beside it whatever else the kind needs."""


def printable(line: str) -> str:
    """The line with a space for each control character, U+FFFD for half a surrogate pair; same length."""
    return _UNPRINTABLE.sub(lambda match: "\ufffd" if match[0] >= "\ud800" else " ", line)


def save_description(path: Path, kind: str, entries: Mapping[str, str] | None = None) -> None:
    """Write the JSON file that `load_segmentation` reads."""
    with replace_file(path) as file:
        json.dump({"format": FORMAT, "kind": kind, **(entries or {})}, file, ensure_ascii=False, indent=2)
        file.write("\n")
