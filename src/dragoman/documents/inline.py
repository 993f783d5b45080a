"""What is inside of a paragraph, as HTML: elements are put around the words that translate theirs, as in a page.

Each element has a number, by which it is found again in the translation.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from dragoman.text.raw_lines import has_letter

Kind = Literal["text", "open", "close", "leaf"]
_TAG = re.compile(r"<(?P<end>/?)(?:(?P<name>[gkx])|br n=)(?P<number>\d+)[^<>]*>|(?P<text>[^<]+)")
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot have."""


class Piece(NamedTuple):
    """A part of a translated paragraph, in order."""

    kind: Kind
    thing: Any
    """The text, or what was given for the element."""


class Inline:
    """The text of a paragraph with its elements, built in order."""

    def __init__(self) -> None:
        self._markup: list[str] = []
        self._things: list[Any] = []
        self.has_words = False
        """Whether there is a letter to translate."""

    @property
    def markup(self) -> str:
        """The paragraph as HTML."""
        return "".join(self._markup)

    def text(self, text: str) -> None:
        """Add text that is translated."""
        self.has_words = self.has_words or has_letter(text)
        self._markup.append(html.escape(text, quote=False))

    def open(self, thing: Any) -> int:
        """Begin an element; its number ends it."""
        self._markup.append(f"<g{self._number(thing)}>")
        return len(self._things) - 1

    def close(self, number: int) -> None:
        """End an element."""
        self._markup.append(f"</g{number}>")

    def leaf(self, thing: Any, words: str = "") -> None:
        """Add an element that is not translated; its words, if it has any, are a part of the sentence."""
        number = self._number(thing)
        self._markup.append(f'<k{number} translate="no">{html.escape(words)}</k{number}>' if words else f"<x{number}/>")

    def divide(self, thing: Any) -> None:
        """Add an element that ends a text, such as a line break or a tab."""
        self._markup.append(f"<br n={self._number(thing)}>")

    def _number(self, thing: Any) -> int:
        self._things.append(thing)
        return len(self._things) - 1

    def pieces(self, translated: str) -> Iterator[Piece]:
        """The parts of a translated paragraph; leaves come once each, also those that the translation has lost."""
        left = {int(number) for number in re.findall(r"<(?:[kx]|br n=)(\d+)", self.markup)}
        inside = None
        for found in _TAG.finditer(translated):
            number = int(found["number"] or 0)
            if inside is not None:
                inside = None if found["end"] and found["name"] == "k" and number == inside else inside
            elif found["text"] is not None:
                text = NOT_XML.sub("", html.unescape(found["text"]))
                if text:
                    yield Piece("text", text)
            elif found["name"] == "g":
                yield Piece("close" if found["end"] else "open", self._things[number])
            else:
                inside = number if found["name"] == "k" else None
                if number in left:
                    left.remove(number)
                    yield Piece("leaf", self._things[number])
        for number in sorted(left):
            yield Piece("leaf", self._things[number])
