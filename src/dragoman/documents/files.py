"""Documents of all kinds: their texts, and the same documents with translations in the place of the texts.

Each kind has a function that reads the content of a file. It returns the texts as HTML, and a function that writes the
file with other texts; nothing else changes. As all texts are HTML, `markup` finds the sentences of all kinds and puts
inline elements around the words that translate theirs.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

from dragoman.documents.document import Document, Languages, RatedText, decoded
from dragoman.errors import InputError

MAX_FILE_TEXTS = 20_000
"""Texts of a file of a request: paragraphs or cues."""

KINDS = {
    ".docx": "office:read_word_file",
    ".epub": "books:read_book",
    ".htm": "pages:read_page",
    ".html": "pages:read_page",
    ".json": "resources:read_json",
    ".md": "markdown:read_markdown",
    ".mqxliff": "translation_units:read_xliff",
    ".odp": "open_document:read_open_document",
    ".ods": "open_document:read_open_document",
    ".odt": "open_document:read_open_document",
    ".po": "catalogues:read_catalogue",
    ".pptx": "office:read_presentation",
    ".properties": "resources:read_properties",
    ".resx": "resources:read_resx",
    ".sdlxliff": "translation_units:read_xliff",
    ".srt": "subtitles:read_srt",
    ".strings": "resources:read_apple_strings",
    ".tmx": "translation_units:read_memory",
    ".vtt": "subtitles:read_vtt",
    ".xlf": "translation_units:read_xliff",
    ".xliff": "translation_units:read_xliff",
    ".xlsx": "office:read_spreadsheet",
    ".yaml": "resources:read_yaml",
    ".yml": "resources:read_yaml",
    "strings.xml": "resources:read_android_strings",
}
"""The kinds of documents, as `text.document_names.document_kind` names them -> the MODULE:FUNCTION that reads it."""

_NEEDED = {
    "books": "lxml",
    "catalogues": "polib",
    "markdown": "markdown_it",
    "office": "lxml",
    "open_document": "lxml",
    "translation_units": "lxml",
}
"""The library of the extra `files` that a module needs to read its documents."""


def supported_kinds() -> list[str]:
    """The kinds of documents whose library is installed."""
    needed = {suffix: _NEEDED.get(reader.partition(":")[0]) for suffix, reader in KINDS.items()}
    return [suffix for suffix, library in needed.items() if library is None or importlib.util.find_spec(library)]


def open_document(kind: str, content: bytes, languages: Languages) -> Document:
    """Read a document.

    Args:
        kind: one of `KINDS`.

    Raises:
        InputError: it is damaged, encrypted, or too large.
        ModuleNotFoundError: the library that reads it, of the extra `files`, is not installed.
    """
    module, _, name = KINDS[kind].partition(":")
    read: Callable[[bytes, Languages], Document] = getattr(
        importlib.import_module(f"dragoman.documents.{module}"), name
    )
    return read(content, languages)


def file_texts(suffix: str, content: bytes, most_texts: int, most_characters: int, languages: Languages) -> list[str]:
    """The texts of a file of a request, as HTML unless it is plain text.

    Raises:
        InputError: the file is damaged, or has too many texts or characters.
    """
    texts = [decoded(content)[0]] if suffix == ".txt" else open_document(suffix, content, languages).texts
    require_limits(texts, most_texts, most_characters)
    return texts


def require_limits(texts: list[str], most_texts: int, most_characters: int) -> None:
    """Refuse too many texts or characters of a request.

    Raises:
        InputError: there are too many.
    """
    for size, limit in ((len(texts), most_texts), (sum(map(len, texts)), most_characters)):
        if size > limit:
            raise InputError(f"request ({size}) exceeds text limit ({limit})")


def translated_file(suffix: str, content: bytes, translations: list[RatedText], languages: Languages) -> bytes:
    """The file of a request with translations of its texts in their place.

    Raises:
        InputError: the file is damaged.
    """
    if suffix == ".txt":
        [(text, *_)] = translations
        return text.encode()
    return open_document(suffix, content, languages).write(translations)
