"""The lines that a verb reads from `--input`, with a prompt where somebody types them, and the constraints beside them.

Constraints are from options and files: banned words, and a target prefix and required phrases for each line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat, zip_longest
from types import TracebackType
from typing import TypeVar

from dragoman.errors import InputError
from dragoman.stored_files import decode_json
from dragoman.text.interactive import open_interactive
from dragoman.text.lines import read_lines, shown_name
from dragoman.text.raw_lines import is_blank
from dragoman.translation.prepared_lines import TextConstraints

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


def banned_words(words: Iterable[str], path: str | None) -> list[str]:
    """Banned words and phrases: those given as options, and the lines of a file.

    Raises:
        InputError: the file cannot be read.
    """
    lines = [] if path is None else read_lines(path)
    return [word.strip() for word in (*words, *lines) if not is_blank(word)]


def read_constraints(prefixes: str | None, constraints: str | None) -> Iterator[TextConstraints] | None:
    """Read the constraints of each input line; None without files.

    Raises (while iterating):
        InputError: a file cannot be read, a line is malformed, or the files differ in length.
    """
    if prefixes is None and constraints is None:
        return None
    if prefixes is None or constraints is None:
        begins: Iterable[str | None] = repeat("") if prefixes is None else read_lines(prefixes)
        phrases: Iterable[Sequence[str] | None] = repeat(()) if constraints is None else _constraints(constraints)
        return (TextConstraints(begin or "", required or ()) for begin, required in zip(begins, phrases, strict=False))
    return _paired(prefixes, constraints)


def _paired(prefixes: str, constraints: str) -> Iterator[TextConstraints]:
    for number, (begin, required) in enumerate(zip_longest(read_lines(prefixes), _constraints(constraints))):
        if begin is None or required is None:
            ended, longer = map(shown_name, (prefixes, constraints) if begin is None else (constraints, prefixes))
            raise InputError(
                f"{ended}: ends after line {number}, but {longer} goes on; each needs one line per input line"
            )
        yield TextConstraints(begin, required)


def _constraints(path: str) -> Iterator[Sequence[str]]:
    """The phrases of each line: a JSON list of strings in a .jsonl file, otherwise separated by tabs."""
    as_json = ".jsonl" in path
    for number, line in enumerate(read_lines(path), 1):
        phrases = _json_phrases(line, f"{shown_name(path)}:{number}") if as_json else line.split("\t")
        yield [phrase.strip() for phrase in phrases if not is_blank(phrase)]


def _json_phrases(line: str, origin: str) -> list[str]:
    if is_blank(line):
        return []
    try:
        return decode_json(line, list[str])
    except ValueError:
        raise InputError(
            f'{origin}: {line[:60]!r} is not a JSON list of words and phrases, such as ["red wine"]'
        ) from None
