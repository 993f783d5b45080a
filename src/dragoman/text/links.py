"""Word alignment links, and the Pharaoh format: one sentence a line, `i-j` for each link.

i is the index of a word of the source line and j of the target line, both from 0. The order of links on a line has no
meaning; they are written in ascending order. A sentence without links is an empty line. Marks of sure and possible
links are read by `alignment/formats.py` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from dragoman.errors import InputError
from dragoman.text.lines import read_lines, shown_name, write_lines

Link = tuple[int, int]
"""(source word, target word), from 0."""

LinkFormat = Literal["pharaoh", "talp", "naacl"]
"""The formats that `alignment/formats.py` reads and writes."""

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def format_links(links: Iterable[Link]) -> str:
    """A Pharaoh line: `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in sorted(set(links)))


def parse_links(line: str, origin: str) -> list[Link]:
    """The links of a Pharaoh line, ascending, without duplicates; `origin` is `file:line` for error messages.

    Raises:
        InputError: a word of the line is not a link.
    """
    links = set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(
                f"{origin}: {word!r} is not an alignment link; Pharaoh lines hold SOURCE-TARGET word numbers from 0, "
                "such as 0-0 1-2"
            )
        links.add((int(match[1]), int(match[2])))
    return sorted(links)


def read_links(path: str | Path) -> Iterator[list[Link]]:
    """Read the links of each line of a Pharaoh file, as a stream.

    Raises:
        InputError: the file cannot be read, or a line of it is not Pharaoh format.
    """
    for number, line in enumerate(read_lines(path), 1):
        yield parse_links(line, f"{shown_name(path)}:{number}")


def write_links(path: str | Path, sentences: Iterable[Iterable[Link]]) -> None:
    """Write a Pharaoh file, one line for each sentence, as a stream.

    Raises:
        InputError: the file cannot be written.
    """
    write_lines(path, (format_links(links) for links in sentences))
