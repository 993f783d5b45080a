"""A corpus as files of another kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.writing import corpus_writer
from dragoman.progress import Console
from dragoman.workflows.languages import languages_of


def convert(
    inputs: Sequence[Path], outputs: Sequence[Path], languages: tuple[str, str] | None, console: Console
) -> None:
    """Write the pairs of a corpus to two files, or to one with both sides; say what is changed.

    Args:
        languages: source and target; None to take them from the names of files and columns.

    Raises:
        InputError: as for `read_pairs` and `corpus_writer`; the old outputs are unchanged.
    """
    with (
        corpus_writer(outputs, languages or languages_of(inputs)) as writer,
        console.counter("pairs") as progress,
    ):
        for pair in read_pairs([inputs]):
            writer.write(pair.source, pair.target)
            progress(writer.pairs)
    names = " ".join(map(str, outputs))
    console.info(f"{names}: {_counted(writer.pairs, 'pair')}")
    for what, count in writer.changes.items():
        if count:
            sides = _counted(count, "side")
            console.warning(f"{names}: {what} of {sides} are not kept; they are spaces or left out")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
