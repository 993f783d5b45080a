"""Translators of tests: every word stays, in its place, or is written in upper case."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

from dragoman.documents.document import Languages, RatedText
from dragoman.documents.files import open_document
from dragoman.documents.html_text import Xml, spans_of_words
from dragoman.documents.markup import markup_sentences, translated_markup
from dragoman.documents.rendering import AlignedTranslation
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.sentences import Span

Change = Callable[[str], str]


def same(text: str) -> str:
    """The text."""
    return text


def upper(text: str) -> str:
    """The text in upper case, letter by letter."""
    return "".join(one.upper() if len(one.upper()) == 1 else one for one in text)


def reversed_words(text: str) -> str:
    """The words in the opposite order; a full stop stays at the end."""
    words = text.rstrip(".").split()
    return " ".join(reversed(words)) + ("." if text.endswith(".") else "")


def aligned_as(sentence: str, change: Change) -> AlignedTranslation:
    """A sentence as its own translation, word by word."""
    text = change(" ".join(sentence.split()))
    source, target = _units(sentence), _units(text)
    links: list[int | None] = [number if number < len(source) else None for number in range(len(target))]
    if change is reversed_words:
        links.reverse()
    return AlignedTranslation(text, source, target, links)


def _units(text: str) -> list[Span]:
    """Words, or the characters of a text without spaces."""
    if LETTER_WITHOUT_SPACES.search(text):
        return [found.span() for found in re.finditer(r"[^\W\d_]|\d+", text)]
    return list(spans_of_words(text))


def translated_html(text: str, change: Change = upper, language: str = "de", xml: Xml | None = None) -> str:
    """HTML with its sentences changed."""
    sentences = markup_sentences([text], language, False, 10**6, xml)
    return translated_markup([text], language, False, [aligned_as(one, change) for one in sentences], xml)[0].text


def translated(
    suffix: str,
    content: bytes,
    change: Change = upper,
    language: str = "de",
    target: str = "en",
    confidence: float | None = None,
) -> bytes:
    """A document with its sentences changed."""
    document = open_document(suffix, content, Languages(language, target))
    translations = [RatedText(translated_html(text, change, language), confidence) for text in document.texts]
    return document.write(translations)


def part(content: bytes, name: str) -> str:
    """A part of an archive as text."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name).decode()


def with_parts(content: bytes, parts: dict[str, str | bytes]) -> bytes:
    """An archive with some parts replaced or added."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename not in parts:
                new.writestr(info, old.read(info))
        for name, text in parts.items():
            new.writestr(name, text)
    return result.getvalue()
