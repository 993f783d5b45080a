"""Characters that indicate a wrong encoding, or that are not text: mojibake, controls, markup and others.

Lines that are not UTF-8 at all are handled in `corpus_reader.py`.
"""

from __future__ import annotations

import re
import unicodedata

from dragoman.errors import escaped

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
    found = {"control character": _CONTROL.search(line), "markup": _MARKUP.search(line)}
    if not line.isascii():
        found["invisible character"] = _INVISIBLE.search(line)
        found["mojibake"] = _mojibake(line)
        found["replacement character"] = _LOST.search(line)
    places = {kind: match.start() for kind, match in found.items() if match is not None}
    if not unicodedata.is_normalized("NFC", line):  # at once for ASCII
        composed = unicodedata.normalize("NFC", line)
        places["decomposed letter"] = next(at for at, letter in enumerate(line) if composed[at : at + 1] != letter)
    return places


def around(line: str, place: int) -> str:
    """Return a few characters on both sides of a position, control characters as escapes."""
    return escaped(line[max(0, place - 10) : place + 15]).strip()


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
