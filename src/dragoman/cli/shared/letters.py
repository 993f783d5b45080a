"""A warning where letters of a picture or a page have no font, of commands that run without matplotlib too."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

_IN_ALL_FONTS = 0x0530
"""Latin, Greek and Cyrillic letters come before this one; they need no search among the fonts, which takes time."""


def warn_of_letters_without_font(words: Iterable[str], *, pictures: bool = False, page: bool = False) -> None:
    """Warn of letters that no font of this system has, as `report.fonts.warn_of_missing_letters` does.

    Without matplotlib, which finds the installed fonts, there is no warning.
    """
    words = list(words)
    if not (pictures or page) or all(ord(letter) < _IN_ALL_FONTS for word in words for letter in word):
        return
    with suppress(ModuleNotFoundError):
        from dragoman.report.fonts import warn_of_missing_letters

        warn_of_missing_letters(words, pictures=pictures, page=page)
