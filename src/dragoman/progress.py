"""What is said on standard error while something long runs: lines, and counters that only a terminal sees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Narrator:
    """Says where a program is; says nothing if quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    def say(self, text: str) -> None:
        """A line."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    @contextmanager
    def counting(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A counter of things done so far, on a terminal; it is gone afterwards."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda done: None
            return
        from tqdm import tqdm

        with tqdm(desc=what, total=total, unit="", unit_scale=True, leave=False, dynamic_ncols=True) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance
