"""Neural scores as additional columns of a phrase table, in two passes that can be resumed after an interruption.

The first pass appends the scores of each row to a journal beside the output, the second writes the table with them. A
new start with the same table, models and columns continues at the end of the journal.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice, tee
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.scoring.given_targets import log_probability
from dragoman.scoring.phrases import Row, by_source, read_table
from dragoman.scoring.scorer import CandidateTranslations, ListScorer
from dragoman.stored_files import model_digest
from dragoman.text.journal import Journal
from dragoman.text.lines import replace_output
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK

MIN_PROBABILITY = math.exp(-100)
"""Smallest score: Moses takes logarithms in single precision and limits them to -100."""


class Group(NamedTuple):
    """The rows of one source phrase."""

    source: str
    rows: Sequence[Row]


Column = Callable[[Iterable[Group]], Iterator[list[float]]]
"""Maps groups to the scores of their rows, group by group."""


def probability_column(score: ListScorer) -> Column:
    """The column p(target | source) (`Scorer.score_lists`) or p(source | target) (`score_sources`), EOS included."""

    def column(groups: Iterable[Group]) -> Iterator[list[float]]:
        lists = (CandidateTranslations(group.source, [row.target for row in group.rows]) for group in groups)
        return ([max(math.exp(log_probability(one)), MIN_PROBABILITY) for one in scores] for scores in score(lists))

    return column


def unknown_word_penalty(side: TextSide) -> Column:
    """The column exp(number of target words unknown to the network), whose logarithm Moses uses as a word penalty for
    unknown words (Cho et al. 2014, section 4.1)."""

    def column(groups: Iterable[Group]) -> Iterator[list[float]]:
        return ([math.exp(side.encode(row.target).ids.count(UNK)) for row in group.rows] for group in groups)

    return column


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
    before = done = sum(len(rows) for rows in _kept(journal, len(columns)))
    rows = islice(read_table(table, sources), before, None)
    groups = (Group(source, group) for source, group in by_source(rows))
    copies = tee(groups, len(columns))
    answers = [column(copy) for column, copy in zip(columns, copies, strict=True)]
    for values in zip(*answers, strict=True):
        journal.append(np.array(values, "<f8").T.tobytes())
        done += len(values[0])
        advance(done)
    return before


def _kept(journal: Journal, columns: int) -> Iterator[list[list[float]]]:
    """The scores of each row of each group that is in the journal."""
    return (np.frombuffer(entry, "<f8").reshape(-1, columns).tolist() for entry in journal)


def write(
    table: str | Path, journal: Journal, columns: int, out: str | Path, sources: Container[str] | None = None
) -> None:
    """Second pass: write the rows of `sources` with the computed columns, and remove the journal.

    Raises:
        InputError: the output cannot be written.
    """
    journal.end = journal.start
    with replace_output(out) as file:
        rows = chain.from_iterable(_kept(journal, columns))
        for row, values in zip(read_table(table, sources), rows, strict=True):
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
