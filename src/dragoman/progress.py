"""Messages and progress bars on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from dragoman.errors import escaped

if TYPE_CHECKING:
    from tqdm import tqdm

INTERVAL = 60.0
"""Seconds between two lines of a counter where there is no terminal."""

ProgressCallback = Callable[[int], None]
"""Receives the number of items that are done so far."""


class Console:
    """Messages and progress bars: bars on a terminal only, and nothing but warnings if `quiet`.

    >>> import io
    >>> from dragoman.progress import Console
    >>> said = io.StringIO()
    >>> Console(quiet=True, stream=said).warning("a line is blank")
    >>> said.getvalue()
    'warning: a line is blank\\n'
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        """`stream` takes the place of standard error."""
        self.quiet = quiet
        self._given_stream = stream
        self._bar: tqdm[Any] | None = None

    def info(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if not self.quiet:
            self._print(text)

    def warning(self, text: str) -> None:
        """Print a line even if quiet."""
        self._print(f"warning: {text}")

    def status(self, text: str) -> None:
        """Show a line that replaces the last status beside the bar; print it where there is no bar."""
        if self._bar is not None:
            self._bar.set_description_str(text)
        else:
            self.info(text)

    @contextmanager
    def counter(self, what: str, total: int | None = None) -> Iterator[ProgressCallback]:
        """Show on a terminal how many items are done; the counter disappears at the end.

        Elsewhere a line from time to time says so, with an estimate of the time that is left.
        """
        if not self._shows_bars():
            yield _Lines(self, what, total)
            return
        from tqdm import tqdm

        with tqdm(
            desc=what, total=total, unit="", unit_scale=True, leave=False, file=self._stream, dynamic_ncols=True
        ) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance

    def open_bar(self) -> None:
        """Show a bar from 0 to 100 % on a terminal, until `close_bar`."""
        if self._shows_bars():
            from tqdm import tqdm

            layout = "{percentage:3.0f}% |{bar}| {desc}"
            self._bar = tqdm(total=1.0, bar_format=layout, file=self._stream, dynamic_ncols=True)

    def advance_bar(self, fraction: float) -> None:
        """Move the bar, which repaints at most ten times a second."""
        if self._bar is not None:
            self._bar.update(min(1.0, fraction) - self._bar.n)

    def close_bar(self) -> None:
        """Leave the bar as it stands, with the cursor below it."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._given_stream is None else self._given_stream

    def _shows_bars(self) -> bool:
        # The streams of a notebook say that they are terminals, but keep every state of a bar as a line of output.
        in_notebook = type(self._stream).__module__.startswith("ipykernel")
        return not self.quiet and self._stream.isatty() and not in_notebook

    def _print(self, text: str) -> None:
        with suppress(OSError):  # a terminal or pipe that has gone away is no reason to stop what is going on
            if self._bar is not None:
                self._bar.write(escaped(text), file=self._stream)
            else:
                print(escaped(text), file=self._stream, flush=True)


class _Lines:
    """Prints how many items are done, every `INTERVAL` seconds."""

    def __init__(self, console: Console, what: str, total: int | None) -> None:
        self._console, self._what, self._total = console, what, total
        self._began = self._reported = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._reported < INTERVAL or not done:
            return
        self._reported = now
        rate = done / max(1e-9, now - self._began)
        of = left = ""
        if self._total is not None and self._total >= done:
            of, left = f" of {self._total:,}", f", about {as_duration((self._total - done) / rate)} left"
        self._console.info(f"{done:,}{of} {self._what}, {rate:,.0f} a second{left}")


def as_duration(seconds: float) -> str:
    """A duration in two units at most: 45 s, 12 min 5 s, 3 h 20 min, 5 days 4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days {hours % 24} h"
