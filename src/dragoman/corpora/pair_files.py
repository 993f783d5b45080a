"""Files that hold both sides of a corpus: tables, JSON, translation memories, catalogues, spreadsheets."""

from __future__ import annotations

import codecs
import glob
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.corpora.catalogues import open_mo, open_po
from dragoman.corpora.columns import SOURCE, TARGET, Table, choose_columns, keys_in
from dragoman.corpora.delimited import SEPARATORS, PeekedLines, has_header, open_delimited
from dragoman.corpora.encodings import AsUtf8, find_encoding, refuse_undecodable
from dragoman.corpora.json_records import flattened, open_json
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.corpora.reading import current_reading
from dragoman.corpora.spreadsheets import ods_sheets, open_spreadsheet, xlsx_sheets
from dragoman.corpora.translation_units import open_tmx, open_xliff
from dragoman.errors import InputError
from dragoman.text.lines import OnUndecodable, is_compressed, opened, read_lines
from dragoman.text.raw_lines import is_blank
from dragoman.text.temporary import FILE as TEMPORARY

INFLECTIONS = (".trn", ".dev", ".tst")
"""The suffixes of the inflection tables of SIGMORPHON's shared tasks: lemma, inflected form and tags, tab-separated."""


def corpus_lines(
    path: Path, on_undecodable: OnUndecodable | None = None, stream: AbstractContextManager[BinaryIO] | None = None
) -> Generator[str, None, None]:
    """Yield the lines of a corpus in its encoding."""
    encoding = corpus_encoding(path) if stream is None else None
    return read_lines(path, on_undecodable or refuse_undecodable, stream=stream, encoding=encoding)


def corpus_encoding(path: Path) -> str | None:
    """The encoding of a file of lines, reported if it was recognised; None for UTF-8, and for what is not a file."""
    if not path.is_file():
        return None
    reading = current_reading()
    encoding = find_encoding(path, reading.encoding)
    if encoding is None:
        return None
    if encoding.evidence is not None:
        reading.say(f"{path}: read as {encoding.name} ({encoding.evidence}); --encoding NAME chooses another")
    return encoding.name


LineTable = Callable[[Path, PeekedLines], Table | None]

FileTable = Callable[[Path, BinaryIO], Table]


def _tsv_table(path: Path, lines: PeekedLines) -> Table | None:
    """None for lines without a header whose columns are not chosen by number: then they are source and target."""
    reading = current_reading()
    if not has_header(lines, reading) and not any(map(str.isdecimal, reading.columns or ())):
        return None
    return open_delimited(path, lines, reading, "\t")


def _is_plain(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether an object has the keys "source" and "target" but no wanted key, as wanted keys are those of other
    files."""
    return {SOURCE, TARGET} <= set(names) and set(names).isdisjoint(wanted)


def _json_lines_table(path: Path, lines: PeekedLines) -> Table | None:
    """None for objects with the keys "source" and "target"."""
    first = lines.sample(1)
    try:
        names = list(flattened(_json_object(first[0], str(path)))) if first else []
    except InputError:  # raised again, with its line, when the line is read
        names = []
    wanted = current_reading().columns
    if not names or (SOURCE in names or TARGET in names if wanted is None else _is_plain(names, wanted)):
        return None
    numbered = ((f"{path}:{number}", line) for number, line in enumerate(lines, 1))
    records = ((origin, flattened(_json_object(line, origin))) for origin, line in numbered)
    return Table(path, names, records, [flattened(_json_object(line, str(path))) for line in first], "keys")


_LINE_TABLES: dict[str, LineTable] = {
    ".csv": lambda path, lines: open_delimited(path, lines, current_reading(), SEPARATORS),
    ".tsv": _tsv_table,
    ".jsonl": _json_lines_table,
}

_FILE_TABLES: dict[str, FileTable] = {
    ".json": open_json,
    ".tmx": open_tmx,
    **dict.fromkeys((".xliff", ".xlf", ".sdlxliff", ".mqxliff"), open_xliff),
    ".xlsx": lambda path, file: open_spreadsheet(path, file, current_reading(), xlsx_sheets),
    ".ods": lambda path, file: open_spreadsheet(path, file, current_reading(), ods_sheets),
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


def corpus_files(path: Path) -> list[Path]:
    """Return the files of pairs that a name stands for: all in a folder, all that match a pattern, or the file itself.

    Raises:
        InputError: there is none in the folder, or none matches.
    """
    if path.is_dir():
        paths = sorted(path.iterdir())
    elif set("*?[").intersection(str(path)) and not path.exists():
        paths = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
    else:
        return [path]
    members = [one for one in paths if one.is_file() and (holds_pairs(one) or pair_format(one) in INFLECTIONS)]
    if not members:
        what = "is a folder without" if path.is_dir() else "matches no"
        raise InputError(f"{path}: {what} files of pairs, which end in {', '.join(KINDS)}; also .gz, .xz, .zst")
    others = [one.name for one in paths if one not in members and not TEMPORARY.fullmatch(one.name)]
    if others:
        current_reading().say(
            f"{path}: left out, as they hold no pairs: {', '.join(others[:5])}{' ...' * (len(others) > 5)}"
        )
    return members


def files_of(corpora: Corpora) -> list[Path]:
    """Return the files of corpora; a folder or a pattern as the files that it stands for.

    Raises:
        InputError: as for `corpus_files`.
    """
    return [path for files in corpora for path in (corpus_files(files[0]) if len(files) == 1 else files)]


@contextmanager
def _open_pair_file(
    path: Path, on_undecodable: OnUndecodable | None, stream: AbstractContextManager[BinaryIO] | None = None
) -> Iterator[tuple[Table | None, PeekedLines | None]]:
    """The table of a file of pairs; None and its lines where each line is a plain pair."""
    form = pair_format(path)
    if form in _LINE_TABLES:
        lines = PeekedLines(partial(corpus_lines, path, stream=stream), on_undecodable)
        with closing(lines):
            yield _LINE_TABLES[form](path, lines), lines
    else:
        with opened(path, stream) as file:
            encoding = corpus_encoding(path) if form == ".json" and stream is None else None
            if isinstance(file, io.BufferedReader) and file.peek(3)[:3] == codecs.BOM_UTF8:
                file.read(3)
            recoded = file if encoding is None else cast(BinaryIO, AsUtf8(file, encoding))
            yield _FILE_TABLES[form](path, recoded), None


def read_pair_file(
    path: Path,
    on_undecodable: OnUndecodable | None,
    corpus: int,
    several: bool,
    stream: AbstractContextManager[BinaryIO] | None = None,
) -> Iterator[Pair]:
    """Yield the pairs of a file that holds both sides, which may be open as `stream`."""
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
    return read_pair_file(path, None, 0, False, stream)


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
    for origin, record in chain([first], table.records):
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
        source = _one_line(_text(record, source_key, origin))
        if several and isinstance(record[target_key], list):
            given = list(map(_one_line, _references(record, origin, target_key)))
            yield Pair(source, given[0], origin, corpus=corpus).with_references(given)
        else:
            yield Pair(source, _one_line(_text(record, target_key, origin)), origin, corpus=corpus)
    if left_out:
        counted = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        message = f"{table.path}: {left_out.total():,} of {number:,} records left out: {counted}"
        if left_out.total() == number:
            raise InputError(message)
        reading.say(message)


def _read_tsv(path: Path, lines: Iterator[str], corpus: int, several: bool) -> Iterator[Pair]:
    for number, line in enumerate(lines, 1):
        origin = f"{path}:{number}"
        source, *targets = _tab_columns(line, origin, several=several)
        yield Pair(source, targets[0], origin, corpus=corpus).with_references(targets)


def _tab_columns(line: str, origin: str, *, several: bool = False) -> list[str]:
    """The source and the target of a line of a .tsv file; with `several` its targets."""
    columns = line.split("\t")
    if len(columns) < 2 or (len(columns) > 2 and not several):
        raise InputError(
            f"{origin}: {len(columns)} tab-separated column{'s' * (len(columns) != 1)}; "
            f"a line must have {'a source and its references' if several else '2, source and target'}"
            f"{'; --columns SOURCE TARGET chooses two of them, by their numbers' * (len(columns) > 2)}"
        )
    return columns


def read_inflections(path: Path, on_undecodable: OnUndecodable | None, corpus: int) -> Iterator[Pair]:
    """Yield the pairs of an inflection table."""
    for number, line in enumerate(corpus_lines(path, on_undecodable), 1):
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
            yield Pair(source, references[0], origin, corpus=corpus).with_references(references)
        else:
            yield Pair(source, _text(entry, "target", origin), origin, corpus=corpus)


def parse_pair(line: str, origin: str, form: str) -> tuple[str, str]:
    """The source and the target of a line of a .tsv or .jsonl file; `form` is its suffix.

    Raises:
        InputError: the line does not have that form; `origin` names it.
    """
    if form == ".jsonl":
        entry = _json_object(line, origin)
        return _text(entry, "source", origin), _text(entry, "target", origin)
    source, target = _tab_columns(line, origin)
    return source, target


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
        names = ", ".join(f'"{name}"' for name in entry)
        known = f"{names}; --columns SOURCE TARGET chooses two" if entry else "none"
        raise InputError(f'{origin}: no key "{key}"; the keys are {known}')
    text = entry[key]
    if not isinstance(text, str):
        several = (
            "; only a test set has several references" if isinstance(text, list) and expected == "a string" else ""
        )
        raise InputError(f'{origin}: "{key}" must be {expected}, not {json.dumps(text)[:40]}{several}')
    if re.search("[\ud800-\udfff]", text):  # JSON can escape half a character, UTF-8 cannot encode it
        raise InputError(f'{origin}: "{key}" has half of a surrogate pair, not a character; correct the \\u escape')
    return text
