"""Lexical constraints from options and files: banned words, and a target prefix and required phrases for each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, zip_longest

from dragoman.errors import InputError
from dragoman.stored_files import decode_json
from dragoman.text.lines import read_lines
from dragoman.text.words import is_blank
from dragoman.translation.line_constraints import TextConstraints


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
            ended, longer = (prefixes, constraints) if begin is None else (constraints, prefixes)
            raise InputError(
                f"{ended}: ends after line {number}, but {longer} goes on; each needs one line per input line"
            )
        yield TextConstraints(begin, required)


def _constraints(path: str) -> Iterator[Sequence[str]]:
    """The phrases of each line: a JSON list of strings in a .jsonl file, otherwise separated by tabs."""
    as_json = ".jsonl" in path
    for number, line in enumerate(read_lines(path), 1):
        phrases = _json_phrases(line, f"{path}:{number}") if as_json else line.split("\t")
        yield [phrase.strip() for phrase in phrases if not is_blank(phrase)]


def _json_phrases(line: str, place: str) -> list[str]:
    if is_blank(line):
        return []
    try:
        return decode_json(line, list[str])
    except ValueError:
        raise InputError(
            f'{place}: {line[:60]!r} is not a JSON list of words and phrases, such as ["red wine"]'
        ) from None
