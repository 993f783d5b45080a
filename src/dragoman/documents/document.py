"""What all kinds of documents have in common."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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

    texts_before: int
    """Texts without a translation that stand before it in the file."""
    source: str
    target: str
    fuzzy: bool
    """Whether somebody has to look at its translation; corpora leave such units out. A fuzzy plural of a catalogue is a
    unit for each of its forms, which may be empty."""


class RatedText(NamedTuple):
    """A translated text."""

    text: str
    """As HTML."""
    confidence: float | None
    """The confidence of its worst sentence, from 0 to 1; None where it is not known."""
    matches: Sequence[MemoryMatch] = ()
    """Near matches of the translation memory, best first, if the text is one sentence. If the first has score 1, it is
    the translation."""


class Review(NamedTuple):
    """What a person has made of the translation of a fuzzy unit."""

    target: str
    confirmed: bool
    """Whether the unit is no longer fuzzy."""


class Units(NamedTuple):
    """What a file of translators has besides its texts."""

    done: list[DoneUnit]
    write: Callable[[list[RatedText], Collection[int], Mapping[int, Review]], bytes]
    """As `Document.write`; it also takes the numbers of the texts whose translations a person has confirmed, and the
    reviews of fuzzy units by their index in `done`. A unit with an empty translation stays without one."""


class Document(NamedTuple):
    """The translatable texts of a file."""

    texts: list[str]
    """As HTML, in the order of the file."""
    write: Callable[[list[RatedText]], bytes]
    """Returns the file with translations, one for each text, in the place of the texts."""
    places: list[str]
    """Where each text stands in the file, for messages."""
    units: Units | None = None
    """Only of a file of translators."""
    lines: list[int] | None = None
    """The line of the file in which each text begins, from 1; only where texts have several lines."""
    untranslated: Sequence[str] = ()
    """For messages: where texts stand that stay as they are, because a translation cannot be put there."""
    declared: Languages = Languages()
    """The languages that a file of translators names; "" where it names none."""
    is_tracked: bool = False
    """Whether the document has tracked changes: insertions are translated, deleted text stays."""


def texts_alone(write: Callable[[list[str]], bytes]) -> Callable[[list[RatedText]], bytes]:
    """`Document.write` of kinds that have no room for a confidence."""
    return lambda translations: write([one.text for one in translations])


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding in which it is written again.

    Raises:
        InputError: the file is neither UTF-8 nor UTF-16.
    """
    marked = content.startswith(codecs.BOM_UTF8)
    encoding = "utf-8-sig" if marked else wide_encoding(content[:4096]) or "utf-8"
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8") from None


def declaring_utf8(xml: str) -> str:
    """The text of XML in UTF-8, whose declaration says so: what is written may not be in the encoding that it named."""
    return _ENCODING.sub(r"\g<1>utf-8", xml, count=1)


def line_places(text: str, starts: Iterable[int]) -> list[str]:
    """The lines of these positions in a text, for messages; `starts` must be in order."""
    places: list[str] = []
    line, position = 1, 0
    for start in starts:
        line += (
            text.count("\n", position, start) + text.count("\r", position, start) - text.count("\r\n", position, start)
        )
        position = start
        places.append(f"line {line}")
    return places


_ENCODING = re.compile(r"""\A(<\?xml\b[^>]*?\bencoding\s*=\s*["'])(?!utf-?8["'])[\w:.-]+""", re.IGNORECASE)
CASES = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
"""Begins a message of ICU with cases, whose keywords are no words: such texts stay as they are."""
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BREAKS = {"\n": "<br data-line>", "\r": "<br data-return>", "\t": "<br data-tab>"}
"""What stands for line breaks and tabs, which divide a text: in menus, keys stand behind a tab."""
_SHOWN = str.maketrans({"<": "&lt;", ">": "&gt;", **_BREAKS})
"""Characters between tags as HTML."""


def as_html(text: str) -> str:
    """Text of a program or a cell as HTML: its tags stay tags, its line breaks and tabs divide it."""
    escaped = text.replace("&", "&amp;")
    tags = [*_TAG.findall(escaped), ""]
    shown = (piece.translate(_SHOWN) for piece in _TAG.split(escaped))
    return "".join(piece + tag for piece, tag in zip(shown, tags, strict=True))


def as_text(markup: str) -> str:
    """The text of translated HTML that `as_html` made."""
    for sign, written in _BREAKS.items():
        markup = markup.replace(written, sign)
    return html.unescape(markup)


def remark(confidence: float) -> str:
    """What a file says about a machine translation."""
    return f"machine translation, confidence {confidence:.2f}"


REMARK = re.compile(r"machine translation, confidence \d\.\d\d")
"""What `remark` returns."""
