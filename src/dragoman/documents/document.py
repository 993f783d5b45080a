"""What all kinds of documents have in common."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from dragoman.errors import InputError
from dragoman.text.lines import wide_encoding
from dragoman.translation_memory.memory import MemoryMatch


class Languages(NamedTuple):
    """The codes of the languages between which a document is translated; empty where they are not known."""

    source: str = ""
    target: str = ""


class DoneUnit(NamedTuple):
    """A unit of a file of translators that has a translation."""

    place: int
    """The number of texts before it that have none."""
    source: str
    target: str


class RatedText(NamedTuple):
    """A translated text."""

    text: str
    """As HTML."""
    confidence: float | None
    """How far it can be trusted, from 0 to 1: that of its worst sentence; None where that is not known."""
    matches: Sequence[MemoryMatch] = ()
    """Pairs of the translation memory that are like it, best first, if it is one sentence; the first is its translation
    if the score is 1."""


class Units(NamedTuple):
    """What a file of translators has besides its texts."""

    done: list[DoneUnit]
    write: Callable[[list[RatedText], Collection[int]], bytes]
    """As that of a document, with the numbers of the texts whose translations a person has confirmed. A unit whose
    translation is empty stays without one."""


class Document(NamedTuple):
    """What is translated of a file."""

    texts: list[str]
    """As HTML, in the order of the file."""
    write: Callable[[list[RatedText]], bytes]
    """The file with as many translated texts in their place."""
    places: list[str]
    """Where each text stands in the file, for messages."""
    units: Units | None = None
    """Only of a file of translators."""
    lines: list[int] | None = None
    """Where texts have several lines, that of the file in which each begins, from 1."""
    untranslated: Sequence[str] = ()
    """Where other texts stand, which stay as they are because they cannot be put back, for messages."""
    declared: Languages = Languages()
    """The languages that a file of translators names; "" where it names none."""
    is_tracked: bool = False
    """Whether the document has tracked changes: insertions are translated, deleted text stays."""


def texts_alone(write: Callable[[list[str]], bytes]) -> Callable[[list[RatedText]], bytes]:
    """`Document.write` of kinds that do not say how far a translation can be trusted."""
    return lambda translations: write([one.text for one in translations])


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding in which it is written again.

    Raises:
        InputError: it is neither UTF-8 nor UTF-16.
    """
    marked = content.startswith(codecs.BOM_UTF8)
    encoding = "utf-8-sig" if marked else wide_encoding(content[:4096]) or "utf-8"
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8") from None


def line_places(text: str, starts: Iterable[int]) -> list[str]:
    """For messages, the lines in which these places of a text stand; they are in order."""
    found: list[str] = []
    line, place = 1, 0
    for start in starts:
        line += text.count("\n", place, start) + text.count("\r", place, start) - text.count("\r\n", place, start)
        place = start
        found.append(f"line {line}")
    return found


_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BREAKS = {"\n": "<br data-line>", "\t": "<br data-tab>"}
"""What stands for line breaks and tabs, which divide a text: in menus, keys stand behind a tab."""


def as_html(text: str) -> str:
    """Text of a program or a cell, in which there may be tags, as HTML whose line breaks and tabs divide it."""
    escaped = text.replace("&", "&amp;")
    pieces = _TAG.split(escaped)
    tags = [*_TAG.findall(escaped), ""]
    shown = (piece.replace("<", "&lt;").replace(">", "&gt;") for piece in pieces)
    markup = "".join(piece + tag for piece, tag in zip(shown, tags, strict=True))
    for sign, written in _BREAKS.items():
        markup = markup.replace(sign, written)
    return markup


def as_text(markup: str) -> str:
    """The text of translated HTML that `as_html` made."""
    for sign, written in _BREAKS.items():
        markup = markup.replace(written, sign)
    return html.unescape(markup)


def remark(confidence: float) -> str:
    """What a file says about a machine translation."""
    return f"machine translation, confidence {confidence:.2f}"
