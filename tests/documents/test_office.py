"""Files of Word, PowerPoint and Excel: what is translated, and that everything else stays where it was."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest

from dragoman.documents.document import Languages
from dragoman.documents.files import open_document
from dragoman.documents.html_text import Markup
from dragoman.errors import InputError
from tests.documents.translators import part, reversed_words, same, translated, with_parts

pytest.importorskip("lxml", reason="needs lxml")

DOCUMENT = "word/document.xml"
NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="urn:schemas-microsoft-com:vml"'
)


def _word_file() -> bytes:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    content = io.BytesIO()
    docx.Document().save(content)
    return content.getvalue()


def _archive(parts: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def _with_body(body: str) -> bytes:
    document = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    return with_parts(_word_file(), {DOCUMENT: document})


def _body(content: bytes) -> str:
    """The body, with runs of the same look joined and without what says nothing."""
    found = part(content, DOCUMENT).partition("<w:body>")[2].partition("</w:body>")[0]
    for nothing in (' xml:space="preserve"', "<w:proofErr/>", "</w:r><w:r>", "</w:t><w:t>"):
        found = found.replace(nothing, "")
    return found


def _run(text: str, properties: str = "") -> str:
    return f'<w:r>{f"<w:rPr>{properties}</w:rPr>" if properties else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def _field(code: str, result: str) -> str:
    return "".join(
        f"<w:r>{one}</w:r>"
        for one in (
            '<w:fldChar w:fldCharType="begin"/>', f"<w:instrText> {code} </w:instrText>",
            '<w:fldChar w:fldCharType="separate"/>', f"<w:t>{result}</w:t>", '<w:fldChar w:fldCharType="end"/>',
        )
    )  # fmt: skip


BOLD = "<w:b/>"
PARAGRAPHS = {
    "a word cut into runs": _run("Ein Hu") + _run("nd läu") + "<w:proofErr/>" + _run("ft."),
    "bold": _run("Ein ") + _run("Hund", BOLD) + _run(" läuft."),
    "a link": _run("Ein Mann auf ") + f'<w:hyperlink r:id="r1">{_run("einer Bank")}</w:hyperlink>' + _run(" im Park."),
    "a link alone": f'<w:hyperlink r:id="r1">{_run("Ein Hund läuft.")}</w:hyperlink>',
    "an insertion": _run("Ein Hund ") + f'<w:ins w:id="1" w:author="x">{_run("läuft")}</w:ins>' + _run(" weg."),
    "a deletion": _run("Ein Hund") + '<w:del w:id="2"><w:r><w:delText>springt</w:delText></w:r></w:del>' + _run("."),
    "a content control": _run("Ein ") + f"<w:sdt><w:sdtPr/><w:sdtContent>{_run('Hund')}</w:sdtContent></w:sdt>",
    "a formula": _run("Ein Hund ") + "<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>" + _run(" läuft."),
    "a bookmark": f'<w:bookmarkStart w:id="0" w:name="a"/>{_run("Ein Hund")}<w:bookmarkEnd w:id="0"/>{_run(" läuft.")}',
    "tabs": "<w:r><w:t>Ein Hund</w:t><w:tab/><w:t>Ein Mann</w:t><w:tab/><w:t>12</w:t></w:r>",
    "an address": "<w:r><w:t>Hans Maier</w:t><w:br/><w:t>Hauptweg 12</w:t><w:br/><w:t>10115 Berlin</w:t></w:r>",
    "a page break": '<w:r><w:t>Ein Hund läuft.</w:t><w:br w:type="page"/></w:r>',
    "a footnote": '<w:r><w:t>Ein Hund</w:t><w:footnoteReference w:id="1"/><w:t> läuft.</w:t></w:r>',
    "a picture": "<w:r><w:t>Ein Hund läuft. </w:t><w:drawing/></w:r>",
    "a text box": _run("Ein Hund. ")
    + f"<w:r><w:pict><v:textbox><w:txbxContent><w:p>{_run('Ein Mann.')}</w:p></w:txbxContent></v:textbox></w:pict>"
    + "</w:r>",
    "a page number": _run("Auf Seite ") + _field("PAGE", "3") + _run(" sitzt er."),
    "a name": _run("Der Hund von ") + _field("MERGEFIELD Name", "«Name»") + _run(" läuft."),
    "a linked field": _run("Ein ") + _field('HYPERLINK "x"', "Hund") + _run(" läuft."),
    "a simple link": f'<w:fldSimple w:instr=" HYPERLINK x ">{_run("Ein Hund")}</w:fldSimple>' + _run(" läuft."),
    "a comment of XML": _run("Ein Hund ") + "<!-- x -->" + _run("läuft."),
    "a simple name": _run("Der Hund von ") + f'<w:fldSimple w:instr="MERGEFIELD x">{_run("«Name»")}</w:fldSimple>',
    "a table of contents": _field("TOC", "").partition("<w:r><w:t>")[0]
    + _run("Hund")
    + "<w:r><w:tab/></w:r>"
    + _field("PAGEREF x", "3"),
}  # fmt: skip


def test_everything_of_a_paragraph_stays_in_its_place() -> None:
    """Each paragraph is its own translation, word by word, and in upper case."""
    body = "".join(f"<w:p>{paragraph}</w:p>" for paragraph in PARAGRAPHS.values())
    before = _with_body(body)
    same_again = _body(translated(".docx", before, same))
    for name, was, found in zip(PARAGRAPHS, _paragraphs(_body(before)), _paragraphs(same_again), strict=True):
        assert found == was, name
    found = _body(translated(".docx", before))
    assert "<w:delText>springt" in found
    assert "«Name»" in found
    assert "EIN MANN." in found
    words = set(re.findall(r"<w:t>([^<]*[a-zäöü][^<]*)</w:t>", found))
    assert words == {"«Name»"}


@pytest.mark.parametrize(("name", "is_tracked"), [("an insertion", True), ("a picture", False)])
def test_tracked_changes_are_seen(name: str, is_tracked: bool) -> None:
    content = _with_body(f"<w:p>{PARAGRAPHS[name]}</w:p>")
    assert open_document(".docx", content, Languages()).is_tracked == is_tracked


def _paragraphs(body: str) -> list[str]:
    """The outermost paragraphs."""
    return re.findall(r"<w:p>(?:(?!</?w:p>).|<w:p>(?:(?!</?w:p>).)*</w:p>)*</w:p>", body)


def test_formatting_and_links_follow_their_words() -> None:
    body = f"<w:p>{PARAGRAPHS['bold']}</w:p><w:p>{PARAGRAPHS['a link']}</w:p><w:p>{PARAGRAPHS['a name']}</w:p>"
    found = _body(translated(".docx", _with_body(body), reversed_words))
    assert _plain(found) == ["läuft Hund Ein.", "Park im Bank einer auf Mann Ein.", "läuft «Name» von Hund Der."]
    document = part(translated(".docx", _with_body(body), reversed_words), DOCUMENT)
    assert "<w:rPr><w:b/></w:rPr><w:t>Hund</w:t></w:r>" in document
    assert re.search(r'<w:hyperlink r:id="r1"><w:r><w:t>Bank einer</w:t></w:r></w:hyperlink>', found)
    assert '"separate"/><w:t>«Name»<w:fldChar' in found.replace("</w:t>", "")


def _plain(body: str) -> list[str]:
    return ["".join(re.findall(r"<w:t>([^<]*)", one)) for one in body.split("</w:p>") if "<w:t>" in one]


def test_all_parts_of_a_word_file_with_text_are_translated() -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    document: Any = docx.Document()
    section = document.sections[0]
    section.different_first_page_header_footer = True
    document.settings.odd_and_even_pages_header_footer = True
    places = (section.header, section.first_page_header, section.even_page_header, section.footer)
    for number, place in enumerate(places):
        place.is_linked_to_previous = False
        place.paragraphs[0].text = f"Kopf {number}"
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Zelle", "2018"
    document.add_paragraph("Ein Hund läuft.", style="List Number")
    document.core_properties.title = "Der Titel"
    content = io.BytesIO()
    document.save(content)
    notes = f'<w:footnotes {NAMESPACES}><w:footnote w:id="1"><w:p>{_run("Eine Note.")}</w:p></w:footnote></w:footnotes>'
    before = with_parts(content.getvalue(), {"word/footnotes.xml": notes})
    found = translated(".docx", before)
    read: Any = docx.Document(io.BytesIO(found))
    section = read.sections[0]
    places = (section.header, section.first_page_header, section.even_page_header, section.footer)
    assert [one.paragraphs[0].text for one in places] == [f"KOPF {number}" for number in range(4)]
    assert [cell.text for cell in read.tables[0].rows[0].cells] == ["ZELLE", "2018"]
    assert [(one.text, one.style.name) for one in read.paragraphs] == [("EIN HUND LÄUFT.", "List Number")]
    assert read.core_properties.title == "DER TITEL"
    assert "EINE NOTE." in part(found, "word/footnotes.xml")
    assert part(found, "word/styles.xml") == part(before, "word/styles.xml")


def test_word_files_with_numbered_parts_are_read() -> None:
    parts = {"word/document2.xml": part(_with_body(f"<w:p>{_run('ab')}</w:p>"), DOCUMENT)}
    content = with_parts(_archive({"[Content_Types].xml": "<Types/>"}), parts)
    assert _plain(part(translated(".docx", content), "word/document2.xml")) == ["AB"]


@pytest.mark.parametrize(
    ("kind", "name", "root"),
    [
        (".docx", DOCUMENT, "document"),
        (".pptx", "ppt/presentation.xml", "presentation"),
        (".xlsx", "xl/workbook.xml", "workbook"),
    ],
)
def test_strict_open_xml_is_refused(kind: str, name: str, root: str) -> None:
    strict = f'<{root} xmlns="http://purl.oclc.org/ooxml/main"/>'
    with pytest.raises(InputError, match="the file is Strict Open XML, which is not read"):
        open_document(kind, _archive({"[Content_Types].xml": "<Types/>", name: strict}), Languages())


def test_raised_and_lowered_text_stays_at_its_word() -> None:
    raised = '<w:vertAlign w:val="superscript"/>'
    body = f"<w:p>{_run('ein Hund')}{_run('1', raised)}{_run(' auf 5 m')}{_run('2', raised)}{_run(' Land.')}</w:p>"
    found = part(translated(".docx", _with_body(body)), DOCUMENT)
    assert re.findall(r"<w:vertAlign[^>]*/></w:rPr><w:t[^>]*>([^<]*)", found) == ["1", "2"]
    assert "".join(re.findall(r"<w:t[^>]*>([^<]*)", found)) == "EIN HUND1 AUF 5 M2 LAND."
    [text] = open_document(".docx", _with_body(body), Languages()).texts
    assert Markup(text).texts[0].text == "ein Hund auf 5 m Land."


def test_code_and_numbers_are_not_translated() -> None:
    style = '<w:pPr><w:pStyle w:val="SourceCode"/></w:pPr>'
    before = _with_body(f"<w:p>{style}{_run('print(a)')}</w:p><w:p>{_run('1.234,50')}</w:p><w:p>{_run('ab')}</w:p>")
    assert _plain(_body(translated(".docx", before))) == ["print(a)", "1.234,50", "AB"]


def test_a_spreadsheet_keeps_formulas_names_and_headers_of_tables() -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl")
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.worksheet.table import Table

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Blatt"
    rows = [["Umsatz", "Name"], [12.5, "ein Hund"], ["=SUM(A2:A2)", "zwei\nZeilen"], [None, "ein Hund"]]
    for row in rows:
        sheet.append(row)
    rows = [["Preis\nin Euro"], [None], ["ein_x000D_\nHund_x000D_da"]]
    for number, [text] in enumerate(rows, 1):
        sheet.cell(number, 5, text)
    header = Table(displayName="u", ref="E1:E2")
    header._initialise_columns()
    header.tableColumns[0].name = "Preis_x000a_in Euro"
    sheet.add_table(header)
    sheet["C1"] = CellRichText("ein ", TextBlock(InlineFont(b=True), "fetter"), " Hund")
    sheet.add_table(Table(displayName="t", ref="A1:B4"))
    content = io.BytesIO()
    book.save(content)
    found = openpyxl.load_workbook(io.BytesIO(translated(".xlsx", content.getvalue())), rich_text=True)["Blatt"]
    assert [[cell.value for cell in row[:2]] for row in found.iter_rows()] == [
        ["Umsatz", "Name"], [12.5, "EIN HUND"], ["=SUM(A2:A2)", "ZWEI\nZEILEN"], [None, "EIN HUND"],
    ]  # fmt: skip
    assert str(found["C1"].value) == "EIN FETTER HUND"
    assert found["C1"].value[1].font.b
    assert [found.cell(number, 5).value for number in (1, 3)] == ["Preis\nin Euro", "EIN_x000D_\nHUND_x000D_DA"]


def test_shared_strings_keep_their_formatting() -> None:
    namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    strings = (
        f'<sst {namespace}><si><t>Umsatz</t></si><si><r><rPr><b/></rPr><t>fett</t></r><r><t xml:space="preserve"> und '
        'mehr</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si><si><t>2018</t></si></sst>'
    )
    table = f'<table {namespace}><tableColumns><tableColumn name="Umsatz"/></tableColumns></table>'
    parts = {"xl/workbook.xml": f"<workbook {namespace}/>", "xl/sharedStrings.xml": strings, "xl/tables/t1.xml": table}
    found = part(translated(".xlsx", with_parts(_word_file(), parts)), "xl/sharedStrings.xml").partition("?>\n")[2]
    phonetic = '<rPh sb="0" eb="1"><t>x</t></rPh>'
    assert found == strings.replace("fett", "FETT").replace("und mehr", "UND MEHR").replace(phonetic, "")


def test_slides_keep_their_formatting() -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    presentation = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    slide = (
        f'<p:sld {presentation} xmlns:a="{drawing}"><a:p><a:pPr lvl="1"/><a:r><a:rPr lang="de" b="1"/><a:t>Ein </a:t>'
        '</a:r><a:r><a:rPr lang="de-DE" b="1" dirty="0"/><a:t>Hund</a:t></a:r><a:br/><a:fld type="slidenum" id="{1}">'
        '<a:t>3</a:t></a:fld><a:endParaRPr lang="de"/></a:p></p:sld>'
    )
    content = with_parts(
        _word_file(), {"ppt/presentation.xml": f"<p:presentation {presentation}/>", "ppt/slides/slide1.xml": slide}
    )
    found = part(translated(".pptx", content), "ppt/slides/slide1.xml").partition("?>\n")[2]
    cut = '<a:t>Ein </a:t></a:r><a:r><a:rPr lang="de-DE" b="1" dirty="0"/><a:t>Hund'
    assert found == slide.replace(cut, "<a:t>EIN HUND").replace('lang="de" b="1"', 'b="1"')
