"""Traces of text that was read or written in the wrong encoding, or carries what is not text.

A line that is not UTF-8 at all never comes here: see reading.py.
"""

from __future__ import annotations

import re
import unicodedata

_LOST = re.compile("\ufffd")
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
# U+200C and U+200D are spelling in Persian and in Indian languages, U+200E and U+200F in mixed directions.
_MARKUP = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9A-Fa-f]{1,5});|</?(?:[a-zA-Z][a-zA-Z0-9]*)(?: [^<>]*)?/?>"
)

_LATER = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
"""How the second and later bytes of UTF-8 (0x80 to 0xBF) look as Latin-1 or Windows-1252."""
_MOJIBAKE = re.compile(f"(?:[Â-ß][{_LATER}]|[à-ï][{_LATER}]{{2}}|[ð-ô][{_LATER}]{{3}})+")
_ALONE = re.compile("[ÂÃ]|â[€\x80‚\x82]|ð[Ÿ\x9f]")
"""Beginnings that give it away alone: of Latin-1 letters, of quotation marks, dashes and the euro, of emoji. Of others
it takes two in a line."""


def troubles(line: str) -> dict[str, int]:
    """The kinds of trouble in a line, by their names in findings.py, and the place of the first of each."""
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
    """A few characters on both sides of a place, control characters as escapes."""
    cut = line[max(0, place - 10) : place + 15]
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in cut).strip()


def has_composed_letter(line: str) -> bool:
    """Whether a letter with its accent is one character in it, which NFD would take apart."""
    return not line.isascii() and not unicodedata.is_normalized("NFD", line)


def _mojibake(line: str) -> re.Match[str] | None:
    """UTF-8 that was read as Latin-1 or Windows-1252: Ã¤ for ä, â€œ for a quotation mark.

    What follows a capital letter is left alone: CAFÉ… and IRMÃ” are such byte patterns too.
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
    """What the bytes were, if they were UTF-8."""
    try:
        return b"".join(_byte(character) for character in text).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _byte(character: str) -> bytes:
    return character.encode("latin-1") if character <= "\xff" else character.encode("cp1252")
