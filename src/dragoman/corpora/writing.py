"""Writing a corpus as files of another kind."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from dragoman.corpora.pair_files import KINDS, pair_format
from dragoman.errors import InputError
from dragoman.text.lines import replace_output

Languages = tuple[str | None, str | None]

_LONGEST_CELL, _MOST_ROWS = 32_767, 1_048_575
"""Limits of .xlsx; the header is one row more."""
_SEPARATOR = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Ends a line of a .po file for Python, but has no escape there."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CorpusWriter:
    """Writes pairs, and counts what the files cannot hold."""

    def __init__(self, write: Callable[[str, str], object]) -> None:
        """`write` writes a pair; it returns False for one that the file cannot hold."""
        self.pairs = 0
        self.changes: Counter[str] = Counter()
        """What was changed -> how many sides were written differently."""
        self._write = write

    def write(self, source: str, target: str) -> None:
        """Write a pair."""
        self.pairs += self._write(source, target) is not False

    def replaced(self, pattern: str | re.Pattern[str], by: str, text: str, what: str) -> str:
        """Replace what the file cannot hold, and count the text if it had some."""
        changed = re.sub(pattern, by, text)
        self.changes[what] += changed != text
        return changed


@contextmanager
def corpus_writer(files: Sequence[Path], languages: Languages, *, keep_partial: bool = False) -> Iterator[CorpusWriter]:
    """Open files for the pairs of a corpus: two for the sides, or one of those in `WRITERS`.

    Old files are replaced at the end. Names of columns are the languages, or source and target.

    Args:
        languages: of source and target; .tmx and XLIFF need them.
        keep_partial: after an error what was written stays as PATH.partial.

    Raises:
        InputError: a file is of another kind or cannot be written, or a kind that needs them has no languages.
    """
    with ExitStack() as stack:
        outputs = [stack.enter_context(replace_output(path, keep_partial=keep_partial)) for path in files]
        if len(files) == 2:
            yield _two_files(outputs)
        else:
            form = pair_format(files[0])
            if form not in WRITERS:
                kinds = ", ".join(WRITERS)
                what = "is read only" if form in KINDS else "is no kind of file for pairs"
                raise InputError(f"{files[0]}: {what}; give two files, or one of {kinds} (also .gz, .xz, .zst)")
            yield from WRITERS[form](files[0], outputs[0], languages)


def _two_files(files: Sequence[TextIO]) -> CorpusWriter:
    def write(source: str, target: str) -> None:
        for file, text in zip(files, (source, target), strict=True):
            file.write(writer.replaced("[\r\n]+", " ", text, "line breaks") + "\n")

    writer = CorpusWriter(write)
    return writer


def _tsv(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    def write(source: str, target: str) -> None:
        cells = [writer.replaced("[\t\r\n]+", " ", text, "tabs or line breaks") for text in (source, target)]
        file.write("\t".join(cells) + "\n")

    writer = CorpusWriter(write)
    yield writer


def _names(languages: Languages) -> tuple[str, str]:
    source, target = languages
    return (source, target) if source and target and source != target else ("source", "target")


def _csv(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(_names(languages))
    # A carriage return that stands alone would not be quoted.
    yield CorpusWriter(lambda *pair: rows.writerow([re.sub("\r\n?", "\n", text) for text in pair]))


def _json_lines(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    def write(source: str, target: str) -> None:
        file.write(json.dumps({"source": source, "target": target}, ensure_ascii=False) + "\n")

    yield CorpusWriter(write)


def _json(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    names = _names(languages)

    def write(source: str, target: str) -> None:
        entry = json.dumps(dict(zip(names, (source, target), strict=True)), ensure_ascii=False)
        file.write(f"{',' if writer.pairs else '['}\n{entry}")

    writer = CorpusWriter(write)
    yield writer
    file.write("\n]\n")


def _tmx(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    source_code, target_code = _required(languages, path)
    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        '<header creationtool="dragoman" creationtoolversion="1" segtype="sentence" '
        f'o-tmf="dragoman" adminlang="en" srclang={quoteattr(source_code)} datatype="plaintext"/>\n<body>\n'
    )

    def write(source: str, target: str) -> None:
        file.write("<tu>")
        for code, text in ((source_code, source), (target_code, target)):
            file.write(f"<tuv xml:lang={quoteattr(code)}><seg>{_xml(writer, text)}</seg></tuv>")
        file.write("</tu>\n")

    writer = CorpusWriter(write)
    yield writer
    file.write("</body>\n</tmx>\n")


def _xliff(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    source_code, target_code = map(quoteattr, _required(languages, path))
    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        f'<file original="corpus" datatype="plaintext" source-language={source_code} target-language={target_code}>\n'
        "<body>\n"
    )

    def write(source: str, target: str) -> None:
        source, target = _xml(writer, source), _xml(writer, target)
        unit = f"<source>{source}</source><target>{target}</target>"
        file.write(f'<trans-unit id="{writer.pairs + 1}" xml:space="preserve">{unit}</trans-unit>\n')

    writer = CorpusWriter(write)
    yield writer
    file.write("</body>\n</file>\n</xliff>\n")


def _required(languages: Languages, path: Path) -> tuple[str, str]:
    source, target = languages
    if not source or not target or source == target:
        raise InputError(f"{path}: such a file names the languages of both sides; give --languages SRC TGT")
    return source, target


def _xml(writer: CorpusWriter, text: str) -> str:
    return escape(writer.replaced(_NOT_XML, "", text, "characters that XML does not have"))


def _po(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    import polib

    source_code, target_code = languages
    header = {"Content-Type": "text/plain; charset=UTF-8", "Content-Transfer-Encoding": "8bit"}
    header |= {"Language": target_code} if target_code else {}
    header |= {"X-Source-Language": source_code} if source_code else {}
    file.write('msgid ""\nmsgstr ""\n')
    file.writelines(f'"{name}: {value}\\n"\n' for name, value in header.items())
    seen: set[str] = set()

    def write(source: str, target: str) -> bool:
        if not source:
            writer.changes["empty sources"] += 1
            return False
        # A message has one translation unless a context tells two of them apart.
        context = str(writer.pairs + 1) if source in seen else None
        seen.add(source)
        source, target = (writer.replaced(_SEPARATOR, " ", text, "line separators") for text in (source, target))
        file.write(f"\n{polib.POEntry(msgid=source, msgstr=target, msgctxt=context)}")
        return True

    writer = CorpusWriter(write)
    yield writer


def _xlsx(path: Path, file: TextIO, languages: Languages) -> Iterator[CorpusWriter]:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("corpus")
    sheet.append(_names(languages))

    def cell(text: str) -> WriteOnlyCell:
        kept = writer.replaced(_NOT_XML, "", text, "characters that XML does not have")
        kept = writer.replaced(f"(?s)(?<=^.{{{_LONGEST_CELL}}}).+", "", kept, f"characters after {_LONGEST_CELL:,}")
        made = WriteOnlyCell(sheet, kept)
        made.data_type = "s"  # "=" begins no formula
        return made

    def write(source: str, target: str) -> None:
        if writer.pairs >= _MOST_ROWS:
            raise InputError(f"{path}: a sheet has at most {_MOST_ROWS + 1:,} rows; write .csv")
        sheet.append((cell(source), cell(target)))

    writer = CorpusWriter(write)
    yield writer
    saved = io.BytesIO()  # a compressed file cannot go back to write the sizes of parts
    book.save(saved)
    file.buffer.write(saved.getvalue())


WRITERS: dict[str, Callable[[Path, TextIO, Languages], Iterator[CorpusWriter]]] = {
    ".tsv": _tsv,
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".json": _json,
    ".tmx": _tmx,
    ".xliff": _xliff,
    ".xlf": _xliff,
    ".po": _po,
    ".xlsx": _xlsx,
}
"""The kinds of files with both sides that are written."""


def require_pair_file(path: str | Path) -> None:
    """Refuse a name that is not the name of a file of pairs.

    Raises:
        InputError: it ends neither in .tsv nor in .jsonl.
    """
    if pair_format(Path(path)) not in (".tsv", ".jsonl"):
        raise InputError(f"{path}: pairs are written to one .tsv or .jsonl file (also .gz, .xz, .zst); name it so")


@contextmanager
def write_pairs(path: str | Path) -> Iterator[Callable[[str, str], None]]:
    """Inside, a function that writes a source and a target; an old file is replaced at the end.

    In .tsv a tab within a line is written as a space. After an error what was written stays as PATH.partial.

    Raises:
        InputError: the name is not that of a file of pairs, or it cannot be written.
    """
    require_pair_file(path)
    with corpus_writer([Path(path)], (None, None), keep_partial=True) as writer:
        yield writer.write
