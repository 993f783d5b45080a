"""What a shard is made of: a line, a pair of lines, the hypotheses of a sentence, the rows of a source phrase.

A unit holds consecutive lines of an input file, and has as many lines in the output. A line that cannot be read is a
unit without a value; it is told with its reason and empty in the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from dragoman.cluster.inputs import InputFile, Text, read_texts
from dragoman.errors import InputError
from dragoman.scoring.nbest import parse_entry
from dragoman.scoring.phrases import parse_row
from dragoman.text.corpus import pair_format, parse_pair


class Unit(NamedTuple):
    """Consecutive lines of an input file that are computed together."""

    value: Any
    """What a worker needs, made of strings, lists and tuples; None for a line that cannot be read."""
    lines: int
    fault: str | None = None
    """Why the line cannot be read."""


Opened = Sequence[tuple[InputFile, BinaryIO]]
"""The files that are read together, such as the two sides of a corpus."""


def read_sentences(files: Opened) -> Iterator[Unit]:
    """A unit for each line.

    Raises:
        InputError: as for `read_lines`.
    """
    for text in read_texts(*files[0]):
        yield Unit(text.line, 1) if text.fault is None else _unreadable(text.fault)


def read_sentence_pairs(files: Opened) -> Iterator[Unit]:
    """A unit (source, target) for each pair, of two files or of one .tsv or .jsonl file.

    Raises:
        InputError: as for `read_lines`; the two files differ in their number of lines.
    """
    if len(files) == 1:
        yield from _pairs_of_one(*files[0])
        return
    (first, _), (second, _) = files
    both = zip_longest(read_texts(*files[0]), read_texts(*files[1]))
    for number, (source, target) in enumerate(both):
        if source is None or target is None:
            ended, longer = (first, second) if source is None else (second, first)
            raise InputError(
                f"{ended.path}: ends after line {number:,}, but {longer.path} goes on; line k of one must be the "
                "translation of line k of the other"
            )
        fault = source.fault or target.fault
        yield Unit((source.line, target.line), 1) if fault is None else _unreadable(fault)


def _pairs_of_one(file: InputFile, stored: BinaryIO) -> Iterator[Unit]:
    parse = partial(parse_pair, form=pair_format(Path(file.name)))
    for number, text in enumerate(read_texts(file, stored), 1):
        pair, fault = _parsed(parse, text, f"{file.path}:{number}")
        yield _unreadable(fault) if pair is None else Unit(pair, 1)


def read_hypotheses(files: Opened) -> Iterator[Unit]:
    """A unit [source line, line of the list ...] for each sentence of an n-best list.

    Without a second file, which holds the source sentences, the source lines are empty.

    Raises:
        InputError: as for `read_lines`; sentences are not in order; the source sentences end too early.
    """
    (file, stored), *more = files
    find_source = _source_finder(file, *more[0]) if more else lambda sentence: Text("", None)
    group: list[str] = []
    before = 0

    def unit() -> Iterator[Unit]:
        if group:
            source, fault = find_source(before)
            yield Unit(None if fault else [source, *group], len(group), fault and f"the source sentence: {fault}")
            group.clear()

    for number, text in enumerate(read_texts(file, stored), 1):
        entry, fault = _parsed(parse_entry, text, f"{file.path}:{number}")
        if entry is None or entry.sentence != before:
            yield from unit()
        if entry is None:
            yield _unreadable(fault)
            continue
        if entry.sentence < before:
            raise InputError(
                f"{file.path}:{number}: the id {entry.sentence} comes after {before}; the hypotheses of a sentence "
                "must stand together, and sentences in order"
            )
        before = entry.sentence
        group.append(text.line)
    yield from unit()


def _source_finder(file: InputFile, source: InputFile, stored: BinaryIO) -> Callable[[int], Text]:
    """A function from the number of a sentence, which may not fall from call to call, to its source line."""
    lines = enumerate(read_texts(source, stored))
    last = (-1, Text("", None))

    def find(sentence: int) -> Text:
        nonlocal last
        while last[0] < sentence:
            found = next(lines, None)
            if found is None:
                raise InputError(
                    f"{source.path}: ends before sentence {sentence} (counted from 0), which {file.path} has"
                )
            last = found
        return last[1]

    return find


def read_phrase_pairs(files: Opened) -> Iterator[Unit]:
    """A unit [row, ...] for each source phrase of a phrase table.

    Raises:
        InputError: as for `read_lines`.
    """
    file, stored = files[0]
    group: list[str] = []
    phrase = None
    columns = 0

    def unit() -> Iterator[Unit]:
        if group:
            yield Unit(list(group), len(group))
            group.clear()

    for number, text in enumerate(read_texts(file, stored), 1):
        row, fault = _parsed(parse_row, text, f"{file.path}:{number}")
        if row is not None:
            columns = columns or len(row.scores)
            if len(row.scores) != columns:
                fault, row = f"{len(row.scores)} scores, where the first line has {columns}", None
        if row is None or row.source != phrase:
            yield from unit()
        if row is None:
            yield _unreadable(fault)
            continue
        phrase = row.source
        group.append(text.line)
    yield from unit()


Parsed = TypeVar("Parsed")


def _parsed(parse: Callable[[str, str], Parsed], text: Text, place: str) -> tuple[Parsed | None, str]:
    """What `parse` makes of a line, or None and the reason."""
    if text.fault is not None:
        return None, text.fault
    try:
        return parse(text.line, place), ""
    except InputError as error:
        return None, str(error).removeprefix(f"{place}: ")


def _unreadable(fault: str) -> Unit:
    return Unit(None, 1, fault)
