"""HTML as text with marks: what is to be translated, and where tags stand in it.

The document is read by `html.parser` of the standard library. Every character of it is kept: tags, attributes,
comments, scripts and everything else that is not text are never rewritten. Block elements (paragraphs, table cells,
line breaks) end a text; elements inside of one (links, bold type, unknown ones) become marks of it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_BLOCKS_NAMES = (
    "address article aside base blockquote body br button caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend "
    "li link main menu meta nav noframes noscript object ol optgroup option p pre search section select summary table "
    "tbody td template textarea tfoot th thead title tr track ul video audio source"
)
BLOCKS = frozenset(_BLOCKS_NAMES.split())
"""Elements that end a text."""
_VOID_NAMES = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(_VOID_NAMES.split())
"""Elements without content."""
OPAQUE = frozenset(("script", "style", "svg", "math"))
"""Elements whose content is not text."""
MAX_ELEMENTS = 1000
"""Elements of one text; where there are more, tags end it."""
_SPACE = " \t\n\r\f"


@dataclass(eq=False)
class Element:
    """An element inside a text, [start, end) in its characters."""

    start: int
    end: int
    open: str
    """Its tag as it is written in the document."""
    order: int
    """Of the tag among all tags of the text."""
    close: str = ""
    close_order: int = 0
    kept: str | None = None
    """The whole element with its content, if that must not be translated."""


@dataclass
class Text:
    """Text between two block tags."""

    text: str = ""
    """White space is collapsed, and entities are characters."""
    raw: list[str] = field(default_factory=list)
    """Each character of `text` as it is written in the document."""
    elements: list[Element] = field(default_factory=list)
    """In the order in which they begin; tags without a partner and comments are elements of no characters."""


class Document:
    """The texts of a document and what lies between them."""

    def __init__(self, source: str) -> None:
        self.parts: list[str | Text] = []
        """In order; strings are not to be translated."""
        self.entities: dict[str, str] = {}
        """Characters that the document writes as entities, and how."""
        _Reader(source, self).read()

    @property
    def texts(self) -> list[Text]:
        """The texts that have letters or digits."""
        return [part for part in self.parts if isinstance(part, Text) and any(map(str.isalnum, part.text))]

    def separate(self) -> None:
        """Let all tags end a text, so that none is left inside of one."""
        self.parts = [one for part in self.parts for one in ([part] if isinstance(part, str) else _separated(part))]

    def escape(self, text: str) -> str:
        """A text as it is written in the document: nothing of it becomes a tag."""
        escaped = html.escape(text, quote=False)
        for character, entity in self.entities.items():
            escaped = escaped.replace(character, entity)
        return escaped


class _Tag(HTMLParser):
    """Reads one document; collects (start, kind, name, attributes) of everything."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.events: list[tuple[int, str, str, dict[str, str | None]]] = []
        self._line_starts = [0]

    def read(self, source: str) -> None:
        """Read a whole document."""
        # Tags that never end take the parser quadratic time, so what follows the last end of one is read here.
        tags = source.rfind(">") + 1
        self._line_starts += [match.end() for match in re.finditer("\n", source)]
        self.feed(source[:tags])
        self.close()
        for found in re.finditer(r"&[#\w]+;|[^&]+|&", source[tags:]):
            kind = "entity" if html.unescape(found[0]) != found[0] else "text"
            self.events.append((tags + found.start(), kind, "", {}))

    def _add(self, kind: str, name: str = "", attributes: dict[str, str | None] | None = None) -> None:
        line, column = self.getpos()
        self.events.append((self._line_starts[line - 1] + column, kind, name, attributes or {}))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("start", tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("void", tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("text")

    def handle_entityref(self, name: str) -> None:
        self._add("entity")

    def handle_charref(self, name: str) -> None:
        self._add("entity")

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def handle_pi(self, data: str) -> None:
        self._add("other")

    def unknown_decl(self, data: str) -> None:
        self._add("other")


@dataclass
class _Opaque:
    """An element that is being skipped."""

    name: str
    start: int
    depth: int = 1


class _Reader:
    """Builds a document from the events of the parser."""

    def __init__(self, source: str, document: Document) -> None:
        self._source = source
        self._document = document
        self._text = Text()
        self._open: list[tuple[str, Element]] = []
        self._open_names: Counter[str] = Counter()
        self._pre = 0
        self._order = 0

    def read(self) -> None:
        """Read the source."""
        parser = _Tag()
        parser.read(self._source)
        starts = [start for start, *_ in parser.events]
        ends = [*starts[1:], len(self._source)][: len(starts)]
        self._outside(self._source[: starts[0] if starts else len(self._source)])
        skipped: _Opaque | None = None
        for (start, kind, name, attributes), end in zip(parser.events, ends, strict=True):
            raw = self._source[start:end]
            if skipped is not None:
                if kind in ("start", "end") and name == skipped.name:
                    skipped.depth += 1 if kind == "start" else -1
                if skipped.depth == 0:
                    self._kept(skipped.name, self._source[skipped.start : end])
                    skipped = None
            elif kind == "start" and name not in VOID and _is_opaque(name, attributes):
                skipped = _Opaque(name, start)
            else:
                self._event(kind, name, raw)
        if skipped is not None:
            self._outside(self._source[skipped.start :])
        self._end_text()

    def _event(self, kind: str, name: str, raw: str) -> None:
        if kind == "text":
            self._characters(raw)
        elif kind == "entity":
            self._entity(raw)
        elif name in BLOCKS:
            if name == "pre":
                self._pre = max(self._pre + (1 if kind == "start" else -1), 0)
            self._outside(raw)
        elif kind == "start" and name not in VOID:
            place = len(self._text.text)
            element = Element(place, place, raw, self._next_order())
            self._text.elements.append(element)
            self._open.append((name, element))
            self._open_names[name] += 1
        elif kind == "end":
            self._close(name, raw)
        else:
            self._mark(raw)

    def _characters(self, raw: str) -> None:
        if self._pre:
            self._text.text += raw
            self._text.raw += raw
            return
        for found in re.finditer(rf"[{_SPACE}]+|[^{_SPACE}]", raw):
            self._text.text += " " if found[0][0] in _SPACE else found[0]
            self._text.raw.append(found[0])

    def _entity(self, raw: str) -> None:
        decoded = html.unescape(raw)
        if len(decoded) == 1 and decoded not in "&<>\"'" and raw.endswith(";") and not decoded.isalnum():
            self._document.entities[decoded] = raw
        self._text.text += decoded
        self._text.raw += [raw, *[""] * (len(decoded) - 1)]

    def _close(self, name: str, raw: str) -> None:
        if not self._open_names[name]:
            self._mark(raw)
            return
        place = next(place for place in reversed(range(len(self._open))) if self._open[place][0] == name)
        element = self._open[place][1]
        element.end, element.close, element.close_order = len(self._text.text), raw, self._next_order()
        # Elements that have begun inside and go on outside: their tags are marks.
        self._open_names.subtract(opened for opened, _ in self._open[place:])
        del self._open[place:]

    def _mark(self, raw: str) -> None:
        place = len(self._text.text)
        self._text.elements.append(Element(place, place, raw, self._next_order()))

    def _kept(self, name: str, raw: str) -> None:
        """An element that is not translated: alone, or inside a text as a part of it."""
        if name in BLOCKS:
            self._outside(raw)
            return
        start = len(self._text.text)
        words = "" if name in OPAQUE else html.unescape(re.sub(r"<[^>]*>", " ", raw))
        # Marks that end a sentence are left out, so that the element stays inside of one.
        words = " ".join(re.sub(r"[.!?。！？…]+(?=\s|$)", "", words).split())
        if not words:
            self._mark(raw)
            return
        self._text.text += words
        self._text.raw += words
        self._text.elements.append(Element(start, len(self._text.text), raw, self._next_order(), kept=raw))

    def _next_order(self) -> int:
        self._order += 1
        return self._order

    def _outside(self, raw: str) -> None:
        self._end_text()
        self._document.parts.append(raw)

    def _end_text(self) -> None:
        if len(self._text.elements) > MAX_ELEMENTS:
            self._document.parts += _separated(self._text)
        elif self._text.text or self._text.elements:
            self._document.parts.append(self._text)
        self._text, self._open = Text(), []
        self._open_names.clear()


def _separated(text: Text) -> Iterator[str | Text]:
    """The runs of a text between its tags, and these."""
    marks = [(element.order, element.start, element.open) for element in text.elements if element.kept is None]
    marks += [(element.close_order, element.end, element.close) for element in text.elements if element.close]
    marks += [(element.order, element.start, element.kept) for element in text.elements if element.kept is not None]
    hidden = {place for element in text.elements if element.kept for place in range(element.start, element.end)}
    place = 0
    for _, end, mark in [*sorted(marks), (0, len(text.text), "")]:
        shown = [at for at in range(place, end) if at not in hidden]
        if shown:
            yield Text("".join(text.text[at] for at in shown), [text.raw[at] for at in shown])
        yield mark
        place = end


def _is_opaque(name: str, attributes: dict[str, str | None]) -> bool:
    classes = (attributes.get("class") or "").split()
    return name in OPAQUE or (attributes.get("translate") or "").lower() == "no" or "notranslate" in classes


def spans_of_words(text: str) -> Iterator[tuple[int, int]]:
    """The words of a text without the punctuation around them."""
    for match in re.finditer(r"[^\s]+", text):
        start, end = match.span()
        while start < end and not text[start].isalnum():
            start += 1
        while end > start and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            yield start, end
