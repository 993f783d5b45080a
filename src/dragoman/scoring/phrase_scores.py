"""Neural scores as additional columns of a phrase table, in two passes that can be resumed after an interruption.

The first pass appends the scores of each row to a journal beside the output, the second writes the table with them. A
new start with the same table, models and columns continues at the end of the journal.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, tee
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from dragoman.errors import InputError
from dragoman.scoring.phrases import Row, by_source, read_table
from dragoman.scoring.scorer import CandidateTranslations, Scorer
from dragoman.scoring.token_scores import log_probability
from dragoman.stored_files import model_digest
from dragoman.text.lines import replace_file, replace_output
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK

MIN_PROBABILITY = math.exp(-100)
"""Smallest score: Moses takes logarithms in single precision and limits them to -100."""
_FORMAT = 2
_CHECK = struct.Struct("<I")


class Group(NamedTuple):
    """The rows of one source phrase."""

    source: str
    rows: Sequence[Row]


Column = Callable[[Iterable[Group]], Iterator[list[float]]]
"""Maps groups to the scores of their rows, group by group."""


def target_given_source(scorer: Scorer) -> Column:
    """The column p(target | source), EOS included; each distinct pair is scored once."""

    def column(groups: Iterable[Group]) -> Iterator[list[float]]:
        lists = (CandidateTranslations(group.source, [row.target for row in group.rows]) for group in groups)
        return ([_probability(log_probability(one)) for one in scores] for scores in scorer.score_lists(lists))

    return column


def source_given_target(scorer: Scorer) -> Column:
    """The column p(source | target), from a model of the reverse direction."""

    def column(groups: Iterable[Group]) -> Iterator[list[float]]:
        for_pairs, for_groups = tee(groups)
        pairs = (
            (target, group.source) for group in for_pairs for target in dict.fromkeys(row.target for row in group.rows)
        )
        scores = scorer.score(pairs)
        for group in for_groups:
            distinct = dict.fromkeys(row.target for row in group.rows)
            found = {target: _probability(next(scores).log_probability) for target in distinct}
            yield [found[row.target] for row in group.rows]

    return column


def unknown_word_penalty(side: TextSide) -> Column:
    """The column exp(number of target words unknown to the network), whose logarithm Moses uses as a word penalty for
    unknown words (Cho et al. 2014, section 4.1)."""

    def column(groups: Iterable[Group]) -> Iterator[list[float]]:
        return ([math.exp(side.encode(row.target).ids.count(UNK)) for row in group.rows] for group in groups)

    return column


def _probability(logarithm: float) -> float:
    return max(math.exp(logarithm), MIN_PROBABILITY)


class Journal:
    """The scores computed so far, in a file: a line that identifies their input, then the rows.

    A row is its scores, float64 [columns], and their CRC-32: after a power failure the end of the file may be anything.
    """

    def __init__(self, path: Path, identity: dict[str, object]) -> None:
        self._path = path
        self._head = (json.dumps({"dragoman-phrase-scores": _FORMAT, **identity}, sort_keys=True) + "\n").encode()

    def rows(self, columns: int) -> int:
        """Number of whole rows at the start of the file; 0 if it is missing or belongs to another input."""
        try:
            with self._path.open("rb") as file:
                if file.read(len(self._head)) != self._head:
                    return 0
        except FileNotFoundError:
            return 0
        return sum(1 for _ in self.read(columns))

    def open_after(self, rows: int, columns: int) -> BinaryIO:
        """Open the file for appending after the first `rows` rows; the rest is removed.

        Raises:
            InputError: it cannot be written, or a file of that name holds something else.
        """
        with self.naming():
            if not rows:
                self._require_journal()
                with replace_file(self._path, binary=True) as new:  # its first line is whole even after a power failure
                    new.write(self._head)
            file = self._path.open("r+b")
            file.truncate(len(self._head) + (8 * columns + _CHECK.size) * rows)
            file.seek(0, os.SEEK_END)
        return file

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Turn an OSError inside into an InputError that names the file."""
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written: {error.strerror}") from None

    def _require_journal(self) -> None:
        """Allow overwriting the journal of another table or model, but no other file."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            head = file.readline(len(self._head) + 1_000_000)
        if head and b'"dragoman-phrase-scores": ' not in head:
            raise InputError(
                f"{self._path}: is not a file of computed scores, which are kept under this name until the table is "
                "written; move it, or give another --output"
            )

    def read(self, columns: int) -> Iterator[list[float]]:
        """The scores, row by row, up to the first row that is not whole."""
        with self._path.open("rb") as file:
            file.seek(len(self._head))
            while len(scores := file.read(8 * columns)) == 8 * columns:
                if file.read(_CHECK.size) != _CHECK.pack(zlib.crc32(scores)):
                    return
                yield np.frombuffer(scores, "<f8").tolist()

    def remove(self) -> None:
        """Delete the file.

        Raises:
            InputError: it cannot be deleted.
        """
        with self.naming():
            self._path.unlink()


def _journal_rows(values: Sequence[Sequence[float]]) -> bytes:
    """The rows of a group as the journal has them, from its values [columns, rows]."""
    rows = np.array(values, "<f8").T
    return b"".join(row.tobytes() + _CHECK.pack(zlib.crc32(row.tobytes())) for row in rows)


def identity(
    table: str | Path, models: Sequence[str | Path], columns: Sequence[str], texts: Sequence[str | Path] = ()
) -> dict[str, object]:
    """The input of computed scores: the table, the weights and vocabularies of the models, the columns, and the texts
    whose phrases are scored, if not all are."""
    what: dict[str, object] = {
        "table": _version(table),
        "models": [model_digest(Path(model)) for model in models],
        "columns": list(columns),
    }
    return {**what, "texts": [_version(text) for text in texts]} if texts else what


def _version(path: str | Path) -> list[object]:
    stat = os.stat(path)
    return [os.path.realpath(path), stat.st_size, stat.st_mtime_ns]


def compute(
    table: str | Path,
    columns: Sequence[Column],
    journal: Journal,
    advance: Callable[[int], None] = lambda done: None,
    sources: Container[str] | None = None,
) -> int:
    """First pass: compute the scores of the rows that the journal lacks; returns how many it had before.

    Args:
        sources: the source phrases whose rows are scored; None for all.

    Raises:
        InputError: the table is malformed, or the journal cannot be written.
        RunError: a model's scores are not finite.
    """
    before = done = journal.rows(len(columns))
    with journal.naming(), journal.open_after(before, len(columns)) as file:
        rows = islice(read_table(table, sources), before, None)
        groups = (Group(source, group) for source, group in by_source(rows))
        copies = tee(groups, len(columns))
        answers = [column(copy) for column, copy in zip(columns, copies, strict=True)]
        for values in zip(*answers, strict=True):
            file.write(_journal_rows(values))
            file.flush()  # survives a kill
            done += len(values[0])
            advance(done)
    return before


def write(
    table: str | Path, journal: Journal, columns: int, out: str | Path, sources: Container[str] | None = None
) -> None:
    """Second pass: write the rows of `sources` with the computed columns and delete the journal.

    Raises:
        InputError: the output cannot be written.
    """
    with replace_output(out) as file:
        for row, values in zip(read_table(table, sources), journal.read(columns), strict=True):
            file.write(row.adding(values).line + "\n")
    journal.remove()


def moses_lines(out: str | Path, scores: int, added: int, name: str) -> list[str]:
    """The lines of a moses.ini for the new table, with initial weights."""
    return [
        f"# the last {added} of {scores} scores are new; tune their weights",
        "[feature]",
        f"PhraseDictionaryMemory name={name} num-features={scores} path={os.path.abspath(out)} "
        "input-factor=0 output-factor=0",
        "",
        "[weight]",
        f"{name}= {' '.join(['0.2'] * scores)}",
    ]
