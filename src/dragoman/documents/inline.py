"""The content of a paragraph as HTML, so that its elements are put around translated words as in a page.

Each element has a number, which identifies it in the translation.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from dragoman.text.raw_lines import has_letter

Kind = Literal["text", "open", "close", "leaf"]
_TAG = re.compile(r"<(?P<end>/?)(?:(?P<name>[gkx]|sup)|br n=)(?P<number>\d+)[^<>]*>|(?P<text>[^<]+)")
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot have."""


class Piece(NamedTuple):
    """A part of a translated paragraph, in order."""

    kind: Kind
    payload: Any
    """The text, or the object given for the element."""


class Inline:
    """The text of a paragraph with its elements, built in order."""

    def __init__(self) -> None:
        self._markup: list[str] = []
        self._payloads: list[Any] = []
        self._indices: set[int] = set()
        """Numbers of elements that are indices."""
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

    def open(self, payload: Any, *, index: bool = False) -> int:
        """Begin an element, such as an index (raised or lowered text); return the number with which `close` ends it."""
        number = self._number(payload)
        if index:
            self._indices.add(number)
        self._markup.append(f"<{self._name(number)}>")
        return number

    def close(self, number: int) -> None:
        """End an element."""
        self._markup.append(f"</{self._name(number)}>")

    def leaf(self, payload: Any, words: str = "") -> None:
        """Add an element that is not translated; its words, if it has any, are a part of the sentence."""
        number = self._number(payload)
        self._markup.append(f'<k{number} translate="no">{html.escape(words)}</k{number}>' if words else f"<x{number}/>")

    def divide(self, payload: Any) -> None:
        """Add an element that ends a text, such as a line break or a tab."""
        self._markup.append(f"<br n={self._number(payload)}>")

    def _name(self, number: int) -> str:
        return f"sup{number}" if number in self._indices else f"g{number}"

    def _number(self, payload: Any) -> int:
        self._payloads.append(payload)
        return len(self._payloads) - 1

    def pieces(self, translated: str) -> Iterator[Piece]:
        """The parts of a translated paragraph. Each leaf comes once; leaves that the translation lost come last."""
        left = {int(number) for number in re.findall(r"<(?:[kx]|br n=)(\d+)", self.markup)}
        inside = None
        for match in _TAG.finditer(translated):
            number = int(match["number"] or 0)
            if inside is not None:
                inside = None if match["end"] and match["name"] == "k" and number == inside else inside
            elif match["text"] is not None:
                text = NOT_XML.sub("", html.unescape(match["text"]))
                if text:
                    yield Piece("text", text)
            elif match["name"] in ("g", "sup"):
                yield Piece("close" if match["end"] else "open", self._payloads[number])
            else:
                inside = number if match["name"] == "k" else None
                if number in left:
                    left.remove(number)
                    yield Piece("leaf", self._payloads[number])
        for number in sorted(left):
            yield Piece("leaf", self._payloads[number])
