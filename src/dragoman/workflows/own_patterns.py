"""The patterns of items that users add (`text.patterns`), tried on the training sources before anything is trained."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import islice

from dragoman.errors import ConfigError

LINES = 10_000
"""Training sources on which a pattern is tried."""
SECONDS = 10.0
"""Time for all of them; most patterns take a tenth of a second."""
LARGEST_SHARE = 0.5
"""Share of the characters that the matches of a pattern may have: a model has to see the text around items."""
_HARD = [text * 200 for text in ("a", "A", "1", " ", "-", ".", "a1", "A-", "a ", "a.", '"', "/")]
"""Text on which patterns with repetitions inside repetitions take for ever."""
_COUNT = """
import json, re, sys
pattern, lines = json.load(sys.stdin)
for line in lines:
    print(sum(len(match[0]) for match in re.finditer(pattern, line, re.ASCII)), flush=True)
"""
"""A program of its own, because nothing else can stop a match."""


def try_patterns(patterns: Sequence[str], sources: Iterable[str]) -> list[str]:
    """Return what a user should know of the patterns: warnings of those that match nothing.

    Raises:
        ConfigError: a pattern is slow on some line, or matches most of the text.
    """
    if not patterns:
        return []
    lines = list(islice(sources, LINES))
    return [warning for pattern in patterns for warning in _tried(pattern, lines)]


def _tried(pattern: str, lines: Sequence[str]) -> list[str]:
    matched = sum(_matched_characters(pattern, lines))
    if matched > LARGEST_SHARE * sum(map(len, lines)):
        raise ConfigError(
            f"text.patterns: {pattern!r} matches more than half of the training text, of which a model would see "
            "placeholders only; narrow it"
        )
    return [] if matched else [f"warning: text.patterns: {pattern!r} matches nothing in the training text"]


def _matched_characters(pattern: str, lines: Sequence[str]) -> list[int]:
    """The number of characters of each line that are in matches."""
    text = json.dumps((pattern, [*_HARD, *lines]))
    program = [sys.executable, "-I", "-c", _COUNT]
    try:
        done = subprocess.run(program, input=text, capture_output=True, encoding="ascii", check=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as stopped:
        place = (stopped.stdout or b"").count(b"\n") - len(_HARD)
        where = f"line {place + 1} of the training text" if place >= 0 else f"a line such as {_HARD[place][:6]}..."
        raise ConfigError(
            f"text.patterns: {pattern!r} is slow: after {SECONDS:g} s it was at {where}; avoid repetitions inside "
            "repetitions, such as (?:a+)+"
        ) from None
    return [int(count) for count in done.stdout.split()[len(_HARD) :]]
