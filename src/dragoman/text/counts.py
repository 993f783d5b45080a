"""Whole numbers in text files."""

from __future__ import annotations

import re

_COUNT = re.compile("[0-9]{1,15}")  # Python converts no more than 4,300 digits, and a float holds 15 exactly


def parse_count(text: str) -> int | None:
    """A whole number of at most 15 digits, 0 to 9; None for any other text."""
    return int(text) if _COUNT.fullmatch(text) else None
