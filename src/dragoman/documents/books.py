"""Electronic books (.epub): their pages, their table of contents, their title."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple
from urllib.parse import unquote

from dragoman.corpora.xml_stream import local_name
from dragoman.documents.archives import Archive
from dragoman.documents.document import Document, Languages, declaring_utf8, texts_alone
from dragoman.documents.pages import translated_attributes, with_attributes, with_language
from dragoman.errors import InputError

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = "application/xhtml+xml"
_CONTENTS = "application/x-dtbncx+xml"
_LABEL = re.compile(r"(?<=<text>)[^<]+(?=</text>)")
_TITLE = re.compile(r"(?P<before><dc:(?:title|description)\b[^>]*>)(?P<text>[^<]+)")
_LANGUAGE = re.compile(r"(?P<before><dc:language\b[^>]*>)[^<]*")


class _PartSpan(NamedTuple):
    """The span of a text, [start, end) in the characters of a part."""

    part: str
    start: int
    end: int


def read_book(content: bytes, languages: Languages) -> Document:
    """Read a book: each page is a text, and so is each entry of the table of contents.

    Raises:
        InputError: it cannot be read, is too large, or its pages are encrypted.
    """
    archive = Archive(content, "an electronic book")
    package = next(
        (str(one.get("full-path")) for one in archive.xml(_CONTAINER).iter() if local_name(one) == "rootfile"), ""
    )
    folder = posixpath.dirname(package)
    kinds = {
        posixpath.normpath(posixpath.join(folder, unquote(one.get("href", "")))): one.get("media-type", "")
        for one in archive.xml(package, ["package"]).iter()
        if local_name(one) == "item"
    }
    if _ENCRYPTION in archive.names:
        hidden = {
            unquote(one.get("URI", ""))
            for one in archive.xml(_ENCRYPTION).iter()
            if local_name(one) == "CipherReference"
        }
        if any(kinds.get(posixpath.normpath(name)) == _PAGES for name in hidden):
            raise InputError("the pages of the book are encrypted; take one without protection")
    texts = {
        name: _decoded(archive.part(name))
        for name in [package, *kinds]
        if name == package or (kinds[name] in (_PAGES, _CONTENTS) and name in archive.names)
    }
    spans = list(_text_spans(texts, package, kinds))
    pages = {name: texts.get(name, "") for name in kinds if kinds[name] == _PAGES}
    # (part, value, line) of each attribute.
    attributes = [(name, *one) for name, page in pages.items() for one in translated_attributes(page).items()]

    def write(translations: list[str]) -> bytes:
        changed: dict[str, list[str]] = {name: [] for name in texts}
        ends = dict.fromkeys(texts, 0)
        for span, translated in zip(spans, translations[: len(spans)], strict=True):
            changed[span.part] += [texts[span.part][ends[span.part] : span.start], translated]
            ends[span.part] = span.end
        parts = {name: "".join([*own, texts[name][ends[name] :]]) for name, own in changed.items()}
        values: dict[str, dict[str, str]] = {}
        for (name, value, _), translated in zip(attributes, translations[len(spans) :], strict=True):
            values.setdefault(name, {})[value] = translated
        parts |= {name: with_attributes(parts[name], own) for name, own in values.items()}
        if languages.target:
            parts[package] = _LANGUAGE.sub(lambda match: match["before"] + languages.target, parts[package])
        return archive.written({name: with_language(part, languages).encode() for name, part in parts.items()})

    return Document(
        [
            *(texts[span.part][span.start : span.end] for span in spans),
            *(escape(value) for _, value, _ in attributes),
        ],
        texts_alone(write),
        [*(span.part for span in spans), *(name for name, _, _ in attributes)],
        lines=[
            *(1 + texts[span.part].count("\n", 0, span.start) for span in spans),
            *(line for _, _, line in attributes),
        ],
    )


def _text_spans(texts: dict[str, str], package: str, kinds: dict[str, str]) -> Iterator[_PartSpan]:
    for name, text in texts.items():
        if name == package:
            yield from (_PartSpan(name, *match.span("text")) for match in _TITLE.finditer(text))
        elif kinds[name] == _CONTENTS:
            yield from (_PartSpan(name, *match.span()) for match in _LABEL.finditer(text))
        else:
            yield _PartSpan(name, 0, len(text))


def _decoded(content: bytes) -> str:
    try:
        return declaring_utf8(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("a page of the book is not UTF-8") from None
