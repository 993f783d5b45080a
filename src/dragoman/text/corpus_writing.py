"""Writing a corpus as files of another kind."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from dragoman.errors import InputError
from dragoman.text.corpus import KINDS, pair_format
from dragoman.text.lines import replace_output

Languages = tuple[str | None, str | None]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CorpusWriter:
    """Writes pairs, and counts what the files cannot hold."""

    def __init__(self, write: Callable[[str, str], None]) -> None:
        self.pairs = 0
        self.changes: Counter[str] = Counter()
        """How many sides were written differently, by what was done."""
        self._write = write

    def write(self, source: str, target: str) -> None:
        """Write a pair."""
        self._write(source, target)
        self.pairs += 1

    def replaced(self, pattern: str | re.Pattern[str], by: str, text: str, what: str) -> str:
        """Return a text without what the file cannot hold, and count it if it has some."""
        changed = re.sub(pattern, by, text)
        self.changes[what] += changed != text
        return changed


@contextmanager
def corpus_writer(files: Sequence[Path], languages: Languages) -> Iterator[CorpusWriter]:
    """Open files for the pairs of a corpus: two for the sides, or one .tsv, .csv, .jsonl, .json or .tmx.

    Old files are replaced at the end. Names of columns are the languages, or source and target.

    Args:
        languages: of source and target; a .tmx file needs them.

    Raises:
        InputError: a file is of another kind or cannot be written, or .tmx has no languages.
    """
    with ExitStack() as stack:
        outputs = [stack.enter_context(replace_output(path)) for path in files]
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
    yield CorpusWriter(lambda source, target: rows.writerow((source, target)))


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
    source_code, target_code = languages
    if not source_code or not target_code or source_code == target_code:
        raise InputError(f"{path}: a .tmx file names the languages of both sides; give --languages SRC TGT")
    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        '<header creationtool="dragoman" creationtoolversion="1" segtype="sentence" '
        f'o-tmf="dragoman" adminlang="en" srclang={quoteattr(source_code)} datatype="plaintext"/>\n<body>\n'
    )

    def write(source: str, target: str) -> None:
        file.write("<tu>")
        for code, text in ((source_code, source), (target_code, target)):
            kept = writer.replaced(_NOT_XML, "", text, "characters that XML does not have")
            file.write(f"<tuv xml:lang={quoteattr(code)}><seg>{escape(kept)}</seg></tuv>")
        file.write("</tu>\n")

    writer = CorpusWriter(write)
    yield writer
    file.write("</body>\n</tmx>\n")


WRITERS: dict[str, Callable[[Path, TextIO, Languages], Iterator[CorpusWriter]]] = {
    ".tsv": _tsv,
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".json": _json,
    ".tmx": _tmx,
}
"""The kinds of files with both sides that are written."""
