"""Files of OpenDocument (.odt, .odp, .ods): paragraphs and headings on their XML.

Notes, pictures, bookmarks and comments stay beside their words; what the program computes, such as page numbers, stays.
Tabs and line breaks divide a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dragoman.corpora.xml_stream import local_name
from dragoman.documents.archives import Archive
from dragoman.documents.document import Document, Languages, texts_alone
from dragoman.documents.mixed import MixedText, Role
from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _OFFICE, _STYLE = (f"{_OASIS}{name}:1.0}}" for name in ("text", "table", "office", "style"))
_DC = "{http://purl.org/dc/elements/1.1/}"
_MANIFEST = "META-INF/manifest.xml"
_WRAPPERS = frozenset(f"{_TEXT}{name}" for name in ("span", "a", "meta", "meta-field"))
_BREAKS = frozenset(f"{_TEXT}{name}" for name in ("tab", "line-break"))
_NO_WORDS = frozenset(("note", "s", "soft-page-break", "annotation", "annotation-end", "frame", "ruby"))
_TRACKED = f"{_TEXT}tracked-changes"
_UNTRANSLATED = frozenset((f"{_OFFICE}annotation", _TRACKED))
_CODE = re.compile(r"preformatted(_20_)?text|source(_20_)?(code|text)|(\w+-)?codeblock", re.IGNORECASE)


def read_open_document(content: bytes, languages: Languages) -> Document:
    """Read a text, presentation or spreadsheet: paragraphs, headings, tables, notes, headers and footers, the title.

    Results of formulas, comments and deleted text stay.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    archive = Archive(content, "an OpenDocument file")
    if _MANIFEST in archive.names and b"encryption-data" in archive.part(_MANIFEST):
        raise InputError("the file is encrypted; save it without a password")
    roots = {"content.xml": archive.xml("content.xml", ["document-content"])}
    for name in ("styles.xml", "meta.xml"):
        if name in archive.names:
            roots[name] = archive.xml(name)
    paragraphs: list[tuple[str, MixedText]] = []
    places: list[str] = []
    try:
        for name, root in roots.items():
            styles = _Styles(root)
            kinds = (f"{_TEXT}p", f"{_TEXT}h", f"{_DC}title", f"{_DC}subject")
            for number, element in enumerate(root.iter(*kinds), 1):
                if _is_translated(element) and not styles.is_code(element):
                    text = MixedText(element, styles.role)
                    if text.inline.has_words:
                        paragraphs.append((name, text))
                        places.append(f"{name}, paragraph {number}")
    except RecursionError:
        raise InputError("the file is nested too deeply") from None

    def write(translations: list[str]) -> bytes:
        for (_, text), translated in zip(paragraphs, translations, strict=True):
            text.write(translated)
            text.element.getparent().attrib.pop(f"{_OFFICE}string-value", None)
        return archive.written({name: roots[name] for name, _ in paragraphs})

    texts = [text.inline.markup for _, text in paragraphs]
    is_tracked = any(len(changes) for changes in roots["content.xml"].iter(_TRACKED))
    return Document(texts, texts_alone(write), places, is_tracked=is_tracked)


def _is_translated(element: Element) -> bool:
    """Whether a paragraph is text of the document: no comment, no deleted text, no result or value of a cell."""
    for above in element.iterancestors():
        if above.tag in _UNTRANSLATED:
            return False
        if above.tag == f"{_TABLE}table-cell":
            is_text = above.get(f"{_OFFICE}value-type", "string") == "string"
            return is_text and above.get(f"{_TABLE}formula") is None
    return True


class _Styles:
    """The automatic styles of a part."""

    def __init__(self, root: Element) -> None:
        self._code: set[str] = set()
        self._plain: set[str] = set()
        """Styles of text without any property, which programs use to note when text was written."""
        self._indices: set[str] = set()
        for style in root.iter(f"{_STYLE}style"):
            name, above = style.get(f"{_STYLE}name", ""), style.get(f"{_STYLE}parent-style-name", "")
            if _CODE.fullmatch(above):
                self._code.add(name)
            properties = [key for one in style for key in one.attrib if not key.startswith("{http://openoffice.org")]
            position = " ".join(one.get(f"{_STYLE}text-position") or "" for one in style).split()
            if position and position[0] not in ("0", "0%"):
                self._indices.add(name)
            if not above and not properties and not any(len(one) for one in style):
                self._plain.add(name)

    def is_code(self, paragraph: Element) -> bool:
        """Whether a paragraph has code."""
        style = paragraph.get(f"{_TEXT}style-name", "")
        return style in self._code or bool(_CODE.fullmatch(style))

    def role(self, element: Element) -> Role:
        """What an element of a paragraph is."""
        if element.tag == f"{_TEXT}span" and element.get(f"{_TEXT}style-name") in self._plain:
            return "transparent"
        if element.tag == f"{_TEXT}span" and element.get(f"{_TEXT}style-name") in self._indices:
            return "index"
        if element.tag in _WRAPPERS:
            return "wrapper"
        if element.tag in _BREAKS:
            return "break"
        return "word" if element.tag.startswith(_TEXT) and local_name(element) not in _NO_WORDS else "leaf"
