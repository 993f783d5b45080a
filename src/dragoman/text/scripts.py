"""Scripts without spaces between words: what stands between spaces is then a phrase or a line, not a word.

A warning says so where links between words are asked for.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

LETTERS_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Myanmar, Khmer, kana and Han, as the inside of a regular expression's [...]. Hangul has spaces."""


def character_class(codes: Iterable[int]) -> str:
    """Return the inside of a regular expression's [...] for characters, neighbours joined to ranges."""
    numbered = enumerate(sorted(set(codes)))
    runs = [list(run) for _, run in groupby(numbered, key=lambda one: one[1] - one[0])]
    return "".join(rf"\U{run[0][1]:08x}-\U{run[-1][1]:08x}" for run in runs)


LETTER_WITHOUT_SPACES = re.compile(f"[{LETTERS_WITHOUT_SPACES}]")

_UNSEGMENTED = 8.0
"""Mean letters between spaces from which on text counts as not segmented. Segmented Chinese and Japanese have 2, Thai
and Khmer 5; raw lines have 10 to 40."""


class SpacingCounter:
    """Decides whether lines are in a script without spaces and not segmented into words; takes them one by one."""

    def __init__(self) -> None:
        self._letters = self._other_letters = self._words = 0

    def add(self, line: str) -> None:
        """Count the letters and words of a line."""
        for word in line.split():
            letters = len(LETTER_WITHOUT_SPACES.findall(word))
            if letters:
                self._words += 1
                self._letters += letters
            else:
                self._other_letters += sum(map(str.isalpha, word))

    @property
    def unsegmented(self) -> bool:
        """Whether most letters are of such scripts and stand in runs much longer than words."""
        return self._letters > self._other_letters and self._letters >= _UNSEGMENTED * self._words


def is_unsegmented(lines: Iterable[str]) -> bool:
    """Return whether lines are in a script without spaces and not segmented into words."""
    counter = SpacingCounter()
    for line in lines:
        counter.add(line)
    return counter.unsegmented


LengthUnit = Literal["words", "characters"]


def line_lengths(lines: Iterable[str]) -> tuple[LengthUnit, list[int]]:
    """Return the lengths of lines in words between spaces of any kind; of unsegmented lines in characters."""
    lines = list(lines)
    if is_unsegmented(lines):
        return "characters", [len("".join(line.split())) for line in lines]
    return "words", [len(line.split()) for line in lines]


log = logging.getLogger(__name__)


class SpacingWatch:
    """Counts source and target lines, and warns once of those that are one word from end to end."""

    def __init__(self, advice: str) -> None:
        """`advice` says what to do."""
        self._advice = advice
        self._sides = {"source": SpacingCounter(), "target": SpacingCounter()}

    def add(self, source: str, target: str) -> None:
        """Count a pair."""
        self._sides["source"].add(source)
        self._sides["target"].add(target)

    def watch(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the pairs; warn after the last one."""
        for pair in pairs:
            self.add(*pair)
            yield pair
        self.warn()

    def warn(self) -> None:
        """Warn if the lines of a side are not segmented."""
        unsegmented = [name for name, side in self._sides.items() if side.unsegmented]
        if unsegmented:
            log.warning(
                "the %s lines have no spaces between words, so a word of an alignment is a whole phrase or line; %s",
                " and ".join(unsegmented),
                self._advice,
            )
