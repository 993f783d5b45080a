"""The words of raw lines, which alignment links count, and lines without text.

Words are separated by spaces and tabs and by nothing else, as Moses, GIZA++ and fast_align separate them, so that links
fit the same text in all of these. A no-break space ("10 000", "Bonjour !") or an ideographic space is part of a word.
"""

from __future__ import annotations

import re

_WORD = re.compile("[^ \t]+")
# Neither whitespace nor a control character, nor one of zero width (zero-width spaces and joiners, directional and byte
# order marks, soft hyphens).
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def raw_words(line: str) -> list[tuple[int, int]]:
    """The words of a raw line, as [start, end) in characters."""
    return [match.span() for match in _WORD.finditer(line)]


def raw_characters(line: str) -> list[tuple[int, int]]:
    """The characters of a raw line but spaces of any kind, as [start, end)."""
    return [(place, place + 1) for place, character in enumerate(line) if not character.isspace()]


def words_in(line: str) -> list[str]:
    """The words of a raw line."""
    return _WORD.findall(line)


def is_blank(line: str) -> bool:
    """Whether a line counts as empty: it has nothing but spaces of any kind and characters that are not visible."""
    return _VISIBLE.search(line) is None
