"""Web pages (.html)."""

from __future__ import annotations

from dragoman.documents.document import Document, Languages, decoded


def read_page(content: bytes, languages: Languages) -> Document:
    """Read a page, which is one text.

    Raises:
        InputError: it is not UTF-8.
    """
    text, encoding = decoded(content)
    return Document([text], lambda translations: translations[0].encode(encoding))
