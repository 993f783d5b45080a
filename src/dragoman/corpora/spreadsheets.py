"""Spreadsheets: .xlsx, read by openpyxl, and .ods.

Values are read, not formulas: a cell with a formula has the value that was computed before the file was saved. A sheet
begins with a header or with its first pair; other sheets are read too if they have the header of the first.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dragoman.corpora.columns import Record, Table
from dragoman.corpora.delimited import SAMPLE, column_names
from dragoman.corpora.reading import Reading
from dragoman.corpora.xml_stream import local_name, read_elements
from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

LARGEST = 1 << 28
"""Bytes of a spreadsheet, which is held in memory."""

MOST = 1 << 31
"""Bytes of all of its parts unpacked."""

EXPANSION = 200
"""Times that a part of more than a MiB may grow when it is unpacked; text grows about tenfold."""

_WIDEST = 1000
"""Columns that are looked at."""

_DOCUMENT_TYPE = re.compile(rb"<\0?!\0?D\0?O\0?C\0?T\0?Y\0?P\0?E")

_Rows = Iterator[tuple[str, Sequence[str | None]]]


def open_spreadsheet(path: Path, file: BinaryIO, reading: Reading, sheets: Callable[..., Iterator[_Rows]]) -> Table:
    """Return the records of a spreadsheet.

    Args:
        sheets: `xlsx_sheets` or `ods_sheets`.

    Raises:
        InputError: it is damaged, encrypted, or too large packed or unpacked.
    """
    every = (rows for rows in map(_filled, sheets(path, _parts(path, file))) if rows is not None)
    rows = next(every, iter(()))
    begun = list(islice(rows, SAMPLE))
    named, names = column_names([row for _, row in begun], reading)
    left_out = 0

    def records() -> _Rows:
        nonlocal left_out
        yield from chain(begun[named:], rows)
        for other in every:
            first = next(other)[1]
            if named and column_names([first], reading)[1] == names:
                yield from other
            else:
                left_out += 1
        if left_out:
            reading.say(f"{path}: sheets left out, whose first row is another: {left_out}")

    def named_records(rows: _Rows) -> Iterator[tuple[str, Record]]:
        for origin, row in rows:
            yield origin, dict(zip(names, row, strict=False))

    sample = [dict(zip(names, row, strict=False)) for _, row in begun[named:]]
    return Table(path, names, named_records(records()), sample, named=named)


def _filled(rows: _Rows) -> _Rows | None:
    """The rows of a sheet that have text, without the empty cells at their ends; None where there are none."""
    trimmed = (
        (origin, row[: 1 + max((at for at, cell in enumerate(row) if cell and cell.strip()), default=-1)])
        for origin, row in rows
    )
    filled = ((origin, row) for origin, row in trimmed if row)
    first = next(filled, None)
    return None if first is None else chain([first], filled)


def _parts(path: Path, file: BinaryIO) -> zipfile.ZipFile:
    """The parts of a spreadsheet, once they are known to be harmless."""
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{path}: more than {LARGEST >> 20} MiB; save it as .csv")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError(
            f"{path}: is encrypted, or a spreadsheet from before 2007; save it as .xlsx without a password"
        )
    try:
        parts = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise InputError(f"{path}: damaged, or not a spreadsheet at all; save it again") from None
    infos = parts.infolist()
    if any(one.file_size > max(1 << 20, EXPANSION * one.compress_size) for one in infos) or (
        sum(one.file_size for one in infos) > MOST
    ):
        raise InputError(f"{path}: grows too much when it is unpacked; save it as .csv")
    if any(one.flag_bits & 1 for one in infos):
        raise InputError(f"{path}: is encrypted; save it without a password")
    for part in parts.namelist():
        try:
            begin = parts.open(part).read(1 << 16)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError):
            raise InputError(f"{path}: damaged; save it again") from None
        if part.endswith((".xml", ".rels")) and _DOCUMENT_TYPE.search(begin):
            raise InputError(f"{path}: its {part} has a document type, which no spreadsheet needs; save it again")
    return parts


def xlsx_sheets(path: Path, parts: zipfile.ZipFile) -> Iterator[_Rows]:
    """Yield the rows of each visible sheet of an .xlsx file.

    Raises:
        InputError: it is damaged.
    """
    import openpyxl

    with _damage_as_input_error(path):
        book = openpyxl.load_workbook(parts.fp, read_only=True, data_only=True)
    for sheet in book.worksheets:
        if sheet.sheet_state == "visible":
            yield _xlsx_rows(path, sheet)


@contextmanager
def _damage_as_input_error(path: Path) -> Iterator[None]:
    """Turn any error of openpyxl into an InputError, as a damaged file may raise any; drop its warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"{path}: damaged, or not an .xlsx file: {reason.splitlines()[0]}") from None


def _xlsx_rows(path: Path, sheet: Any) -> _Rows:
    from openpyxl.cell.cell import ERROR_CODES
    from openpyxl.utils.escape import unescape

    sheet.reset_dimensions()  # as the file declares them they may be too small
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    while True:
        with _damage_as_input_error(path):
            numbered = next(rows, None)
        if numbered is None:
            return
        yield (
            f"{path}, {sheet.title}!{numbered[0]}",
            [None if cell is None or cell in ERROR_CODES else unescape(str(cell)) for cell in numbered[1][:_WIDEST]],
        )


def ods_sheets(path: Path, parts: zipfile.ZipFile) -> Iterator[_Rows]:
    """Yield the rows of each sheet of an .ods file.

    Raises:
        InputError: it is damaged or encrypted.
    """
    try:
        if b"encryption-data" in parts.read("META-INF/manifest.xml"):
            raise InputError(f"{path}: is encrypted; save it without a password")
        content = parts.open("content.xml")
    except (KeyError, zipfile.BadZipFile):
        raise InputError(f"{path}: damaged, or not an .ods file; save it again") from None
    sheet, number = "", 0

    def begin(element: Element) -> None:
        nonlocal sheet, number
        sheet = next((value for name, value in element.attrib.items() if str(name).endswith("}name")), "")
        number = 0

    rows = read_elements(
        path, content, "document-content", ("table-row",), starts={"table": begin}, forgotten=("table",)
    )
    last: str | None = None
    pending: list[tuple[str, Sequence[str | None]]] = []
    for element in rows:
        if sheet != last and pending:
            yield iter(pending)
            pending = []
        last = sheet
        number += 1
        pending.append((f"{path}, {sheet}!{number}", _ods_cells(element)))
        number += _repeated(element, "number-rows-repeated") - 1
    yield iter(pending)


def _ods_cells(row: Element) -> list[str | None]:
    cells: list[str | None] = []
    for cell in row:
        if local_name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        texts = ["".join(_ods_text(one)) for one in cell if local_name(one) == "p"]
        value = "\n".join(texts) if texts else None
        cells += [value] * min(_repeated(cell, "number-columns-repeated"), _WIDEST - len(cells))
    return cells


def _repeated(element: Element, attribute: str) -> int:
    """How many rows or cells an element stands for."""
    repeats = next((value for name, value in element.attrib.items() if str(name).endswith(f"}}{attribute}")), "1")
    return int(repeats) if repeats.isdecimal() else 1


def _ods_text(element: Element) -> Iterator[str]:
    """The text of a paragraph, without comments."""
    yield element.text or ""
    for child in element:
        name = local_name(child)
        if name in ("s", "tab", "line-break"):
            yield " "
        elif name != "annotation":
            yield from _ods_text(child)
        yield child.tail or ""
