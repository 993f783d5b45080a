"""Progress of a command over many files, with an estimate of the time that is left, and its summary."""

from __future__ import annotations

import time
from dataclasses import dataclass

from dragoman.progress import Console, as_duration

INTERVAL = 10.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Summary:
    """What a command has done."""

    files: int
    lines: int
    """Lines that were computed now."""
    unfinished: int
    """Translations that were truncated at the longest length, among the lines that were computed now."""
    seconds: float
    """From the first worker on."""
    workers: int

    def __str__(self) -> str:
        rate = self.lines / self.seconds if self.seconds else 0.0
        per_worker = rate / max(1, self.workers)
        return (
            f"{self.lines:,} lines computed in {as_duration(self.seconds)}: {rate:,.1f} a second, {per_worker:,.1f} a "
            f"second and worker, {self.workers} workers; {self.files:,} files"
        )


class Progress:
    """Counts what is done and prints a line from time to time."""

    def __init__(self, console: Console, total_bytes: int) -> None:
        self.lines = 0
        """Lines that were computed."""
        self.unfinished = 0
        self._console = console
        self._total_bytes = total_bytes
        self._read_bytes = 0
        self._before = 0  # bytes of the files before the one that is read
        self._sent_lines = 0
        self._sent_bytes = 0
        self._started: float | None = None
        self._told = time.monotonic()

    def start(self) -> None:
        """The first worker is ready."""
        if self._started is None:
            self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the first worker was ready."""
        return 0.0 if self._started is None else time.monotonic() - self._started

    def read(self, position: int) -> int:
        """The file that is read now has been read to this byte; gives the bytes since the last call."""
        new = max(0, self._before + position - self._read_bytes)
        self._read_bytes += new
        return new

    def next_file(self, size: int) -> None:
        """A file of so many bytes has been read."""
        self._before += size
        self._read_bytes = self._before

    def sent(self, lines: int, size: int) -> None:
        """Lines of so many bytes of the input are to be computed."""
        self._sent_lines += lines
        self._sent_bytes += size

    def computed(self, lines: int, unfinished: int) -> None:
        """A shard is done."""
        self.lines += lines
        self.unfinished += unfinished

    def tell(self, workers: int) -> None:
        """Print a line if the last one was some seconds ago."""
        if time.monotonic() - self._told < INTERVAL:
            return
        self._told = time.monotonic()
        share = min(1.0, self._read_bytes / self._total_bytes) if self._total_bytes else 1.0
        if not self.lines or not self.seconds:
            self._console.status(f"{workers} workers; no lines yet")
            return
        rate = self.lines / self.seconds
        self._console.status(
            f"{self.lines:,} lines, {share:.0%} of the input read, {rate:,.1f} lines a second, {workers} workers, "
            f"about {as_duration(self._remaining_lines() / rate)} left"
        )

    def _remaining_lines(self) -> float:
        """Those that are sent, and those of the bytes that are not yet read."""
        unread = max(0, self._total_bytes - self._read_bytes)
        lines_per_byte = self._sent_lines / self._sent_bytes if self._sent_bytes else 0.0
        return self._sent_lines - self.lines + unread * lines_per_byte
