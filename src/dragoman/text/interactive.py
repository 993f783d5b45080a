"""Lines that arrive over time: from a pipe, a FIFO, a socket or a terminal.

Their reader can ask whether it would have to wait for the next line, so that it can first answer those it has:

    lines = open_interactive("-", before_waiting=output.flush)
    for line in lines:
        ...  # lines.paused(): no further line has arrived yet
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.inputs import STANDARD_STREAM, note_input, note_standard_input
from dragoman.systems import IS_WINDOWS
from dragoman.text.lines import is_compressed, read_lines

_CHUNK = 1 << 16  # bytes that are read at once, as many as a pipe holds
_GRACE = 0.01  # seconds without input that are a pause; a process that writes without pausing is faster


def open_interactive(path: str | Path, before_waiting: Callable[[], None]) -> InteractiveLines | None:
    """Open standard input ("-") or a file as `InteractiveLines`; None for what is read without waiting.

    That is a regular file, a device such as /dev/null, and any compressed input. A file that cannot be opened gives
    None too: `read_lines` says why.
    """
    if IS_WINDOWS:
        return None  # which cannot wait for a pipe with a time limit
    with suppress(OSError, ValueError, AttributeError):  # standard input is closed, or has no file descriptor
        if str(path) == STANDARD_STREAM:
            descriptor = sys.stdin.fileno()
            status = os.fstat(descriptor)
            mode = status.st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor):
                note_standard_input()
                note_input(path, status)
                return InteractiveLines(io.FileIO(descriptor, closefd=False), path, before_waiting)
        elif not is_compressed(path) and stat.S_ISFIFO(os.stat(path).st_mode):
            file = io.FileIO(str(path))
            note_input(path, os.fstat(file.fileno()))
            return InteractiveLines(file, path, before_waiting)
    return None


class InteractiveLines:
    """An iterator of decoded lines, read as by `read_lines`, which can say whether the next has arrived.

    Raises (while iterating):
        InputError: as for `read_lines`.
    """

    def __init__(self, file: io.FileIO, path: str | Path, before_waiting: Callable[[], None]) -> None:
        """`before_waiting` is called whenever the next line has not arrived and will be waited for."""
        self.is_terminal = file.isatty()
        """Whether somebody types the lines."""
        self._stream = _InteractiveStream(file)
        self._lines = read_lines(path, stream=cast(BinaryIO, self._stream))
        self._before_waiting = before_waiting

    def paused(self) -> bool:
        """Whether no further line has arrived, nor the end of the input, for 10 milliseconds."""
        return self._stream.paused(_GRACE)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._stream.paused(0):
            self._before_waiting()
        return next(self._lines)


class _InteractiveStream(io.BufferedIOBase):
    """A binary stream of lines that knows whether the next line is in its buffer.

    `io.BufferedReader` cannot say that without waiting.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._buffer = bytearray()
        self._searched = 0
        """There is no line end in this many bytes at the head of the buffer."""
        self._ended = False

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()

    def paused(self, seconds: float) -> bool:
        """Whether no line end arrives within so many seconds; of a very long line the rest is always waited for."""
        while not self._ended and not self._line_length() and len(self._buffer) < _CHUNK:
            if not select.select([self], [], [], seconds)[0]:
                return True
            self._read_more()
        return False

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line with its line end; of a longer line the first `size` bytes, if not negative."""
        limit = sys.maxsize if size is None or size < 0 else size
        while not self._line_length() and len(self._buffer) < limit and not self._ended:
            select.select([self], [], [])  # whoever shares the descriptor may have made it non-blocking
            self._read_more()
        length = min(self._line_length() or len(self._buffer), limit)
        line = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._searched = 0
        return line

    def _line_length(self) -> int:
        """Bytes of the next line with its line end; 0 if it is not complete."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
        return end + 1

    def _read_more(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self.fileno(), _CHUNK)
            self._buffer += chunk
            self._ended = not chunk
