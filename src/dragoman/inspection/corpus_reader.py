"""Reads a corpus that may have lines which are not UTF-8, and finds characters that indicate a wrong encoding.

Lines that are not UTF-8 at all are set apart and counted for each file. Others may have mojibake, controls, markup and
other characters that are not text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.errors import escaped
from dragoman.text.lines import UndecodableLine, escape_raw_bytes, has_raw_bytes

_LOST = re.compile("\ufffd")
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
# U+200C and U+200D are spelling in Persian and in Indian languages, U+200E and U+200F in mixed directions.
_MARKUP = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9A-Fa-f]{1,5});|</?(?:[a-zA-Z][a-zA-Z0-9]*)(?: [^<>]*)?/?>"
)

_LATER = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
"""The second and later bytes of UTF-8 (0x80 to 0xBF) decoded as Latin-1 or Windows-1252."""
_MOJIBAKE = re.compile(f"(?:[Â-ß][{_LATER}]|[à-ï][{_LATER}]{{2}}|[ð-ô][{_LATER}]{{3}})+")
_ALONE = re.compile("[ÂÃ]|â[€\x80‚\x82]|ð[Ÿ\x9f]")
"""Beginnings that suffice alone: of Latin-1 letters, of quotation marks, dashes and the euro, of emoji. Of others a
line must have two."""


def character_issues(line: str) -> dict[str, int]:
    """Return the issues of a line, by their names in findings.py, with the position of the first of each."""
    matches = {"control character": _CONTROL.search(line), "markup": _MARKUP.search(line)}
    if not line.isascii():
        matches["invisible character"] = _INVISIBLE.search(line)
        matches["mojibake"] = _mojibake(line)
        matches["replacement character"] = _LOST.search(line)
    positions = {kind: match.start() for kind, match in matches.items() if match is not None}
    if not unicodedata.is_normalized("NFC", line):  # at once for ASCII
        composed = unicodedata.normalize("NFC", line)
        positions["decomposed letter"] = next(at for at, letter in enumerate(line) if composed[at : at + 1] != letter)
    return positions


def around(line: str, position: int) -> str:
    """Return a few characters on both sides of a position, control characters as escapes."""
    return escaped(line[max(0, position - 10) : position + 15]).strip()


def has_composed_letter(line: str) -> bool:
    """Return whether a line has a composed letter, one that NFD would decompose."""
    return not line.isascii() and not unicodedata.is_normalized("NFD", line)


def _mojibake(line: str) -> re.Match[str] | None:
    """Find UTF-8 that was decoded as Latin-1 or Windows-1252: Ã¤ for ä, â€œ for a quotation mark.

    A match after a capital letter is ignored: CAFÉ… and IRMÃ” are such byte patterns too.
    """
    first, letters = None, 0
    for match in _MOJIBAKE.finditer(line):
        original = _decoded(match[0])
        if original is None or (match.start() > 0 and line[match.start() - 1].isupper()):
            continue
        first, letters = first or match, letters + len(original)
        if letters > 1 or _ALONE.match(match[0]):
            return first
    return None


def _decoded(text: str) -> str | None:
    """Return the text that the bytes encode in UTF-8; None if they are not UTF-8."""
    try:
        return b"".join(letter.encode("latin-1" if letter <= "\xff" else "cp1252") for letter in text).decode("utf-8")
    except UnicodeDecodeError:
        return None


CHUNK = 5000
"""Pairs that are processed together."""

EncodingGuess = Literal["Windows-1252", "cp949", "broken UTF-8", "unknown"]
"""The probable encoding of a line that is not UTF-8; for text, Latin-1 is a part of Windows-1252."""


class BadPair(NamedTuple):
    """A pair with a line that is not UTF-8."""

    pair: Pair
    """Its text is printable: bytes that are not UTF-8 are escaped as \\xe9."""
    side: str
    """source, target or both; also both where the bytes are in neither, but elsewhere in a JSON line."""
    line: UndecodableLine
    """The first one, if both are bad."""


class Chunk(NamedTuple):
    """Consecutive pairs."""

    start: int
    """Place of the first pair in the corpus, from 0; bad pairs count."""
    size: int
    """Number of pairs, bad ones included."""
    pairs: list[Pair]
    """Those in UTF-8."""
    positions: list[int]
    """Their positions in the corpus."""
    bad: list[BadPair]


@dataclass(slots=True)
class FileCounts:
    """Counts of one file with lines that are not UTF-8. The field names are the keys of the JSON output."""

    lines: int = 0
    """Lines that are not UTF-8."""
    look_like: dict[EncodingGuess, int] = field(default_factory=dict)
    """These lines by probable encoding."""
    other_lines_beyond_ascii: int = 0
    """Lines in UTF-8 that are not ASCII: converting the whole file would damage them."""


class CorpusReader:
    """Reads corpora in chunks, repeatedly; its counts are those of the latest reading."""

    def __init__(self, corpora: Corpora, limit: int | None = None) -> None:
        """`limit`: read only this number of pairs from the beginning."""
        self._corpora, self._limit = corpora, limit
        self._files: defaultdict[str, FileCounts] = defaultdict(FileCounts)
        self.first_bad: UndecodableLine | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks.

        Raises:
            InputError: as for `read_pairs`, except that lines need not be UTF-8.
        """
        self._files.clear()
        self.first_bad = None
        position = 0
        noticed: list[UndecodableLine] = []
        for files in self._corpora:
            pairs = read_pairs([files], on_undecodable=noticed.append)
            pairs = islice(pairs, None if self._limit is None else self._limit - position)
            while (chunk := self._chunk(pairs, noticed, files, position)).size:
                position += chunk.size
                yield chunk

    def _chunk(self, pairs: Iterator[Pair], noticed: list[UndecodableLine], files: Sequence[Path], start: int) -> Chunk:
        """The next pairs; `noticed` has the bad lines of the latest one."""
        chunk = Chunk(start, 0, [], [], [])
        position = start
        for position, pair in enumerate(islice(pairs, CHUNK), start + 1):
            if noticed:
                chunk.bad.append(self._bad_pair(pair, noticed))
                noticed.clear()
            else:
                chunk.pairs.append(pair)
                chunk.positions.append(position - 1)
        if len(files) == 1:
            lines = [[pair.source + pair.target for pair in chunk.pairs]]
        else:
            lines = [[pair.source for pair in chunk.pairs], [pair.target for pair in chunk.pairs]]
        for path, lines_of_file in zip(files, lines, strict=True):
            self._files[str(path)].other_lines_beyond_ascii += sum(not line.isascii() for line in lines_of_file)
        return chunk._replace(size=position - start)

    def _bad_pair(self, pair: Pair, lines: Sequence[UndecodableLine]) -> BadPair:
        self.first_bad = self.first_bad or lines[0]
        for line in lines:
            counts, guess = self._files[str(line.path)], guess_encoding(line)
            counts.lines += 1
            counts.look_like[guess] = counts.look_like.get(guess, 0) + 1
        source, target = has_raw_bytes(pair.source), has_raw_bytes(pair.target)
        shown = Pair(escape_raw_bytes(pair.source), escape_raw_bytes(pair.target), pair.origin)
        return BadPair(shown, "both" if source == target else "source" if source else "target", lines[0])

    def not_utf8(self) -> dict[str, FileCounts]:
        """Return the counts of the files with lines that are not UTF-8, by name."""
        return {name: counts for name, counts in self._files.items() if counts.lines}


_CUT = re.compile(rb"(?:^|[^A-Z])[\xc2-\xc5]$|\xe2[\x80-\x82]$|\xf0\x9f[\x80-\xbf]?$")
"""The line ends within a UTF-8 character: Latin, punctuation or emoji. Other such endings are words in Windows-1252."""
_NO_TEXT = re.compile(
    r"[^\x00-\x7fA-Za-zÀ-ÖØ-öø-ÿŠšŽžŒœŸªº\xa0¡¿§©®°²³´·«»½¼¾£±×€‚„…‘’“”•–—™‹›]"  # rare in Western text
    r"|[A-Za-zÀ-ÿ][¡¿§©®°²³´½¼¾£±×][A-Za-zÀ-ÿ]"  # between letters in other encodings: ³ is ł in ISO 8859-2
    r"|[À-ÿŠšŽžŒœŸ]{3}|[^\x00-\x7f]{5}"  # stretches of Cyrillic, Greek, Chinese
)


def guess_encoding(line: UndecodableLine) -> EncodingGuess:
    """Guess the encoding of a line by its bytes alone."""
    if line.korean() is not None:
        return "cp949"
    if _CUT.search(line.raw):
        return "broken UTF-8"
    decoded = line.raw.decode("utf-8", "replace")
    wrong, beyond = decoded.count("\ufffd"), sum(not letter.isascii() for letter in decoded)
    if beyond >= 2 * wrong:  # at least as many valid characters, which is rare in other encodings
        return "broken UTF-8"
    try:
        return "unknown" if _NO_TEXT.search(line.raw.decode("cp1252")) else "Windows-1252"
    except UnicodeDecodeError:
        return "unknown"


def describe_bad_line(line: UndecodableLine) -> str:
    """Describe the first bad byte of a line and its probable encoding."""
    guess = guess_encoding(line)
    if guess in ("Windows-1252", "cp949"):
        return f"{line.fault}; as {guess}: {around(line.raw.decode(guess), line.first)}"
    return f"{line.fault}; a truncated or damaged character" if guess == "broken UTF-8" else line.fault
