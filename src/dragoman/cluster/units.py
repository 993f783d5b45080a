"""Units, which workers compute: a line, a pair of lines, the hypotheses of a sentence, the rows of a source phrase.

A unit holds consecutive lines of an input file, and has as many lines in the output. A line that cannot be read is a
unit without a value; its line in the output is empty. A shard is a sequence of units that a worker computes together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dragoman.cluster.inputs import InputFile, Inputs
from dragoman.corpora.pair_files import corpus_encoding, has_plain_lines, pair_format, parse_pair, read_opened
from dragoman.errors import InputError
from dragoman.scoring.nbest import parse_entry
from dragoman.scoring.phrases import parse_row
from dragoman.text.lines import UndecodableLine, decompressed, read_lines


class Unit(NamedTuple):
    """Consecutive lines of an input file that are computed together."""

    value: Any
    """A line; a pair (source, target); or a group, a list of what its lines have in common, and the lines.

    None for a line that cannot be read.
    """
    fault: str | None = None
    """Why the line cannot be read."""


def lines_of(value: Any) -> int:
    """Count the lines of a unit with this value: a group has several."""
    return len(value) - 1 if isinstance(value, list) else 1


@dataclass(frozen=True)
class Shard:
    """Consecutive units of the input files `inputs`."""

    inputs: Inputs
    number: int
    """Within its file, from 0."""
    first_line: int
    """From 1."""
    units: Sequence[Unit]
    bytes: int
    """Bytes of the first file that were read for it."""

    @property
    def digest(self) -> str:
        """Changes with the text of the shard."""
        return _digest(json.dumps([unit.value for unit in self.units], ensure_ascii=False))


def text_digest(shards: Iterable[str]) -> str:
    """Compute a digest of the text of a file from the digests of its shards."""
    return _digest("".join(shards))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


Opened = Sequence[tuple[InputFile, BinaryIO]]
"""The files that are read together, such as the two sides of a corpus."""


def read_texts(file: InputFile, stored: BinaryIO, encoding: str | None = None) -> Iterator[Unit]:
    """Read a unit from each line of a file that is open, in an encoding (None: UTF-8).

    Raises:
        InputError: as for `read_lines`.
    """
    faults: list[str] = []

    def note(line: UndecodableLine) -> None:
        faults.append(f"{line.fault} is not UTF-8")

    for line in read_lines(file.path, note, stream=decompressed(stored, file.path), encoding=encoding):
        yield Unit(None, faults.pop()) if faults else Unit(line)


def read_sentences(files: Opened) -> Iterator[Unit]:
    """Read a unit from each line.

    Raises:
        InputError: as for `read_lines`.
    """
    return read_texts(*files[0])


def read_sentence_pairs(files: Opened) -> Iterator[Unit]:
    """Read a unit (source, target) from each pair, of two files or of one file with both sides.

    Raises:
        InputError: as for `read_lines`; the two files differ in their number of lines.
    """
    if len(files) == 1:
        path = Path(files[0][0].path)
        if not has_plain_lines(path, decompressed(files[0][0].open(), path)):
            for pair in read_opened(path, decompressed(files[0][1], path)):
                yield Unit((pair.source, pair.target))
            return
        for line in _parsed_lines(*files[0], partial(parse_pair, form=pair_format(path))):
            yield Unit(line.parsed, line.fault)
        return
    (first, _), (second, _) = files
    sides = (read_texts(file, stored, corpus_encoding(Path(file.path))) for file, stored in files)
    for number, (source, target) in enumerate(zip_longest(*sides)):
        if source is None or target is None:
            ended, longer = (first, second) if source is None else (second, first)
            raise InputError(
                f"{ended.path}: ends after line {number:,}, but {longer.path} goes on; line k of one must be the "
                "translation of line k of the other"
            )
        fault = source.fault or target.fault
        yield Unit(None, fault) if fault else Unit((source.value, target.value))


def read_hypotheses(files: Opened) -> Iterator[Unit]:
    """Read a group [source line, line of the list ...] from each sentence of an n-best list.

    Without a second file, which holds the source sentences, the source lines are empty.

    Raises:
        InputError: as for `read_lines`; sentences are not in order; the source sentences end too early.
    """

    def sentence_of(line: str, where: str) -> int:
        return parse_entry(line, where).sentence

    (file, stored), *more = files
    sources = enumerate(read_texts(*more[0])) if more else None
    before, source_number, source = 0, -1, Unit("")
    for sentence, group in groupby(_parsed_lines(file, stored, sentence_of), lambda line: line.parsed):
        lines = list(group)
        if sentence is None:
            yield from [Unit(None, line.fault) for line in lines]
            continue
        if sentence < before:
            raise InputError(
                f"{file.path}:{lines[0].number}: the id {sentence} comes after {before}; the hypotheses of a sentence "
                "must stand together, and sentences in order"
            )
        before = sentence
        while sources is not None and source_number < sentence:
            try:
                source_number, source = next(sources)
            except StopIteration:
                raise InputError(
                    f"{more[0][0].path}: ends before sentence {sentence} (counted from 0), which {file.path} has"
                ) from None
        if source.fault is None:
            yield Unit([source.value, *(line.text for line in lines)])
        else:
            yield from [Unit(None, f"the source sentence: {source.fault}")] * len(lines)


def read_phrase_pairs(files: Opened) -> Iterator[Unit]:
    """Read a group [source phrase, row, ...] from the rows of each source phrase of a phrase table.

    Raises:
        InputError: as for `read_lines`.
    """
    columns = 0

    def phrase_of(line: str, where: str) -> str:
        nonlocal columns
        row = parse_row(line, where)
        columns = columns or len(row.scores)
        if len(row.scores) != columns:
            raise InputError(f"{len(row.scores)} scores, where the first line has {columns}")
        return row.source

    for phrase, group in groupby(_parsed_lines(*files[0], phrase_of), lambda line: line.parsed):
        lines = list(group)
        if phrase is None:
            yield from [Unit(None, line.fault) for line in lines]
        else:
            yield Unit([phrase, *(line.text for line in lines)])


class _ParsedLine(NamedTuple):
    number: int
    """From 1."""
    text: str
    parsed: Any
    """None for a line that cannot be read or parsed."""
    fault: str | None


def _parsed_lines(file: InputFile, stored: BinaryIO, parse: Callable[[str, str], Any]) -> Iterator[_ParsedLine]:
    """Parse each line of a file; `parse` takes a line and its origin FILE:LINE, for messages."""
    for number, (line, fault) in enumerate(read_texts(file, stored), 1):
        parsed, where = None, f"{file.path}:{number}"
        if fault is None:
            try:
                parsed = parse(line, where)
            except InputError as error:
                fault = str(error).removeprefix(f"{where}: ")
        yield _ParsedLine(number, line, parsed, fault)
