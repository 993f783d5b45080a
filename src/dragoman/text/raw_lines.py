"""What raw lines hold: letters, text that can be seen, and control characters, which segmentations do not read."""

from __future__ import annotations

import re

# Neither whitespace nor a control character, nor one of zero width (zero-width spaces and joiners, directional and byte
# order marks, soft hyphens).
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def has_letter(text: str) -> bool:
    """Whether there is anything to translate: numbers and signs alone are not."""
    return any(map(str.isalpha, text))


def is_blank(line: str) -> bool:
    """Whether a line counts as empty: it has nothing but spaces of any kind and characters that are not visible."""
    return _VISIBLE.search(line) is None


def printable(line: str) -> str:
    """The line with a space for each control character, U+FFFD for half a surrogate pair; same length.

    A blank line becomes an empty one: a no-break space is a piece in some lines, but no text where it is alone.
    """
    if is_blank(line):
        return ""
    if line.isprintable():  # several times as fast as the expression
        return line
    return _UNPRINTABLE.sub(_replacement, line)


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if match[0] >= "\ud800" else " "


def as_read(line: str) -> str:
    """The line as segmentations read it: the same for lines that differ in control characters and outer spaces only.

    That is the `printable` line without spaces at its ends. A tab stays, because it divides a lemma from its tags.
    """
    if line.isprintable():
        return line.strip(" ")
    if is_blank(line):
        return ""
    return "\t".join(_UNPRINTABLE.sub(_replacement, part) for part in line.split("\t")).strip(" ")
