"""The table of kinds."""

from __future__ import annotations

import pytest

from dragoman.documents.document import Languages
from dragoman.documents.files import KINDS, open_document
from dragoman.documents.markup import lines_of_sentences
from dragoman.text.document_names import DOCUMENTS, document_kind, is_document


def test_every_name_of_a_document_has_its_reader() -> None:
    assert sorted(KINDS) == sorted(DOCUMENTS)
    assert document_kind("a/b.DOCX") == ".docx"
    assert document_kind("values/strings.xml") == "strings.xml"
    assert not is_document("a.xml")
    assert not is_document("a.de")


def test_texts_say_where_they_stand() -> None:
    pytest.importorskip("polib", reason="needs polib")
    pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    unit = '<trans-unit id="7"><source>b</source></trans-unit>'
    xliff = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">{unit}</xliff>'
    for kind, text, expected in (
        (".srt", "1\n00:01 --> 00:02\nA.\n\n2\n00:03 --> 00:04\nB.\n", ["line 3", "line 7"]),
        (".srt", "1\r00:01 --> 00:02\rA.\r\r2\r\n00:03 --> 00:04\r\nB.\r\n", ["line 3", "line 7"]),
        (".md", "# a\n\nb\nc\n\n> d", ["line 1", "line 3", "line 6"]),
        (".yaml", "x: a\ny:\n  - b\n", ["line 1", "line 3"]),
        (".po", '#: x\nmsgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n', ["line 1", "line 5"]),
        (".xliff", xliff, ["unit 7"]),
        (".html", "<p>a", [""]),
    ):
        document = open_document(kind, text.encode(), Languages())
        assert (kind, document.places) == (kind, expected)
        assert len(document.texts) == len(expected)
    page = "<!-- a\n-->\n<p>One. Two\nand <b>\nmore</b>. Three.\n<p>2018\n<p>Four."
    assert lines_of_sentences(page, "en", separate=False) == [3, 3, 5, 7]
    page = '<p>One <a\nhref="x">two</a>. Three <code>ab\ncd</code>.<!--\n--> Four.\n<p>Five.'
    assert lines_of_sentences(page, "en", separate=False) == [1, 2, 4, 5]
