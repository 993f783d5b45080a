"""The lines that a verb reads from `--input`: with a prompt where somebody types them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice
from types import TracebackType
from typing import TypeVar

from dragoman.text.interactive import open_interactive
from dragoman.text.lines import read_lines

PROMPT = "> "

Item = TypeVar("Item")


def with_first_read(stream: Iterator[Item]) -> Iterator[Item]:
    """The same items with the first already read, so that a missing input is found before any output is opened."""
    first = list(islice(stream, 1))
    return chain(first, stream)


class InputLines:
    """An iterator of lines, to be used in a `with` block.

    Of a file the first line is read at once. At a terminal a prompt on standard error asks for each line.

    Raises (also while iterating):
        InputError: as for `read_lines`.
    """

    def __init__(self, path: str, what: str, *, quiet: bool) -> None:
        """`what` the verb does with a line, for the explanation of the prompt."""
        self.before_waiting: Callable[[], object] = lambda: None
        """Called before a line of a pipe or a terminal is waited for: the place to flush outputs."""
        interactive = open_interactive(path, self._wait)
        self._lines: Iterator[str] = with_first_read(read_lines(path)) if interactive is None else interactive
        self.paused: Callable[[], bool] | None = None if interactive is None else interactive.paused
        """Whether no further line has arrived yet; None for a file, whose lines are all there."""
        self.prompts = interactive is not None and interactive.is_terminal and sys.stderr.isatty() and not quiet
        """Whether a prompt asks for each line."""
        self._explanation = f"Type a line and press Enter to {what} it; Ctrl-D ends.\n"
        self._at_prompt = False

    def __enter__(self) -> InputLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._at_prompt:  # Ctrl-D and Ctrl-C leave the cursor behind it
            sys.stderr.write("\n")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._at_prompt = False
        return line

    def _wait(self) -> None:
        self.before_waiting()
        if self.prompts:
            shown, self._explanation, self._at_prompt = f"{self._explanation}{PROMPT}", "", True
            sys.stderr.write(shown)
            sys.stderr.flush()
