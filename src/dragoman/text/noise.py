"""Noise in text: words left out or exchanged, typing errors, title case."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Literal, get_args

DROPPED = 0.1
"""Probability that a word is left out."""
DISTANCE = 3
"""Places that a word moves at most."""


def add_noise(words: Sequence[str], draw: random.Random) -> list[str]:
    """Leave words out and exchange near ones (Lample et al. 2018, section 2.3); at least one word stays.

    A word at place i goes to the rank of i + U(0, k + 1), so that none moves by more than k places.
    """
    kept = [word for word in words if draw.random() >= DROPPED] or list(words[:1])
    keys = [place + draw.uniform(0, DISTANCE + 1) for place in range(len(kept))]
    return [word for _, word in sorted(zip(keys, kept, strict=True), key=lambda item: item[0])]


MISTYPED = 0.15
"""Share of the words of a line with typing errors that have one."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")


TypingError = Literal["exchanged", "left out", "doubled"]
TYPING_ERRORS: tuple[TypingError, ...] = get_args(TypingError)
"""What happens to a letter of a word."""


def add_typing_errors(line: str, draw: random.Random, errors: Sequence[TypingError] = TYPING_ERRORS) -> str:
    """Exchange, leave out or double a letter in some words of three letters or more; the first letter stays."""
    return _WORD.sub(lambda match: _mistyped(match[0], draw, errors) if draw.random() < MISTYPED else match[0], line)


def _mistyped(word: str, draw: random.Random, errors: Sequence[TypingError]) -> str:
    at, error = draw.randrange(1, len(word) - 1), draw.choice(errors)
    before, here, after = word[:at], word[at], word[at + 1 :]
    if error == "exchanged":
        return before + after[0] + here + after[1:]
    return before + after if error == "left out" else before + here + here + after


def title_case(line: str) -> str:
    """The line with the first letter of each word as a capital, as headings are written; other letters stay."""
    return _WORD_START.sub(lambda match: match[0].title(), line)
