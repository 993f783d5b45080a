"""XML in which some elements have changed: all that stands outside of these keeps its characters."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dragoman.documents.archives import parsed
from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class XmlText:
    """A file of XML, of which elements of some names can be changed."""

    def __init__(self, content: bytes, names: Iterable[str]) -> None:
        """Read a file.

        Raises:
            InputError: it is not XML, declares entities, or is not in the encoding that it declares.
        """
        self.root = parsed(content)
        self._names = frozenset(names)
        self._elements = list(self.root.iter(*(f"{{*}}{name}" for name in self._names)))
        declared = self.root.getroottree().docinfo.encoding or "utf-8"
        self._encoding = _MARKS.get(content[:2], declared)
        try:
            self._text = content.decode(self._encoding).encode()
        except (UnicodeDecodeError, LookupError):
            raise InputError(f"the file is not in the encoding that it declares ({declared})") from None

    def written(self, changed: Iterable[Element], attributes: Iterable[tuple[Element, str, str]] = ()) -> bytes:
        """The file with changed elements, none of which stands in another one.

        Args:
            attributes: elements that only get an attribute, with its name and value.
        """
        numbers = {element: number for number, element in enumerate(self._elements)}
        places = self._places()
        edits: list[tuple[int, int, bytes]] = []
        for element in changed:
            start, _, end = places[numbers[element]]
            edits.append((start, end, self._serialised(element)))
        for element, name, value in attributes:
            start, end, _ = places[numbers[element]]
            at = end - (2 if self._text.endswith(b"/>", 0, end) else 1)
            edits.append((at, at, f" {name}={quoteattr(value)}".encode()))
        result: list[bytes] = []
        place = 0
        for start, end, new in sorted(edits):
            result += [self._text[place:start], new]
            place = end
        text = b"".join([*result, self._text[place:]]).decode()
        return text.encode(self._encoding, "xmlcharrefreplace")

    def _places(self) -> list[tuple[int, int, int]]:
        """Where each element begins, where its start tag ends, and where it ends itself."""
        places: list[tuple[int, int, int]] = []
        opened: list[int] = []
        parser = expat.ParserCreate("utf-8")

        def tag_end() -> int:
            tag = _TAG.match(self._text, parser.CurrentByteIndex)
            assert tag is not None
            return tag.end()

        def start(name: str, _: object) -> None:
            if name.rpartition(":")[2] in self._names:
                opened.append(len(places))
                places.append((parser.CurrentByteIndex, tag_end(), -1))

        def end(name: str) -> None:
            if name.rpartition(":")[2] in self._names:
                number = opened.pop()
                begun, behind, _ = places[number]
                places[number] = begun, behind, behind if self._text.endswith(b"/>", 0, behind) else tag_end()

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(self._text, True)
        return places

    def _serialised(self, element: Element) -> bytes:
        """An element with the line breaks of the file, without the namespaces that are declared around it."""
        from lxml import etree

        text: str = etree.tostring(element, encoding="unicode", with_tail=False)
        above = element.getparent()
        tag, rest = text[: text.index(">")], text[text.index(">") :]
        for prefix, address in () if above is None else above.nsmap.items():
            tag = tag.replace(f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(address)}", "", 1)
        text = tag + rest
        return (text.replace("\n", "\r\n") if b"\r\n" in self._text else text).encode()
