"""Sentence pairs: read from parallel files, tables or JSON, and cleaned with counts.

Pairs may have links between their words, from a Pharaoh file. The cleaner counts every pair that it leaves out by its
reason, and can list them.
"""

from __future__ import annotations

import codecs
import glob
import hashlib
import io
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO, cast

from dragoman.config.schema import CleaningConfig
from dragoman.errors import InputError
from dragoman.text.catalogues import open_mo, open_po
from dragoman.text.columns import SOURCE, TARGET, Table, choose_columns, keys_in
from dragoman.text.delimited import SEPARATORS, PeekedLines, has_header, open_delimited
from dragoman.text.digest_set import MAX_DIGESTS, DigestSet
from dragoman.text.encodings import AsUtf8, find_encoding, undecodable
from dragoman.text.json_records import flattened, open_json
from dragoman.text.lines import OnUndecodable, UndecodableLine, is_compressed, opened, read_lines
from dragoman.text.links import Link, read_links
from dragoman.text.reading import current_reading
from dragoman.text.spreadsheets import ods_sheets, open_spreadsheet, xlsx_sheets
from dragoman.text.translation_units import open_tmx, open_xliff
from dragoman.text.words import as_read, is_blank, words_in

log = logging.getLogger(__name__)

Corpora = Sequence[Sequence[Path]]
GivenCorpora = Sequence[Sequence[str | Path]]
"""Each corpus is two files (source, target) or one of a kind of `KINDS` or `INFLECTIONS`."""

INFLECTIONS = (".trn", ".dev", ".tst")
"""The suffixes of the inflection tables of SIGMORPHON's shared tasks: lemma, inflected form and tags, tab-separated."""

REASONS = ("empty side", "too long", "length ratio", "duplicate")
"""The reasons for which a pair is left out, in the order in which the cleaner tests them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A line, its translation, and their origin for messages, such as "train.en:17".

    >>> pair = next(dragoman.read_test_set(["test.low", "test.up"]))
    >>> pair.origin, pair.references == (pair.target,)
    ('test.low:1', True)
    """

    source: str
    target: str
    origin: str
    links: Sequence[Link] | None = None
    """Between words (`text/words.py`); None where no alignment was given."""
    other_references: tuple[str, ...] = ()
    """More translations of the source, in a test set with several references."""
    corpus: int = 0
    """The number of its corpus, from 0, among those that are read together."""

    @property
    def references(self) -> tuple[str, ...]:
        """The target and all other references."""
        return self.target, *self.other_references


def as_paths(corpora: GivenCorpora) -> list[list[Path]]:
    """The files of corpora as paths.

    Raises:
        TypeError: files are given in place of lists of files.
    """
    for files in (corpora, *corpora):
        if isinstance(files, str | Path):
            raise TypeError(
                f"{str(files)!r} stands where a list is expected; corpora are lists of files: [[source, target]]"
            )
    return [[Path(file) for file in files] for files in corpora]


def read_pairs(
    corpora: GivenCorpora, alignments: Sequence[Path] = (), *, on_undecodable: OnUndecodable | None = None
) -> Iterator[Pair]:
    """Yield the pairs of several corpora, one after the other.

    A corpus is two files of equally many lines (source, target), or one file: .tsv with two columns, .jsonl with an
    object a line that has the keys "source" and "target"; .csv, .tsv with a header, .jsonl and .json with other
    columns or keys, of which `reading_corpora` chooses; .xlsx and .ods; .tmx, .xliff, .xlf, .sdlxliff, .mqxliff, .po
    and .mo, without what is not translated; or an inflection table (.trn, .dev, .tst) with a lemma, its form and tags
    such as V;PST, whose source is "lemma TAB tags"; each also as .gz, .xz or .zst. Line breaks within a side are read
    as spaces, but for .tsv and .jsonl. A folder, or a name with * and ?, stands for all such files in it.

    Args:
        corpora: for each corpus its files: [["a.de", "a.en"], ["b.tsv.gz"]].
        alignments: none, or a Pharaoh file for each corpus: line k links the words of its pair k.
        on_undecodable: called with each line that is not UTF-8, before its pair is yielded; see `read_lines`.

    Returns:
        an iterator of pairs with `source`, `target` and the place that they come from; nothing is held in memory.

    Raises:
        TypeError: files are given in place of lists of files.
        InputError: a corpus has no lines, its two files or its alignment differ in their number of lines, a line does
            not have the form that its file promises, the columns of source and target are not found, a link names a
            word that is not there, or a file cannot be read.

    >>> pair = next(dragoman.read_pairs([["test.low", "test.up"]]))
    >>> pair.source.upper() == pair.target
    True
    """
    assert len(alignments) in (0, len(corpora)), "an alignment for each corpus, or none"
    for number, files in enumerate(as_paths(corpora)):
        empty = True
        pairs = _read_corpus(files, on_undecodable, number)
        for pair in _linked(pairs, files, alignments[number]) if alignments else pairs:
            empty = False
            yield pair
        if empty:
            raise InputError(f"{' and '.join(map(str, files))}: no lines in it; a corpus needs at least one pair")


def read_test_set(files: Sequence[str | Path]) -> Iterator[Pair]:
    """Yield the pairs of a test set, which may have several references for a source.

    An empty reference is none, where the source has another, so that lines may have different numbers of references.

    Args:
        files: source, reference, reference ...; or one file: a .tsv whose columns after the first are references, or a
            .jsonl with a string or a list of strings under "target".

    Returns:
        an iterator of pairs; `references` of a pair has all of them, `target` the first.

    Raises:
        TypeError: `files` is not a list of files.
        InputError: as for `read_pairs`.

    >>> pair = next(dragoman.read_test_set(["test.low", "test.up", "test.low"]))
    >>> pair.references == (pair.target, pair.source)
    True
    """
    if isinstance(files, str | Path) or not all(isinstance(file, str | Path) for file in files):
        raise TypeError(f"{files!r} stands where a list of files is expected: [source, reference, ...]")
    if len(files) > 2:
        readers = [read_pairs([(files[0], reference)]) for reference in files[1:]]
        for pairs in zip(*readers, strict=True):
            yield _with_references(pairs[0], [pair.target for pair in pairs])
        return
    empty = True
    for pair in _read_corpus([Path(file) for file in files], None, 0, several=True):
        empty = False
        yield pair
    if empty:
        raise InputError(f"{' and '.join(map(str, files))}: no lines in it; a test set needs at least one pair")


def _with_references(pair: Pair, references: Sequence[str]) -> Pair:
    given = [reference for reference in references if reference.strip()] or references[:1]
    return replace(pair, target=given[0], other_references=tuple(given[1:]))


def _lines(
    path: Path, on_undecodable: OnUndecodable | None = None, stream: AbstractContextManager[BinaryIO] | None = None
) -> Generator[str, None, None]:
    """Yield the lines of a corpus in its encoding."""
    return read_lines(path, on_undecodable or _refuse, stream=stream, encoding=_encoding(path, stream))


def _refuse(line: UndecodableLine) -> NoReturn:
    raise undecodable(line)


def _encoding(path: Path, stream: object | None) -> str | None:
    """The encoding of a file, which is said if it is recognised; None for UTF-8, a pipe, or a file that is open."""
    if stream is not None or not path.is_file():
        return None
    reading = current_reading()
    found = find_encoding(path, reading.encoding)
    if found is None:
        return None
    if found.told is not None:
        reading.say(f"{path}: read as {found.name} ({found.told}); --encoding NAME chooses another")
    return found.name


LineTable = Callable[[Path, PeekedLines], Table | None]
FileTable = Callable[[Path, BinaryIO], Table]


def _csv_table(path: Path, lines: PeekedLines) -> Table:
    return open_delimited(path, lines, current_reading(), SEPARATORS)


def _tsv_table(path: Path, lines: PeekedLines) -> Table | None:
    """None for lines without a header whose columns are not chosen by number: then they are source and target."""
    reading = current_reading()
    if not has_header(lines, reading) and not any(map(str.isdecimal, reading.columns or ())):
        return None
    return open_delimited(path, lines, reading, "\t")


def _xlsx_table(path: Path, file: BinaryIO) -> Table:
    return open_spreadsheet(path, file, current_reading(), xlsx_sheets)


def _ods_table(path: Path, file: BinaryIO) -> Table:
    return open_spreadsheet(path, file, current_reading(), ods_sheets)


def _is_plain(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether an object has the keys "source" and "target", and none that is asked for: those are of other files."""
    return {SOURCE, TARGET} <= set(names) and set(names).isdisjoint(wanted)


def _json_lines_table(path: Path, lines: PeekedLines) -> Table | None:
    """None for objects with the keys "source" and "target"."""
    first = lines.sample(1)
    try:
        names = list(flattened(_json_object(first[0], str(path)))) if first else []
    except InputError:  # which is raised with its line as it is read
        names = []
    wanted = current_reading().columns
    if not names or (SOURCE in names or TARGET in names if wanted is None else _is_plain(names, wanted)):
        return None
    places = ((f"{path}:{number}", line) for number, line in enumerate(lines, 1))
    records = ((place, flattened(_json_object(line, place))) for place, line in places)
    return Table(path, names, records, [flattened(_json_object(line, str(path))) for line in first], "keys")


_LINE_TABLES: dict[str, LineTable] = {".csv": _csv_table, ".tsv": _tsv_table, ".jsonl": _json_lines_table}
_FILE_TABLES: dict[str, FileTable] = {
    ".json": open_json,
    ".tmx": open_tmx,
    **dict.fromkeys((".xliff", ".xlf", ".sdlxliff", ".mqxliff"), open_xliff),
    ".xlsx": _xlsx_table,
    ".ods": _ods_table,
    ".po": open_po,
    ".mo": open_mo,
}

KINDS = (*_LINE_TABLES, *_FILE_TABLES)
"""The suffixes of files that hold both sides of a corpus."""


def holds_pairs(path: Path) -> bool:
    """Whether a file of this name holds both sides of a corpus."""
    return pair_format(path) in KINDS


def pair_format(path: Path) -> str:
    """The suffix that says how a file holds pairs, such as .tsv; the suffix of a compression is passed over."""
    return Path(path.stem).suffix if is_compressed(path) else path.suffix


def _read_corpus(
    files: Sequence[Path], on_undecodable: OnUndecodable | None, number: int, *, several: bool = False
) -> Iterator[Pair]:
    """Yield the pairs of corpus `number`; with `several` a line of one file may have several targets, as references."""
    if len(files) == 2:
        both = [path for path in files if holds_pairs(path) and pair_format(path) not in (".tsv", ".jsonl")]
        if both:
            raise InputError(f"{both[0]}: holds both sides of a corpus; give it without {files[both[0] == files[0]]}")
        return _read_parallel(files[0], files[1], on_undecodable, number)
    if len(files) == 1:
        path = Path(files[0])
        members = corpus_files(path)
        if members != [path]:
            return chain.from_iterable(_read_corpus([one], on_undecodable, number, several=several) for one in members)
        if holds_pairs(path):
            return _read_pair_file(path, on_undecodable, number, several)
        if pair_format(path) in INFLECTIONS:
            return _read_inflections(path, on_undecodable, number)
        raise InputError(
            f"{path}: a corpus in one file is {', '.join(KINDS)}, or an inflection table ({', '.join(INFLECTIONS)}); "
            "also .gz, .xz, .zst; or give two files, source and target"
        )
    raise InputError(f"a corpus is one file or two (source and target), not {len(files)}: {' '.join(map(str, files))}")


def corpus_files(path: Path) -> list[Path]:
    """Return the files that a name stands for: those of a folder, or that match a pattern, which hold pairs; or itself.

    Raises:
        InputError: there is none in the folder, or none matches.
    """
    if path.is_dir():
        found = sorted(path.iterdir())
    elif set("*?[").intersection(str(path)) and not path.exists():
        found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
    else:
        return [path]
    members = [one for one in found if one.is_file() and (holds_pairs(one) or pair_format(one) in INFLECTIONS)]
    if not members:
        what = "is a folder without" if path.is_dir() else "matches no"
        raise InputError(f"{path}: {what} files of pairs, which end in {', '.join(KINDS)}; also .gz, .xz, .zst")
    others = [one.name for one in found if one.is_file() and one not in members]
    if others:
        current_reading().say(
            f"{path}: left out, as they hold no pairs: {', '.join(others[:5])}{' ...' * (len(others) > 5)}"
        )
    return members


@contextmanager
def _open_pair_file(
    path: Path, on_undecodable: OnUndecodable | None, stream: AbstractContextManager[BinaryIO] | None = None
) -> Iterator[tuple[Table | None, PeekedLines | None]]:
    """The table of a file of pairs; None and its lines where each line is a plain pair."""
    form = pair_format(path)
    if form in _LINE_TABLES:
        lines = PeekedLines(partial(_lines, path, stream=stream), on_undecodable)
        with closing(lines):
            yield _LINE_TABLES[form](path, lines), lines
    else:
        with opened(path, stream) as file:
            encoding = _encoding(path, stream) if form == ".json" else None
            if isinstance(file, io.BufferedReader) and file.peek(3)[:3] == codecs.BOM_UTF8:
                file.read(3)
            recoded = file if encoding is None else cast(BinaryIO, AsUtf8(file, encoding))
            yield _FILE_TABLES[form](path, recoded), None


def _read_pair_file(
    path: Path,
    on_undecodable: OnUndecodable | None,
    corpus: int,
    several: bool,
    stream: AbstractContextManager[BinaryIO] | None = None,
) -> Iterator[Pair]:
    with _open_pair_file(path, on_undecodable, stream) as (table, lines):
        if table is not None:
            yield from _table_pairs(table, corpus, several)
        elif lines is not None:
            read = _read_tsv if pair_format(path) == ".tsv" else _read_json_lines
            yield from read(path, iter(lines), corpus, several)


def has_plain_lines(path: Path, stream: AbstractContextManager[BinaryIO]) -> bool:
    """Return whether each line of a file of pairs, which is open, is a pair by itself (`parse_pair`).

    Raises:
        InputError: as for `read_pairs`.
    """
    with _open_pair_file(path, None, stream) as (table, _):
        return table is None


def read_opened(path: Path, stream: AbstractContextManager[BinaryIO]) -> Iterator[Pair]:
    """Yield the pairs of a file that is open, as `read_pairs` does.

    Raises:
        InputError: as for `read_pairs`.
    """
    return _read_pair_file(path, None, 0, False, stream)


def column_languages(path: Path) -> tuple[str | None, str | None]:
    """Return the languages that the columns of a file of pairs name, as source and target; None where they do not.

    Raises:
        InputError: as for `read_pairs`.
    """
    path = corpus_files(path)[0]
    if not holds_pairs(path):
        return None, None
    with _open_pair_file(path, None) as (table, _):
        return (None, None) if table is None else choose_columns(table, current_reading()).languages


_LINE_BREAK = re.compile(r"\s*[\r\n]\s*")


def _one_line(text: str) -> str:
    return _LINE_BREAK.sub(" ", text) if "\n" in text or "\r" in text else text


def _table_pairs(table: Table, corpus: int, several: bool) -> Iterator[Pair]:
    """Yield the pairs of a table; records that lack a side are left out and counted."""
    first = next(table.records, None)
    if first is None:
        return
    reading = current_reading()
    columns = choose_columns(table, reading)
    left_out: Counter[str] = Counter()
    number = 0
    for place, record in chain([first], table.records):
        number += 1
        if isinstance(record, str):
            left_out[record] += 1
            continue
        keys = keys_in(record, columns) if table.what == "languages" else columns
        missing = next((name for name, key in zip(columns, keys, strict=True) if record.get(key) is None), None)
        if missing is not None:
            left_out[f"without {missing}"] += 1
            continue
        source_key, target_key = keys
        source = _one_line(_text(record, source_key, place))
        if several and isinstance(record[target_key], list):
            given = list(map(_one_line, _references(record, place, target_key)))
            yield _with_references(Pair(source, given[0], place, corpus=corpus), given)
        else:
            yield Pair(source, _one_line(_text(record, target_key, place)), place, corpus=corpus)
    if left_out:
        counted = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        told = f"{table.path}: {left_out.total():,} of {number:,} records left out: {counted}"
        if left_out.total() == number:
            raise InputError(told)
        reading.say(told)


def _read_parallel(source: Path, target: Path, on_undecodable: OnUndecodable | None, corpus: int) -> Iterator[Pair]:
    pairs = enumerate(zip_longest(_lines(source, on_undecodable), _lines(target, on_undecodable)), 1)
    place = str(source)  # made once: text of millions of lines is read here
    for number, (source_line, target_line) in pairs:
        if source_line is None or target_line is None:
            shorter = number - 1
            longer = number + sum(1 for _ in pairs)
            counts = (shorter, longer) if source_line is None else (longer, shorter)
            raise InputError(
                f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}; "
                "line k of one must be the translation of line k of the other"
            )
        yield Pair(source_line, target_line, f"{place}:{number}", corpus=corpus)


def _read_tsv(path: Path, lines: Iterator[str], corpus: int, several: bool) -> Iterator[Pair]:
    for number, line in enumerate(lines, 1):
        columns = line.split("\t")
        if len(columns) < 2 or (len(columns) > 2 and not several):
            raise InputError(
                f"{path}:{number}: {len(columns)} tab-separated column{'s' * (len(columns) != 1)}; "
                f"a line must have {'a source and its references' if several else '2, source and target'}"
            )
        yield _with_references(Pair(columns[0], columns[1], f"{path}:{number}", corpus=corpus), columns[1:])


def _read_inflections(path: Path, on_undecodable: OnUndecodable | None, corpus: int) -> Iterator[Pair]:
    for number, line in enumerate(_lines(path, on_undecodable), 1):
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(
                f"{path}:{number}: {len(columns)} tab-separated column{'s' * (len(columns) != 1)}; a line of an "
                "inflection table has 3: lemma, inflected form, tags"
            )
        lemma, form, tags = columns
        if ";" in form and ";" not in tags:
            raise InputError(
                f"{path}:{number}: the second column ({form}) has semicolons, as tags have, and the third ({tags}) has "
                "none; the columns must be lemma, inflected form, tags"
            )
        yield Pair(f"{lemma}\t{tags}", form, f"{path}:{number}", corpus=corpus)


def _read_json_lines(path: Path, lines: Iterator[str], corpus: int, several: bool) -> Iterator[Pair]:
    for number, line in enumerate(lines, 1):
        origin = f"{path}:{number}"
        entry = _json_object(line, origin)
        source = _text(entry, "source", origin)
        if several:
            references = _references(entry, origin)
            yield _with_references(Pair(source, references[0], origin, corpus=corpus), references)
        else:
            yield Pair(source, _text(entry, "target", origin), origin, corpus=corpus)


def parse_pair(line: str, origin: str, form: str) -> tuple[str, str]:
    """The source and the target of a line of a .tsv or .jsonl file, which `form` says.

    Raises:
        InputError: the line does not have that form; `origin` names it.
    """
    if form == ".jsonl":
        entry = _json_object(line, origin)
        return _text(entry, "source", origin), _text(entry, "target", origin)
    columns = line.split("\t")
    if len(columns) != 2:
        raise InputError(
            f"{origin}: {len(columns)} tab-separated column{'s' * (len(columns) != 1)}; a line must have 2, source and "
            "target"
        )
    return columns[0], columns[1]


def _json_object(line: str, origin: str) -> dict[str, object]:
    if is_blank(line):
        raise InputError(f'{origin}: an empty line; a line must be an object with "source" and "target", so remove it')
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{origin}: not a JSON object: {error.msg}, at character {error.colno}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists of thousands of levels
        raise InputError(f"{origin}: not a JSON object: nested too deeply, or a number has too many digits") from None
    if not isinstance(entry, dict):
        kind = type(entry).__name__
        raise InputError(f'{origin}: a JSON {kind}; a line must be an object with "source" and "target"')
    return entry


def _references(entry: Mapping[str, object], origin: str, key: str = TARGET) -> list[str]:
    """The references of a pair of a test set: a string, or a list of at least one."""
    targets = entry.get(key)
    if not isinstance(targets, list):
        return [_text(entry, key, origin, "a string or a list of strings")]
    if not targets:
        raise InputError(f'{origin}: "{key}" is an empty list; give at least one reference')
    return [_text({key: target}, key, origin, "a list of strings only") for target in targets]


def _text(entry: Mapping[str, object], key: str, origin: str, expected: str = "a string") -> str:
    if key not in entry:
        found = ", ".join(f'"{name}"' for name in entry) or "none"
        raise InputError(f'{origin}: no key "{key}"; the keys are {found}')
    text = entry[key]
    if not isinstance(text, str):
        several = (
            "; only a test set has several references" if isinstance(text, list) and expected == "a string" else ""
        )
        raise InputError(f'{origin}: "{key}" must be {expected}, not {json.dumps(text)[:40]}{several}')
    if re.search("[\ud800-\udfff]", text):  # JSON can escape half a character, UTF-8 cannot encode it
        raise InputError(f'{origin}: "{key}" has half of a surrogate pair, not a character; correct the \\u escape')
    return text


def _linked(pairs: Iterator[Pair], files: Sequence[Path], alignment: Path) -> Iterator[Pair]:
    both = enumerate(zip_longest(pairs, read_links(alignment)), 1)
    for number, (pair, links) in both:
        if pair is None or links is None:
            counts = [number - 1, number + sum(1 for _ in both)]  # the shorter, the longer
            corpus, lines = counts if pair is None else reversed(counts)
            raise InputError(
                f"{alignment} has {lines:,} lines but the corpus {' '.join(map(str, files))} has {corpus:,} pairs; "
                "line k must hold the links of pair k, and be empty where there are none"
            )
        _require_words(pair, links, f"{alignment}:{number}")
        yield replace(pair, links=links)


def _require_words(pair: Pair, links: Sequence[Link], origin: str) -> None:
    counts = len(words_in(pair.source)), len(words_in(pair.target))
    for link in links:
        for name, word, count in zip(("source", "target"), link, counts, strict=True):
            if word >= count:
                raise InputError(
                    f"{origin}: the link {link[0]}-{link[1]} names {name} word {word}, but {pair.origin} has "
                    f"{count} {name} words; words are counted from 0 and separated by spaces"
                )


class Cleaner:
    """Decides which pairs are trained on, and counts the others by reason.

    Duplicates are found by 64 bits of a digest of the pair as models read it (`text.words.as_read`), in bounded memory
    (`DigestSet`): of more than `MAX_DIGESTS` different pairs the later ones are not remembered, which is told once.
    """

    def __init__(self, config: CleaningConfig, dropped: TextIO | None = None) -> None:
        """`dropped` receives a line "origin TAB reason TAB source TAB target" for every pair that is left out."""
        self.counts = dict.fromkeys(REASONS, 0)
        self._config = config
        self._dropped = dropped
        self._digests = DigestSet()
        self._told = False

    def check(self, pair: Pair, source_segments: int, target_segments: int) -> str | None:
        """Return the reason why a pair is left out (one of REASONS), or None to keep it.

        Args:
            source_segments, target_segments: lengths in segments, without EOS.
        """
        reason = self._reason(pair, source_segments, target_segments)
        if reason is not None:
            self.counts[reason] += 1
            if self._dropped is not None:
                columns = (pair.origin, reason, pair.source, pair.target)
                self._dropped.write("\t".join(re.sub("[\t\n]", " ", column) for column in columns) + "\n")
        return reason

    def _reason(self, pair: Pair, source_segments: int, target_segments: int) -> str | None:
        config = self._config
        shorter, longer = source_segments, target_segments
        if shorter > longer:
            shorter, longer = longer, shorter
        if shorter == 0:
            return "empty side"
        if longer > config.max_length:
            return "too long"
        if config.max_ratio is not None and longer > config.max_ratio * shorter:
            return "length ratio"
        if config.duplicates == "drop":
            if not self._digests.add(digest(pair)[:8]):
                return "duplicate"
            if self._digests.full and not self._told:
                self._told = True
                log.warning(
                    "the corpus has more than %s different pairs; repetitions of those after %s are not found",
                    f"{MAX_DIGESTS:,}",
                    pair.origin,
                )
        return None


def digest(pair: Pair) -> bytes:
    """Return 16 bytes that identify the two lines of a pair as models read them, the same in every process."""
    source, target = as_read(pair.source).encode(), as_read(pair.target).encode()
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return hashlib.blake2b(b"%d " % len(source) + source + target, digest_size=16).digest()
