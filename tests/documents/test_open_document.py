"""Files of OpenDocument, and electronic books."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from dragoman.documents.document import Languages
from dragoman.documents.files import open_document
from dragoman.errors import InputError
from tests.documents.translators import part, reversed_words, same, translated, upper, with_parts

pytest.importorskip("lxml", reason="needs lxml")

OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = " ".join(f'xmlns:{name}="{OASIS}{name}:1.0"' for name in ("office", "text", "table", "style", "draw"))
TEXT = """
==========
Ein Titel
==========

Ein *Hund* läuft **durch** den `Schnee <http://example.org>`_ [1]_. Zwei Sätze.

.. [1] Eine Note.

- erstens
- zweitens

============ ======
Zelle        2018
============ ======

::

    code bleibt
"""


def _archive(parts: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def _content(body: str, styles: str = "") -> bytes:
    return _archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body>{body}</office:body></office:document-content>",
        }
    )


def _body(content: bytes) -> str:
    return part(content, "content.xml").partition("<office:body>")[2].partition("</office:body>")[0]


def test_a_document_of_another_program_keeps_its_structure() -> None:
    core = pytest.importorskip("docutils.core", reason="needs docutils")
    before = core.publish_string(TEXT, writer="odt", settings_overrides={"report_level": 5})
    assert _tags(translated(".odt", before, same)) == _tags(before)
    found = part(translated(".odt", before), "content.xml")
    text = " ".join(re.sub(r"<[^>]*>", " ", found.partition("<office:body>")[2]).split())
    assert "EIN TITEL" in text
    assert "EIN HUND LÄUFT DURCH DEN SCHNEE" in text
    assert "ERSTENS ZWEITENS ZELLE 2018 code bleibt" in text


def _tags(content: bytes) -> list[str]:
    return re.findall(r"<[^>]*>", _body(content).replace("ns0:", "text:").replace(" />", "/>"))


def test_elements_of_a_paragraph_stay_in_their_places() -> None:
    body = (
        '<text:p text:style-name="P1">ein <text:span text:style-name="T1">Hund</text:span> im'
        '<text:note text:id="n"><text:note-body><text:p>eine Note</text:p></text:note-body></text:note> Park, Seite '
        '<text:page-number>3</text:page-number>.<text:tab/>rechts<text:line-break/>unten'
        '<text:bookmark-start text:name="a"/> und <text:s text:c="2"/>mehr</text:p>'
        "<text:p>zer<text:span text:style-name=\"T2\">schnitten</text:span></text:p>"
    )  # fmt: skip
    styles = (
        '<style:style style:name="T1"><style:text-properties style:x="b"/></style:style><style:style style:name="T2"/>'
    )
    whole = '<text:p>ZER<text:span text:style-name="T2">SCHNITTEN</text:span></text:p>'
    found = _body(translated(".odt", _content(body, styles)))
    expected = re.sub(r">[^<]+<", lambda text: text[0].upper(), body).replace(">3<", ">3<")
    assert found == expected.replace(whole, "<text:p>ZERSCHNITTEN</text:p>")
    found = _body(translated(".odt", _content(body.partition("<text:tab/>")[0] + "</text:p>", styles), reversed_words))
    assert '<text:span text:style-name="T1">Hund</text:span>' in found


def test_raised_and_lowered_text_stays_at_its_word() -> None:
    styles = (
        '<style:style style:name="T1"><!-- x --><style:text-properties style:text-position="super 58%"/></style:style>'
    )
    raised = '<text:span text:style-name="T1">{}</text:span>'.format
    before = f"<text:p>Hund{raised(1)} auf H{raised(2)}O.</text:p>"
    found = _body(translated(".odt", _content(before, styles), upper))
    assert found == before.replace("Hund", "HUND").replace("auf", "AUF")


def test_formulas_comments_deletions_and_code_stay() -> None:
    cells = (
        '<table:table-cell office:value-type="string"><text:p>ab</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string" table:formula="of:=A1"><text:p>ab</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date"><text:p>3. Mai</text:p></table:table-cell>'
        "<text:tracked-changes><text:p>ab</text:p></text:tracked-changes>"
        "<text:p>c<office:annotation><text:p>ab</text:p></office:annotation></text:p>"
        '<text:p text:style-name="Preformatted_20_Text">ab</text:p><text:p text:style-name="P1">ab</text:p>'
    )
    style = '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    expected = cells.replace("<text:p>ab<", "<text:p>AB<", 1).replace("<text:p>c<", "<text:p>C<")
    assert _body(translated(".ods", _content(cells, style))) == expected
    assert open_document(".ods", _content(cells, style), Languages()).is_tracked
    assert not open_document(
        ".ods", _content(cells.replace("tracked-changes", "section"), style), Languages()
    ).is_tracked


def test_encrypted_files_are_refused() -> None:
    manifest = {"META-INF/manifest.xml": "<m><encryption-data/></m>"}
    for content, message in (
        (with_parts(_content("<text:p>a</text:p>"), manifest), "the file is encrypted"),
        (b"\xd0\xcf\x11\xe0", "the file is encrypted, or from before 2007"),
        (b"x", "the file is not an OpenDocument file, or is damaged"),
    ):
        with pytest.raises(InputError, match=message):
            translated(".odt", content)


BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>',
    "OEBPS/a.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>ein Buch</dc:title>'
    '<dc:language>de</dc:language><manifest><item href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item href="toc.ncx" media-type="application/x-dtbncx+xml"/><item href="a.css" media-type="text/css"/></manifest>'
    "</package>",
    "OEBPS/a b.xhtml": '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xml:lang="de"><p>ein <b>Hund</b>'
    '<br/>é</p><img src="x" alt=""/></html>',
    "OEBPS/toc.ncx": '<!DOCTYPE ncx PUBLIC "x" "y"><ncx><navLabel><text>Kapitel &amp; 1</text></navLabel></ncx>',
    "OEBPS/a.css": "p { color: red }",
}


def test_a_book_keeps_its_parts() -> None:
    found = translated(".epub", _archive(BOOK))
    with zipfile.ZipFile(io.BytesIO(found)) as archive:
        assert archive.namelist() == list(BOOK)
    package = BOOK["OEBPS/a.opf"].replace("ein Buch", "EIN BUCH").replace(">de<", ">en<")
    assert part(found, "OEBPS/a.opf") == package
    page = BOOK["OEBPS/a b.xhtml"].replace('"de"', '"en"').replace("ein <b>Hund", "EIN <b>HUND").replace(">é", ">É")
    assert part(found, "OEBPS/a b.xhtml") == page
    assert part(found, "OEBPS/toc.ncx") == BOOK["OEBPS/toc.ncx"].replace("Kapitel", "KAPITEL")
    latin = {"OEBPS/a b.xhtml": '<?xml version="1.0" encoding="iso-8859-1"?><html><p>hund</p></html>'}
    found = translated(".epub", _archive({**BOOK, **latin}), lambda text: "Ö")
    assert part(found, "OEBPS/a b.xhtml") == '<?xml version="1.0" encoding="utf-8"?><html><p>Ö</p></html>'
    hidden = '<e xmlns="x"><CipherReference URI="OEBPS/a%20b.xhtml"/></e>'
    with pytest.raises(InputError, match="the pages of the book are encrypted"):
        translated(".epub", _archive({**BOOK, "META-INF/encryption.xml": hidden}))
