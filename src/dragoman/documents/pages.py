"""Web pages (.html): in the encoding that they declare, with the language that they declare."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Mapping

from dragoman.documents.document import Document, Languages, decoded, texts_alone
from dragoman.documents.html_text import attribute_values, unescaped
from dragoman.errors import InputError
from dragoman.text.languages import base_language
from dragoman.text.raw_lines import has_letter

_DECLARED = re.compile(
    rb"""<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE
)
_ATTRIBUTES = frozenset(("alt", "aria-label", "placeholder", "title"))
"""Attributes that readers see or hear."""
_LOOKED_AT = 4096
"""Bytes in which a page declares its encoding; browsers look at 1,024."""
_READ_AS = {
    **dict.fromkeys(("iso8859-1", "ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""What browsers read encodings as: larger ones."""
_ROOT = re.compile(r"<html\b[^>]*>", re.IGNORECASE)
_LANGUAGE = re.compile(r"""(?P<name>[ \t\n\r\f](?:xml:)?lang\s*=\s*)(?P<quote>["']?)(?P<code>[\w-]+)""", re.IGNORECASE)


def read_page(content: bytes, languages: Languages) -> Document:
    """Read a page: the page is a text, and so is each attribute that its readers see.

    Raises:
        InputError: the page is not in the encoding that it declares, or declares none and is not UTF-8.
    """
    text, encoding = _text(content)
    attributes = translated_attributes(text)

    def write(translations: list[str]) -> bytes:
        page = with_attributes(translations[0], dict(zip(attributes, translations[1:], strict=True)))
        return with_language(page, languages).encode(encoding, "xmlcharrefreplace")

    return Document(
        [text, *map(html.escape, attributes)],
        texts_alone(write),
        [""] * (1 + len(attributes)),
        lines=[1, *attributes.values()],
    )


def translated_attributes(page: str) -> dict[str, int]:
    """The values of attributes that readers see -> the line of the first attribute with this value."""
    lines: dict[str, int] = {}
    line, position = 1, 0
    for start, end in attribute_values(page, _ATTRIBUTES):
        line += page.count("\n", position, start)
        position = start
        value = unescaped(page[start:end])
        if has_letter(value):
            lines.setdefault(value, line)
    return lines


def with_attributes(page: str, translations: Mapping[str, str]) -> str:
    """A page with translated values of its attributes; `translations` maps values to HTML."""
    pieces: list[str] = []
    position = 0
    for start, end in attribute_values(page, _ATTRIBUTES):
        translated = translations.get(unescaped(page[start:end]))
        if translated is not None and unescaped(translated) != unescaped(page[start:end]):
            quote = "" if page[start - 1] in "\"'" else '"'  # a value without quotes may have got spaces
            pieces += [page[position:start], quote, html.escape(unescaped(translated)), quote]
            position = end
    return "".join([*pieces, page[position:]])


def _text(content: bytes) -> tuple[str, str]:
    """A page, and the encoding in which it is written again."""
    declared = _DECLARED.search(content[:_LOOKED_AT])
    label = "" if declared is None else declared[1].decode("ascii")
    encoding = _codec(label)
    if content.isascii() and encoding is not None:  # the translation may not be ASCII
        return content.decode("ascii"), encoding
    try:
        return decoded(content)
    except InputError:
        if not label:
            raise
    try:
        if encoding is not None:
            return content.decode(encoding), encoding
    except UnicodeDecodeError:
        pass
    raise InputError(f"the file is not UTF-8, nor in the encoding that it declares ({label})")


def _codec(name: str) -> str | None:
    """Python's name of an encoding, if it is a known encoding of text."""
    try:
        codec = codecs.lookup(name).name
        "a".encode(codec)
    except (LookupError, UnicodeError):
        return None
    return _READ_AS.get(codec, codec)


def with_language(page: str, languages: Languages) -> str:
    """A page whose outermost element declares the target language instead of the source language."""
    root = _ROOT.search(page)
    if root is None or not languages.target:
        return page

    def replaced(attribute: re.Match[str]) -> str:
        if languages.source and base_language(attribute["code"]).lower() != base_language(languages.source):
            return attribute[0]
        return f"{attribute['name']}{attribute['quote']}{languages.target}"

    return page[: root.start()] + _LANGUAGE.sub(replaced, root[0]) + page[root.end() :]
