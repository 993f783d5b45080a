"""Moses phrase tables: one phrase pair a line, `source ||| target ||| scores [||| alignment ||| counts ||| ...]`.

Tables are read and written as streams in constant memory. A row keeps its line; only scores are appended. The pairs of
a source phrase are consecutive, as Moses requires.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from dragoman.errors import InputError
from dragoman.scoring.nbest import BARS, format_value, parse_number, unescape_words
from dragoman.text.lines import read_lines, shown_name
from dragoman.text.words import words_in

_FORM = "source ||| target ||| scores"
_SCORES = 2
"""Index of the field of the scores."""


@dataclass(frozen=True)
class Row:
    """One phrase pair of a table."""

    fields: tuple[str, ...]
    """The unchanged fields of the line."""
    scores: tuple[float, ...]

    @property
    def source(self) -> str:
        """The source phrase without surrounding spaces, as in the text: nothing is escaped."""
        return unescape_words(self.fields[0].strip(" \t"))

    @property
    def target(self) -> str:
        """The target phrase without surrounding spaces, as in the text: nothing is escaped."""
        return unescape_words(self.escaped_target)

    @property
    def escaped_target(self) -> str:
        """The target phrase without surrounding spaces, as the table has it, and the language model beside it."""
        return self.fields[1].strip(" \t")

    @property
    def line(self) -> str:
        """The row as a line of a table."""
        return BARS.join(self.fields)

    def adding(self, values: Sequence[float]) -> Row:
        """The row with more scores at the end."""
        field = self.fields[_SCORES]
        kept = field.rstrip()
        changed = f"{kept} {' '.join(format_value(value) for value in values)}{field[len(kept) :]}"
        fields = (*self.fields[:_SCORES], changed, *self.fields[_SCORES + 1 :])
        return Row(fields, (*self.scores, *values))


def parse_row(line: str, origin: str) -> Row:
    """Parse a line of a table; `origin` names it in error messages.

    Raises:
        InputError: the line is malformed.
    """
    fields = tuple(line.split(BARS))
    if len(fields) <= _SCORES:
        raise InputError(f"{origin}: {len(fields)} of at least 3 fields between triple bars; expected `{_FORM}`")
    scores = tuple(parse_number(text, origin, "a score") for text in fields[_SCORES].split())
    if not scores:
        raise InputError(f"{origin}: no scores in the third field; expected `{_FORM}`")
    return Row(fields, scores)


class PhrasesOfText:
    """The phrases that occur in some lines of text, words separated by spaces; what Moses escapes may be escaped."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [words_in(unescape_words(line)) for line in lines]
        self._phrases: dict[int, set[str]] = {}
        """Number of words -> the phrases of so many, from the first question about one of them on."""

    def __contains__(self, phrase: object) -> bool:
        words = words_in(str(phrase))
        size = len(words)
        if size not in self._phrases:
            self._phrases[size] = {
                " ".join(line[start : start + size]) for line in self._lines for start in range(len(line) - size + 1)
            }
        return " ".join(words) in self._phrases[size]


def read_table(path: str | Path, sources: Container[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a table; names ending in .gz, .xz and .zst are decompressed.

    Args:
        sources: yield only the rows with one of these source phrases; None for all.

    Raises:
        InputError: the file cannot be read, or a line is malformed or has another number of scores than the first.
    """
    columns, name = None, shown_name(path)
    for number, line in enumerate(read_lines(path), 1):
        row = parse_row(line, f"{name}:{number}")
        columns = columns or len(row.scores)
        if len(row.scores) != columns:
            raise InputError(f"{name}:{number}: {len(row.scores)} scores, where the first line has {columns}")
        if sources is None or row.source in sources:
            yield row


def by_source(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Group the rows by source phrase."""
    for source, group in groupby(rows, key=lambda row: row.source):
        yield source, list(group)


def distinct_pairs(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """(source, target) of each distinct pair, the training data of Cho et al. 2014, section 3.1."""
    for source, group in by_source(rows):
        for target in dict.fromkeys(row.target for row in group):
            yield source, target
