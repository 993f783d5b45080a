"""A warning where links between words are asked for and a script has no spaces between them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from dragoman.text.scripts import SpacingCounter

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
        found = [name for name, side in self._sides.items() if side.unsegmented]
        if found:
            log.warning(
                "the %s lines have no spaces between words, so a word of an alignment is a whole phrase or line; %s",
                " and ".join(found),
                self._advice,
            )
