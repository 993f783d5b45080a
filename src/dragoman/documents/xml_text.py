"""Write XML with some changed elements; everything else keeps its characters."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from dragoman.documents.archives import parsed
from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class _Span(NamedTuple):
    """The span of a node, in bytes."""

    start: int
    inside: int
    """Where its content begins."""
    outside: int
    """Where its content ends."""
    end: int


class _Fragment:
    """XML of one element within another one, with the spans of all nodes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        root = parsed(content)
        self.element: Element = root[0]
        self._spans = dict(zip(root.iter(), self._node_spans(), strict=True))

    def _node_spans(self) -> list[_Span]:
        """The spans of all nodes, in their order."""
        content = self._content
        spans: list[_Span] = []
        opened: list[int] = []
        parser = expat.ParserCreate("utf-8")

        def start(*_: object) -> None:
            tag = _TAG.match(content, parser.CurrentByteIndex)
            assert tag is not None
            opened.append(len(spans))
            spans.append(_Span(*tag.span(), -1, -1))

        def end(_: str) -> None:
            number = opened.pop()
            begun, inside = spans[number][:2]
            if content.endswith(b"/>", begun, inside):
                spans[number] = _Span(begun, inside, inside, inside)
            else:
                outside = parser.CurrentByteIndex
                spans[number] = _Span(begun, inside, outside, content.index(b">", outside) + 1)

        def other(mark: bytes) -> Callable[..., None]:
            def note(*_: object) -> None:
                begin = parser.CurrentByteIndex
                behind = content.index(mark, begin) + len(mark)
                spans.append(_Span(begin, behind, behind, behind))

            return note

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CommentHandler, parser.ProcessingInstructionHandler = other(b"-->"), other(b"?>")
        parser.Parse(content, True)
        return spans

    def merged(self, new: Element, serialised: Callable[[Element], bytes]) -> bytes:
        """A changed element, written as it is here except where it differs."""
        return self._node(new, self.element, serialised)

    def _node(self, new: Element, old: Element, serialised: Callable[[Element], bytes]) -> bytes:
        span, content = self._spans[old], self._content
        if _equal(new, old):
            return content[span.start : span.end]
        if new.tag != old.tag or not isinstance(new.tag, str):
            return serialised(new)
        head = content[span.start : span.inside]
        if list(new.attrib.items()) != list(old.attrib.items()):
            tag = _TAG.match(serialised(new))
            assert tag is not None
            head = tag[0]
        name = re.split(rb"[\s/>]", head[1:], maxsplit=1)[0]
        children = list(old)
        ends = [*(self._spans[child].start for child in children), span.outside]
        parts = [content[span.inside : ends[0]] if new.text == old.text else self._text(new.text)]
        at = 0
        for child in new:
            index = next((number for number in range(at, len(children)) if _alike(child, children[number])), None)
            if index is None:
                parts += [serialised(child), self._text(child.tail)]
                continue
            at = index + 1
            same = child.tail == children[index].tail
            behind = content[self._spans[children[index]].end : ends[at]] if same else self._text(child.tail)
            parts += [self._node(child, children[index], serialised), behind]
        inside = b"".join(parts)
        if head.endswith(b"/>"):
            if not inside:
                return head
            head = head.removesuffix(b"/>").rstrip() + b">"
        return b"".join([head, inside, b"</", name, b">"])

    def _text(self, text: str | None) -> bytes:
        """Text with the line breaks that stand here."""
        written = escape(text or "", {"\r": "&#13;"})
        return (written.replace("\n", "\r\n") if b"\r\n" in self._content else written).encode()


def _alike(one: Element, other: Element) -> bool:
    """Whether a node can be another one that has changed."""
    return one.tag == other.tag and all(one.get(name) == other.get(name) for name in ("id", "mid"))


def _equal(one: Element, other: Element) -> bool:
    """Whether two nodes are equal, apart from their tails."""
    return (
        one.tag == other.tag
        and (one.text or "") == (other.text or "")
        and list(one.attrib.items()) == list(other.attrib.items())
        and len(one) == len(other)
        and all((own.tail or "") == (its.tail or "") and _equal(own, its) for own, its in zip(one, other, strict=True))
    )


class XmlText:
    """An XML file in which elements of some names can be changed."""

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
        self._wide_breaks = b"\r\n" in self._text

    def written(self, changed: Iterable[Element], attributes: Iterable[tuple[Element, str, str]] = ()) -> bytes:
        """The file with changed elements, which must not be nested.

        Args:
            attributes: elements that only get an attribute, with its name and value.
        """
        numbers = {element: number for number, element in enumerate(self._elements)}
        spans = self._element_spans()
        edits: list[tuple[int, int, bytes]] = []
        for element in changed:
            start, _, end = spans[numbers[element]]
            edits.append((start, end, self._merged(element, self._text[start:end])))
        for element, name, value in attributes:
            start, end, _ = spans[numbers[element]]
            at = end - (2 if self._text.endswith(b"/>", 0, end) else 1)
            edits.append((at, at, f" {name}={quoteattr(value)}".encode()))
        result: list[bytes] = []
        position = 0
        for start, end, new in sorted(edits):
            result += [self._text[position:start], new]
            position = end
        text = b"".join([*result, self._text[position:]]).decode()
        return text.encode(self._encoding, "xmlcharrefreplace")

    def _element_spans(self) -> list[tuple[int, int, int]]:
        """Where each element begins, where its start tag ends, and where it ends itself."""
        spans: list[tuple[int, int, int]] = []
        opened: list[int] = []
        parser = expat.ParserCreate("utf-8")

        def tag_end() -> int:
            tag = _TAG.match(self._text, parser.CurrentByteIndex)
            assert tag is not None
            return tag.end()

        def start(name: str, _: object) -> None:
            if name.rpartition(":")[2] in self._names:
                opened.append(len(spans))
                spans.append((parser.CurrentByteIndex, tag_end(), -1))

        def end(name: str) -> None:
            if name.rpartition(":")[2] in self._names:
                number = opened.pop()
                begun, behind, _ = spans[number]
                spans[number] = begun, behind, behind if self._text.endswith(b"/>", 0, behind) else tag_end()

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(self._text, True)
        return spans

    def _merged(self, element: Element, before: bytes) -> bytes:
        """A changed element that keeps the characters of all that has not changed in it."""
        above = element.getparent()
        names = {} if above is None else above.nsmap
        declared = "".join(
            f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(name)}" for prefix, name in names.items()
        )
        fragment = _Fragment(b"<a%s>%s</a>" % (declared.encode(), before))
        result = fragment.merged(element, self._serialised)
        # The merged text must mean the changed element.
        if _equal(_Fragment(b"<a%s>%s</a>" % (declared.encode(), result)).element, element):
            return result
        return self._serialised(element)

    def _serialised(self, element: Element) -> bytes:
        """An element with the line breaks of the file, without the namespaces that are declared around it."""
        from lxml import etree

        text: str = etree.tostring(element, encoding="unicode", with_tail=False)
        above = element.getparent()
        tag, rest = text[: text.index(">")], text[text.index(">") :]
        for prefix, address in () if above is None else above.nsmap.items():
            tag = tag.replace(f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(address)}", "", 1)
        text = tag + rest
        return (text.replace("\n", "\r\n") if self._wide_breaks else text).encode()
