"""Tables of text: .csv and .tsv files, with or without a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal

from dragoman.corpora.columns import Table, differs_in_script, is_header
from dragoman.corpora.reading import Reading
from dragoman.errors import InputError
from dragoman.text.lines import OnUndecodable, UndecodableLine

SEPARATORS = ",;\t|"
"""What may separate the columns of a .csv file."""

_DECLARED = re.compile(r'"?sep=(\\t|\t|[^\w\s"])"?', re.IGNORECASE)
"""The first line by which a .csv file tells Excel its separator."""

SAMPLE = 100
"""Lines from the beginning by which separator, quotes and columns are found."""


class PeekedLines:
    """Lines of a file whose first lines can be looked at in advance; an undecodable line is reported when it is
    read."""

    def __init__(
        self, read: Callable[[OnUndecodable | None], Generator[str, None, None]], on_undecodable: OnUndecodable | None
    ) -> None:
        """`read` yields the lines of the file; it calls its argument with each line that is not UTF-8."""
        self._report = on_undecodable
        self._bad: list[UndecodableLine] = []
        self._lines = read(None if on_undecodable is None else self._bad.append)
        self._sample: list[tuple[str, UndecodableLine | None]] = []

    def sample(self, count: int = SAMPLE) -> list[str]:
        """The first lines, which stay to be read."""
        for line in islice(self._lines, count - len(self._sample)):
            self._sample.append((line, self._bad.pop() if self._bad else None))
        return [line for line, _ in self._sample]

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def __iter__(self) -> Iterator[str]:
        for line, bad in self._sample:
            if bad is not None and self._report is not None:
                self._report(bad)
            yield line
        for line in self._lines:
            if self._bad and self._report is not None:
                self._report(self._bad.pop())
            yield line


def has_header(lines: PeekedLines, reading: Reading) -> bool:
    """Return whether the first line of a .tsv file names its columns."""
    first = lines.sample(1)
    return bool(first) and _is_header([cell.strip('"') for cell in first[0].split("\t")], reading)


def open_delimited(path: Path, lines: PeekedLines, reading: Reading, separators: str) -> Table:
    """Return the records of a table, whose columns are separated by one of the characters `separators`, or by the one
    that a .csv file declares.

    Raises:
        InputError: as the records are read, a line has more or fewer columns than the first, or quotes do not end.
    """
    sample = lines.sample()
    declared = _DECLARED.fullmatch(sample[0]) if sample and separators != "\t" else None
    if declared is None:
        separator = max(separators, key=lambda one: _evenness(sample, one))
    else:
        separator = declared[1].replace("\\t", "\t")
    quoted = separators != "\t" or _is_quoted(sample)
    first = int(declared is not None)
    rows = list(_rows(path, iter(sample), separator, quoted=quoted, whole=len(sample) < SAMPLE))[first:]
    named, names = column_names([row for _, row in rows], reading)

    def records() -> Iterator[tuple[str, dict[str, str]]]:
        for number, row in islice(_rows(path, lines, separator, quoted=quoted), first + int(named), None):
            if len(row) != len(names):
                advice = "a cell with a separator or a quote in it stands in quotes"
                if len(row) < len(names):
                    advice = "is there a line break in a cell, or are empty cells left out? save the table as .xlsx"
                raise InputError(
                    f"{path}:{number}: {len(row)} column{'s' * (len(row) != 1)}, but the first line has {len(names)}; "
                    f"{advice}"
                )
            yield f"{path}:{number}", dict(zip(names, row, strict=True))

    shown = [dict(zip(names, row, strict=False)) for _, row in rows[int(named) :]]
    return Table(path, names, records(), shown, named=named)


def column_names(rows: Sequence[Sequence[str | None]], reading: Reading) -> tuple[bool, list[str]]:
    """Return whether the first of some rows is a header, and the names of the columns: its cells, or numbers."""
    cells = [[cell or "" for cell in row] for row in rows]
    first = cells[0] if cells else []
    if _is_header(first, reading) or differs_in_script(first, cells[1:]):
        named = [cell.strip() for cell in first]  # a number replaces a name that is empty or not unique
        return True, [name if name and named.count(name) == 1 else str(at) for at, name in enumerate(named, 1)]
    return False, [str(number) for number in range(1, max(map(len, cells), default=0) + 1)]


def _is_header(first: Sequence[str], reading: Reading) -> bool:
    """Whether a first line names columns: two known ones, or one that is asked for."""
    cells = {cell.strip().casefold() for cell in first}
    return is_header(first) or not cells.isdisjoint(one.casefold() for one in reading.columns or ())


def _evenness(sample: Sequence[str], separator: str) -> tuple[float, int]:
    """The share of lines with as many columns as the first, and their number; 0 where there is one column."""
    counts: list[int] = []
    with suppress(csv.Error):
        for row in csv.reader((f"{line}\n" for line in sample), delimiter=separator):
            counts += [len(row)] if row else []
    if not counts or counts[0] < 2:
        return 0.0, 0
    return counts.count(counts[0]) / len(counts), counts[0]


def _is_quoted(sample: Sequence[str]) -> bool:
    """Whether cells of a .tsv file are quoted: all, or all that begin with a quote and some with doubled ones inside.

    So they are where cells over several lines make the columns even. In most .tsv files a quote is a character like
    others.
    """
    tabs = [line.count("\t") for line in sample]
    if sample and _evenness(sample, "\t")[0] > tabs.count(tabs[0]) / len(tabs):
        return True
    cells = [cell for line in sample for cell in line.split("\t")]
    begun = [cell for cell in cells if cell.startswith('"')]
    whole = all(len(cell) > 1 and cell.endswith('"') and not cell[1:-1].replace('""', "").count('"') for cell in begun)
    return whole and bool(begun) and (len(begun) == len(cells) or any('""' in cell[1:-1] for cell in begun))


def _rows(
    path: Path, lines: Iterable[str], separator: str, *, quoted: bool, whole: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty with the number of its first line; `whole` is false for a sample."""
    ended = (f"{line}\n" for line in lines)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(ended, delimiter=separator, quoting=quoting, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if not whole:
                return
            what = "quotes that do not end" if "end of data" in str(error) or "limit" in str(error) else str(error)
            raise InputError(f"{path}:{number}: {what}; a quote within quotes is doubled") from None
        if row:
            yield number, row
