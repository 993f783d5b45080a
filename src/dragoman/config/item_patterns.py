"""Patterns of items that users add (`text.patterns`): what may stand in them.

An exported web site uses them, too, so that they keep to what Python and JavaScript (with the flag "u") read alike.
"""

from __future__ import annotations

import re

_ALIKE = re.compile(
    r"""(?: \\[\^$\\.*+?()\[\]{}|/dDwWbB-]   # escapes of both
          | \(\?(?:[:=!]|<[=!])              # groups that capture nothing, and what stands before or after
          | \((?!\?)
          | \[(?:[^\]\\]|\\[\^$\\.*+?()\[\]{}|/dDwWbB-])+\]
          | [^\\(\[] )*""",
    re.VERBOSE,
)


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that cannot be used.

    Raises:
        ValueError: the message is for the user.
    """
    try:
        compiled = re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(f"text.patterns: {pattern!r} is no regular expression: {error}") from None
    alike = _ALIKE.match(pattern)
    if (end := alike.end() if alike else 0) < len(pattern):
        raise ValueError(
            f"text.patterns: {pattern!r} has {pattern[end : end + 2]!r}, which browsers read in another way; use "
            "characters, [...], groups such as (?:...) and lookarounds, and of escapes \\d, \\w, \\b and those of "
            "signs with a meaning"
        )
    if compiled.match(""):
        raise ValueError(f"text.patterns: {pattern!r} matches no text at all; an item has at least one character")
