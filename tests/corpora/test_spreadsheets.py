"""Spreadsheets, folders and patterns as corpora: what is read of them, what is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.text.lines import write_lines
from tests.corpora.pairs import error_of, read

Rows = Sequence[Sequence[object]]
ROWS: Rows = [("nr", "English", "Korean"), (1, "The\nsea", "바다"), (), (2, "Rain", None), (3, "Wind", "바람")]


def xlsx(path: Path, **sheets: Rows) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def ods(path: Path, content: str, manifest: str = "<manifest/>") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("META-INF/manifest.xml", manifest)
        parts.writestr("content.xml", content)
    return path


def ods_content(*rows: str, head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{head}<o:document-content xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:t="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:x="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><o:body><o:spreadsheet><t:table t:name="One">'
        f"{''.join(f'<t:table-row>{row}</t:table-row>' for row in rows)}</t:table></o:spreadsheet></o:body>"
        "</o:document-content>"
    )


def cells(*texts: str) -> str:
    return "".join(f"<t:table-cell><x:p>{text}</x:p></t:table-cell>" for text in texts)


def test_rows_of_sheets_with_the_same_header_are_pairs(tmp_path: Path) -> None:
    more, other = [ROWS[0], (4, "Snow", "눈")], [("Notes", "by"), ("a", "b")]
    path = xlsx(tmp_path / "a.xlsx", One=ROWS, Empty=[], Two=more, Notes=other)
    pairs, said = read(path)
    assert pairs == [("The sea", "바다"), ("Wind", "바람"), ("Snow", "눈")]
    assert said == [
        f"{path}: source English, target Korean, of the columns nr, English, Korean; "
        "--columns SOURCE TARGET chooses others",
        f"{path}: sheets left out, whose first row is another: 1",
        f"{path}: 1 of 4 records left out: 1 without Korean",
    ]
    assert read(path, ("3", "2"))[0][0] == ("바다", "The sea")
    assert [pair.origin for pair in read_pairs([[path]])][1] == f"{path}, One!5"


def test_formulas_are_not_computed_and_hidden_sheets_not_read(tmp_path: Path) -> None:
    rows = [("en", "ko"), ("=1+1", "=cmd|' /c calc'!A0"), ("a", "b"), ("c", "#N/A")]
    path = xlsx(tmp_path / "a.xlsx", One=rows, Two=ROWS)
    book = openpyxl.load_workbook(path)
    book["Two"].sheet_state = "hidden"
    book.save(path)
    assert read(path)[0] == [("a", "b")]


def test_a_sheet_of_opendocument_without_its_comments(tmp_path: Path) -> None:
    annotated = (
        "<t:table-cell><o:annotation><x:p>no</x:p></o:annotation><x:p>a <x:span>b</x:span><x:s/>c</x:p></t:table-cell>"
    )
    empty = '<t:table-cell t:number-columns-repeated="2"/>'
    far = '<t:table-cell t:number-columns-repeated="1000000000"/>'
    content = ods_content(cells("en", "x", "ko") + far, annotated + empty, annotated + cells("", "나"), empty)
    path = ods(tmp_path / "a.ods", content)
    pairs, said = read(path)
    assert pairs == [("a b c", "나")]
    assert said[1] == f"{path}: 1 of 2 records left out: 1 without ko"
    assert next(read_pairs([[path]])).origin == f"{path}, One!3"
    content = ods_content(*[cells("en", "ko") + far, cells("a", "나") + far])
    assert read(ods(path, content))[1] == [
        f"{path}: source en, target ko, of the columns en, ko; --columns SOURCE TARGET chooses others"
    ]


def bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("META-INF/manifest.xml", "<manifest/>")
        parts.writestr("content.xml", b"0" * (30 << 20))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "damaged, or not a spreadsheet at all"),
        (b"en,ko\na,b\n", "damaged, or not a spreadsheet at all"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is encrypted, or a spreadsheet from before 2007"),
        (bomb(), "grows too much when it is unpacked"),
    ],
)
@pytest.mark.parametrize("name", ["a.xlsx", "a.ods"])
def test_a_bad_spreadsheet_is_one_line(tmp_path: Path, name: str, data: bytes, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert error_of(path).startswith(f"{path}: {fault}")


def test_damaged_parts_and_document_types_are_refused(tmp_path: Path) -> None:
    path = xlsx(tmp_path / "a.xlsx", One=ROWS)
    with zipfile.ZipFile(path) as parts:
        contents = {name: parts.read(name) for name in parts.namelist()}

    def changed(part: str, content: bytes) -> str:
        with zipfile.ZipFile(path, "w") as parts:
            for name, old in contents.items():
                parts.writestr(name, content if name == part else old)
        return error_of(path)

    sheet = "xl/worksheets/sheet1.xml"
    assert changed(sheet, contents[sheet][:-300]).startswith(f"{path}: damaged, or not an .xlsx file: ")
    bad = b'<!DOCTYPE x [<!ENTITY a "b">]>' + contents[sheet].partition(b"?>")[2]
    assert changed(sheet, bad) == (
        f"{path}: its {sheet} has a document type, which no spreadsheet needs; save it again"
    )
    for text in (bad.decode(), f"\ufeff{bad.decode()}"):
        assert "has a document type" in changed(sheet, text.encode("utf-16"))
    encrypted = ods(tmp_path / "a.ods", "x", "<manifest><encryption-data/></manifest>")
    assert error_of(encrypted) == f"{encrypted}: is encrypted; save it without a password"
    head = '<!DOCTYPE x SYSTEM "x.dtd">'
    assert "has a document type" in error_of(ods(tmp_path / "b.ods", ods_content(cells("a", "b"), head=head)))
    assert "not XML, or damaged" in error_of(ods(tmp_path / "c.ods", ods_content(cells("a", "b"))[:-30]))


def test_a_spreadsheet_without_rows_has_no_pairs(tmp_path: Path) -> None:
    for rows in ([], [("en", "ko")]):
        path = xlsx(tmp_path / "a.xlsx", One=rows)
        assert error_of(path) == f"{path}: no lines in it; a corpus needs at least one pair"


def test_a_folder_and_a_pattern_take_all_files_of_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    write_lines(folder / "b.csv", ["en,ko", "a,나"])
    write_lines(folder / "a.jsonl.gz", ['{"en": "c", "ko": "라"}'])
    write_lines(folder / "notes.txt", ["nothing"])
    write_lines(folder / ".c.tsv.dragoman-new", [])
    (folder / "more").mkdir()
    pairs, said = read(folder)
    assert pairs == [("c", "라"), ("a", "나")]
    assert said[0] == f"{folder}: left out, as they hold no pairs: more, notes.txt"
    assert read(folder / "*.csv")[0] == [("a", "나")]
    assert {pair.corpus for pair in read_pairs([[folder]])} == {0}
    assert error_of(folder / "*.tmx").startswith(f"{folder}/*.tmx: matches no files of pairs, which end in .csv, ")
    (folder / "empty").mkdir()
    assert error_of(folder / "empty").startswith(f"{folder}/empty: is a folder without files of pairs")


def test_files_of_different_languages_are_not_one_text(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.csv", ["en,ko", "a,나"])
    write_lines(tmp_path / "b.csv", ["ko-KR,en", "나,a"])
    write_lines(tmp_path / "c.csv", ["en-GB,ko", "나,a"])
    assert error_of(tmp_path) == (
        f"{tmp_path}/b.csv: ko-KR to en, but {tmp_path}/a.csv is en to ko; choose with --columns SOURCE TARGET"
    )
    assert read(tmp_path, ("ko", "en"))[0][:2] == [("나", "a")] * 2
    assert len(list(read_pairs([[tmp_path / "a.csv"], [tmp_path / "b.csv"]]))) == 2  # no command that they belong to


def test_all_rows_are_read_whatever_the_sheet_says_of_its_size(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("en", "ko"), ("a", "나"), ("b_x000D_\nc", "다")):
        book.active.append(row)
    book.save(tmp_path / "whole.xlsx")
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(path, "w") as written:
        for name in whole.namelist():
            written.writestr(name, whole.read(name).replace(b'<dimension ref="A1:B3"', b'<dimension ref="A1:B2"'))
    assert read(path)[0] == [("a", "나"), ("b c", "다")]
