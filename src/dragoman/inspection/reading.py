"""A corpus read past its lines that are not UTF-8, which are set apart and counted for each file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.inspection.character_issues import around
from dragoman.text.corpus import Corpora, Pair, read_pairs
from dragoman.text.lines import UndecodableLine, escape_raw_bytes, has_raw_bytes

CHUNK = 5000
"""Pairs that are looked at together."""

Look = Literal["Windows-1252", "broken UTF-8", "unknown"]
"""What a line that is not UTF-8 looks like; Latin-1 is a part of Windows-1252 where text is concerned."""


class BadPair(NamedTuple):
    """A pair with a line that is not UTF-8."""

    pair: Pair
    """Its text is fit to be printed: each byte that is no text as \\xe9."""
    side: str
    """source, target or both; both too where the bytes stand in neither, but elsewhere in a JSON line."""
    line: UndecodableLine
    """The first, if both are bad."""


class Chunk(NamedTuple):
    """Some pairs that follow each other."""

    start: int
    """Place of the first in the corpus, from 0; the bad ones count."""
    size: int
    """Bad ones included."""
    pairs: list[Pair]
    """Those that are UTF-8."""
    places: list[int]
    """Of each of them, in the corpus."""
    bad: list[BadPair]


@dataclass(slots=True)
class FileCounts:
    """Of one file with lines that are not UTF-8."""

    looks: dict[Look, int] = field(default_factory=dict)
    """So many lines look so."""
    other: int = 0
    """Lines that are UTF-8 and not only ASCII: a conversion of the whole file would spoil them."""

    @property
    def bad(self) -> int:
        return sum(self.looks.values())


class Reader:
    """Reads corpora in chunks, as often as is asked for; what it counts, it counts in the latest reading."""

    def __init__(self, corpora: Corpora, limit: int | None = None) -> None:
        """`limit`: read so many pairs of the beginning only."""
        self._corpora, self._limit = corpora, limit
        self._files: dict[str, FileCounts] = {}
        self.first_bad: UndecodableLine | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Everything.

        Raises:
            InputError: as for `read_pairs`, except that lines need not be UTF-8.
        """
        self._files, self.first_bad = {}, None
        place = 0
        noticed: list[UndecodableLine] = []
        for files in self._corpora:
            pairs = read_pairs([files], on_undecodable=noticed.append)
            pairs = islice(pairs, None if self._limit is None else self._limit - place)
            while (chunk := self._chunk(pairs, noticed, files, place)).size:
                place += chunk.size
                yield chunk

    def _chunk(self, pairs: Iterator[Pair], noticed: list[UndecodableLine], files: Sequence[Path], start: int) -> Chunk:
        """The next pairs; `noticed` has the bad lines of the latest one."""
        chunk = Chunk(start, 0, [], [], [])
        place = start
        for place, pair in enumerate(islice(pairs, CHUNK), start + 1):
            if noticed:
                chunk.bad.append(self._bad_pair(pair, noticed))
                noticed.clear()
            else:
                chunk.pairs.append(pair)
                chunk.places.append(place - 1)
        for path, lines in zip(files, _by_file(files, chunk.pairs), strict=True):
            self._counts(path).other += sum(not line.isascii() for line in lines)
        return chunk._replace(size=place - start)

    def _bad_pair(self, pair: Pair, lines: Sequence[UndecodableLine]) -> BadPair:
        self.first_bad = self.first_bad or lines[0]
        for line in lines:
            looks, look = self._counts(line.path).looks, look_of(line)
            looks[look] = looks.get(look, 0) + 1
        source, target = has_raw_bytes(pair.source), has_raw_bytes(pair.target)
        shown = Pair(escape_raw_bytes(pair.source), escape_raw_bytes(pair.target), pair.origin)
        return BadPair(shown, "both" if source == target else "source" if source else "target", lines[0])

    def _counts(self, path: str | Path) -> FileCounts:
        return self._files.setdefault(str(path), FileCounts())

    def bad_files(self) -> dict[str, FileCounts]:
        """Those with lines that are not UTF-8, by name."""
        return {name: counts for name, counts in self._files.items() if counts.bad}


def _by_file(files: Sequence[Path], pairs: Sequence[Pair]) -> list[list[str]]:
    """What each file of a corpus holds of some pairs."""
    if len(files) == 1:
        return [[pair.source + pair.target for pair in pairs]]
    return [[pair.source for pair in pairs], [pair.target for pair in pairs]]


_CUT = re.compile(rb"(?:^|[^A-Z])[\xc2-\xc5]$|\xe2[\x80-\x82]$|\xf0\x9f[\x80-\xbf]?$")
"""The line ends within a character of UTF-8: of Latin, punctuation, emoji. Others end words in Windows-1252 too."""
_NO_TEXT = re.compile(
    r"[^\x00-\x7fA-Za-zÀ-ÖØ-öø-ÿŠšŽžŒœŸªº\xa0¡¿§©®°²³´·«»½¼¾£±×€‚„…‘’“”•–—™‹›]"  # what is rare in Western text
    r"|[A-Za-zÀ-ÿ][¡¿§©®°²³´½¼¾£±×][A-Za-zÀ-ÿ]"  # stands between letters in other encodings: ³ is ł in ISO 8859-2
    r"|[À-ÿŠšŽžŒœŸ]{3}|[^\x00-\x7f]{5}"  # stretches of Cyrillic, Greek, Chinese
)


def look_of(line: UndecodableLine) -> Look:
    """What a line looks like by its bytes alone."""
    if _CUT.search(line.raw):
        return "broken UTF-8"
    decoded = line.raw.decode("utf-8", "replace")
    wrong, beyond = decoded.count("\ufffd"), sum(not letter.isascii() for letter in decoded)
    if beyond >= 2 * wrong:  # at least as many are UTF-8, which in other encodings is rarer
        return "broken UTF-8"
    try:
        return "unknown" if _NO_TEXT.search(line.raw.decode("cp1252")) else "Windows-1252"
    except UnicodeDecodeError:
        return "unknown"


def described(line: UndecodableLine) -> str:
    """The first bad byte of a line, and what the line looks like."""
    look = look_of(line)
    if look == "Windows-1252":
        return f"{line.fault}; as Windows-1252: {around(line.raw.decode('cp1252'), line.first)}"
    return f"{line.fault}; a character cut or damaged" if look == "broken UTF-8" else line.fault
