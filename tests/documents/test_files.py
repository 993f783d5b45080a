"""The table of kinds."""

from __future__ import annotations

from dragoman.documents.files import KINDS
from dragoman.text.document_names import DOCUMENTS, document_kind, is_document


def test_every_name_of_a_document_has_its_reader() -> None:
    assert sorted(KINDS) == sorted(DOCUMENTS)
    assert document_kind("a/b.DOCX") == ".docx"
    assert document_kind("values/strings.xml") == "strings.xml"
    assert not is_document("a.xml")
    assert not is_document("a.de")
