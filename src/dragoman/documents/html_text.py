"""HTML as text with marks: what is to be translated, and where tags stand in it.

Tags are found by the rules of HTML's tokenisation, in a time that grows with the length of the document and no faster,
whatever it holds; `html.parser` of the standard library takes quadratic time for tags that never end. Every character
is kept: tags, attributes, comments, scripts and everything else that is not text are never rewritten. Block elements
(paragraphs, table cells, line breaks) end a text; elements inside of one (links, bold type, unknown ones) become marks
of it. An element without words is one mark with all that is in it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, compress, pairwise
from typing import NamedTuple

from dragoman.text.raw_lines import has_letter
from dragoman.text.words import bare_word

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
CODE = frozenset(("code", "kbd", "listing", "pre", "samp", "textarea", "tt", "var", "xmp"))
"""Elements whose content is not translated."""
INDICES = {"sub": 12, "sup": 12, "rp": 100, "rt": 100}
"""The most characters with which such an element belongs to the word before it, as in m<sup>2</sup>, and is no part of
the sentence."""
_NOTE = re.compile(r"[(\[]?(?:\d{1,3}|\*{1,3})[)\]]?")
"""What a link to a note shows behind a word or sign."""
_BLOCKS_IN_P = (
    "address article aside blockquote details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hgroup hr main menu nav ol p pre search section table ul"
)
_ROWS = ("tr", "tbody", "tfoot", "thead")
_ENDED_BY = {
    "li": ("li",), "dt": ("dt", "dd"), "dd": ("dt", "dd"), "p": tuple(_BLOCKS_IN_P.split()),
    "option": ("option", "optgroup"), "optgroup": ("optgroup",), "td": ("td", "th", *_ROWS), "th": ("td", "th", *_ROWS),
    "tr": _ROWS, "tbody": _ROWS[1:], "tfoot": _ROWS[1:], "thead": _ROWS[1:], "rt": ("rt", "rp"), "rp": ("rt", "rp"),
}  # fmt: skip
"""Elements that need no end tag, and the elements whose beginning ends them; so does the end of their parent."""
_SCOPES = frozenset(("div", "dl", "menu", "ol", "ruby", "select", "table", "ul"))
"""Elements whose own list items, cells and so on end no element outside."""
MAX_ELEMENTS = 200
"""Elements of one text; where there are more, tags end it."""
_SPACE = " \t\n\r\f"
_MARKS = frozenset("§¶†‡•·")
"""Signs that are not punctuation of a sentence."""


@dataclass(eq=False)
class Element:
    """An element inside a text, [start, end) in its characters."""

    start: int
    end: int
    open: str
    """Its tag as it is written in the document."""
    order: int
    """The number of its tag among all tags of the text."""
    close: str = ""
    close_order: int = 0
    kept: str | None = None
    """The whole element with its content, if the content must not be translated or has no words."""

    def encloses(self, other: Element) -> bool:
        """Whether another element stands between its tags."""
        return self.kept is None and bool(self.close) and self.order < other.order < self.close_order


@dataclass
class Text:
    """Text between two block tags."""

    text: str = ""
    """White space is collapsed, and entities are characters."""
    raw: list[str] = field(default_factory=list)
    """Each character of `text` as it is written in the document."""
    elements: list[Element] = field(default_factory=list)
    """In the order in which they begin; tags without a partner and comments are elements of no characters."""


class Markup:
    """The texts of a document and what lies between them."""

    def __init__(self, source: str, xml: Xml | None = None) -> None:
        """Read HTML; with `xml` XML, in which all elements stand inside texts except those that `xml` names."""
        self.parts: list[str | Text] = []
        """In order; strings are not to be translated."""
        self.entities = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
        """Characters that the document writes as entities, and how."""
        _Reader(source, self, xml).read()

    @property
    def texts(self) -> list[Text]:
        """The texts that have letters."""
        return [part for part in self.parts if isinstance(part, Text) and has_letter(part.text)]

    def separate(self) -> None:
        """Let all tags end a text, so that none is left inside of one."""
        self.parts = [one for part in self.parts for one in ([part] if isinstance(part, str) else _separated(part))]

    def escape(self, text: str) -> str:
        """A text as it is written in the document: nothing of it becomes a tag."""
        return text.translate(self.entities)


class Xml(NamedTuple):
    """How XML is read."""

    ignored: frozenset[str] = frozenset()
    """Names of elements that are not translated."""
    splitting: frozenset[str] = frozenset()
    """Names of elements that end a text."""


class _Token(NamedTuple):
    """A part of a document, [start, end) in its characters."""

    start: int
    end: int
    kind: str
    """`text`, `entity`, `start`, `void` (a tag that ends with `/>`), `end`, or `other` (comments and declarations)."""
    name: str = ""
    opaque: bool = False
    """Whether the content of the element is not to be translated."""


_CHARACTERS = re.compile(r"[^<&]+|[<&]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9a-fA-F]{1,6}(?![0-9a-fA-F])|[A-Za-z][A-Za-z0-9]{0,31});?")
"""Longer numbers stand for no character."""
_NAME = re.compile(r"</?([A-Za-z][^ \t\n\r\f/>]*)")
_ATTRIBUTE = re.compile(
    r"""[ \t\n\r\f/]*+(?:(?P<end>>)|(?P<name>=?[^ \t\n\r\f/>=]*+)(?:[ \t\n\r\f]*+=[ \t\n\r\f]*+"""
    r"""(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^ \t\n\r\f>"'][^ \t\n\r\f>]*+)))?)"""
)
"""An attribute, or the end of the tag. A quote that never ends begins no value; a document has at most one of each
kind."""
_RAW_TEXT = {name: re.compile(rf"</{name}(?=[ \t\n\r\f/>])", re.IGNORECASE) for name in ("script", "style")}
"""Elements whose content has no tags, and what ends it."""


def _tokens(source: str, xml: Xml | None) -> Iterator[_Token]:
    """The parts of a document, in order and without gaps."""
    position, tags = 0, source.rfind(">") + 1
    """What follows the end of the last tag is text."""
    last = {closing: source.rfind(closing) for closing in _CODE_OF_TEMPLATES.values()} if xml is None else {}
    while position < len(source):
        token = None
        if source[position] == "<" and position < tags:
            token = _code_of_template(source, position, last) or _markup(source, position, xml)
        token = token or _text(source, position)
        if token.end > len(source):  # a tag that has begun and never ends: what follows is text
            tags, token = position, _text(source, position)
        yield token
        position = token.end
        if xml is None and token.kind == "start" and token.name in _RAW_TEXT:
            end = _RAW_TEXT[token.name].search(source, position)
            content = len(source) if end is None else end.start()
            if position < content:
                yield _Token(position, content, "other")
            position = content


_CODE_OF_TEMPLATES = {"<?php": "?>", "<?=": "?>", "<%": "%>"}
"""What a server fills in, and its end; in HTML itself all but the last would end with the first `>`."""


def _code_of_template(source: str, start: int, last: Mapping[str, int]) -> _Token | None:
    """The code that begins at `<`, if any; `last` has the last place of each end: none is looked for in vain."""
    for opening, closing in _CODE_OF_TEMPLATES.items():
        if start < last.get(closing, -1) and source.startswith(opening, start):
            return _Token(start, source.find(closing, start) + len(closing), "other")
    return None


def _text(source: str, start: int) -> _Token:
    entity = _ENTITY.match(source, start)
    if entity is not None and html.unescape(entity[0]) != entity[0]:
        return _Token(start, entity.end(), "entity")
    characters = _CHARACTERS.match(source, start)
    assert characters is not None
    return _Token(start, characters.end(), "text")


_DECLARED = re.compile(r"<!DOCTYPE[^>\[]*+\[")
"""A document type with declarations of its own."""


def _markup(source: str, start: int, xml: Xml | None) -> _Token | None:
    """The tag, comment or declaration that begins at `<`, if any. The end of a tag that never ends is beyond the
    source.
    """
    if source.startswith("<!--", start):
        end = source.find("-->", start + 2)  # `<!-->` is a whole comment
        return _Token(start, len(source) if end < 0 else end + 3, "other")
    for opening, closing in (("<![CDATA[", "]]>"), ("<?", "?>")) if xml is not None else ():
        if source.startswith(opening, start):
            end = source.find(closing, start)
            return _Token(start, len(source) + 1 if end < 0 else end + len(closing), "other")
    if xml is not None and _DECLARED.match(source, start):
        end = source.find("]", start)
        return _Token(start, source.find(">", end) + 1 or len(source) + 1 if end >= 0 else len(source) + 1, "other")
    name = _NAME.match(source, start)
    if name is None:
        if source[start + 1 : start + 2] not in ("!", "?", "/"):
            return None
        return _Token(start, source.find(">", start) + 1 or len(source) + 1, "other")
    tag = name[1].lower() if xml is None else name[1]
    end, opaque = name.end(), tag in OPAQUE | CODE if xml is None else tag in xml.ignored
    while True:
        attribute = _ATTRIBUTE.match(source, end)
        assert attribute is not None
        if attribute["end"] or attribute.end() == len(source):
            break
        end = attribute.end()
        opaque = opaque or _forbids_translation(attribute)
    if not attribute["end"]:
        return _Token(start, len(source) + 1, "other")
    kind = "end" if source[start + 1] == "/" else "void" if source[attribute.end() - 2] == "/" else "start"
    return _Token(start, attribute.end(), kind, tag, opaque)


def _forbids_translation(attribute: re.Match[str]) -> bool:
    name = attribute["name"].lower()
    if name not in ("translate", "class"):
        return False
    value = unescaped(attribute["double"] or attribute["single"] or attribute["bare"] or "")
    return value.lower() == "no" if name == "translate" else "notranslate" in value.split()


def attribute_values(source: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """The spans of attribute values, [start, end) without quotes; elements that are not translated are left out, and so
    are values with code of a template.
    """
    skipped: _Skipped | None = None
    for token in _tokens(source, None):
        if skipped is not None:
            skipped = None if skipped.end(token) is not None else skipped
        elif token.kind == "start" and token.opaque and token.name not in VOID:
            skipped = _Skipped(token)
        elif token.kind in ("start", "void") and not token.opaque:
            name_match = _NAME.match(source, token.start)
            position = token.start if name_match is None else name_match.end()
            while (attribute := _ATTRIBUTE.match(source, position, token.end)) and not attribute["end"]:
                if attribute.end() == position:
                    break
                position = attribute.end()
                if attribute["name"].lower() in names:
                    group = next((name for name in ("double", "single", "bare") if attribute[name]), None)
                    if group is not None and not any(code in attribute[group] for code in _CODE_OF_TEMPLATES):
                        yield attribute.span(group)


def unescaped(text: str) -> str:
    """A text with its entities as characters."""
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


class _Skipped:
    """An element that is being skipped."""

    def __init__(self, token: _Token) -> None:
        self.name, self.start = token.name, token.start
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    def end(self, token: _Token) -> int | None:
        """Where the element ends if this tag ends it: behind its end tag, or before another tag; None if it goes on."""
        if token.kind == "start":
            if token.name in _ENDED_BY.get(self.name, ()) and not any(self._counts[name] for name in _SCOPES):
                return token.start
            if token.name not in VOID:
                self._open.append(token.name)
                self._counts[token.name] += 1
        elif token.kind == "end":
            if self._counts[token.name]:
                while (name := self._open.pop()) != token.name:
                    self._counts[name] -= 1
                self._counts[token.name] -= 1
            elif token.name == self.name:
                return token.end
            elif self.name in _ENDED_BY and token.name in BLOCKS:
                return token.start
        return None


class _Opened(NamedTuple):
    """An element whose end has not been read."""

    name: str
    element: Element
    start: int
    """Of its tag in the source."""
    element_index: int
    """Among the elements of the text."""


class _Reader:
    """Builds a document from the events of the parser."""

    def __init__(self, source: str, document: Markup, xml: Xml | None) -> None:
        self._source, self._document, self._xml = source, document, xml
        self._blocks, self._void = (BLOCKS, VOID) if xml is None else (xml.splitting, frozenset())
        self._text = Text()
        self._characters: list[str] = []
        """The characters of the text, joined at its end."""
        self._word_end = 0
        """The position behind the last character that is not a space."""
        self._open: list[_Opened] = []
        self._open_names: Counter[str] = Counter()
        self._order = 0
        self._ended: int | None = None
        """Where the last end tag of the text stands."""
        self._ended_name = ""

    def read(self) -> None:
        """Read the source."""
        skipped: _Skipped | None = None
        for token in _tokens(self._source, self._xml):
            if skipped is not None:
                end = skipped.end(token)
                if end is None:
                    continue
                self._kept(skipped.name, self._source[skipped.start : end])
                skipped = None
                if end == token.end:
                    continue
            if token.kind == "start" and token.opaque and token.name not in self._void:
                skipped = _Skipped(token)
            else:
                self._event(token)
        if skipped is not None:
            self._outside(self._source[skipped.start :])
        self._end_text()

    def _event(self, token: _Token) -> None:
        kind, name, raw = token.kind, token.name, self._source[token.start : token.end]
        if kind == "text":
            self._add(raw)
        elif kind == "entity":
            self._entity(raw)
        elif name in self._blocks:
            self._outside(raw)
        elif kind == "start" and name not in self._void:
            if self._xml is not None and self._ended is not None:
                between = self._text.raw[self._ended :]
                if not between or ("".join(between).isspace() and "\n" in "".join(between)):
                    self._end_text()  # <name>a</name><name>b</name> are two texts
            elif self._xml is None and self._begins_another_text(token):
                self._end_text()
            position = len(self._text.raw)
            element = Element(position, position, raw, self._next_order())
            self._open.append(_Opened(name, element, token.start, len(self._text.elements)))
            self._text.elements.append(element)
            self._open_names[name] += 1
        elif kind == "end":
            self._close(name, raw, token.end)
        else:
            self._mark(raw)
        if kind in ("start", "end"):
            self._ended, self._ended_name = (len(self._text.raw), name) if kind == "end" else (None, "")

    def _begins_another_text(self, token: _Token) -> bool:
        """Whether a tag begins another text because it touches the element before it and one of the two is a link:
        links of a menu do not form a word."""
        return (
            self._ended == len(self._text.raw) > 0
            and "a" in (token.name, self._ended_name)
            and token.name not in INDICES
            and self._text.raw[-1].isalnum()
            and self._source[token.end : token.end + 1].isalnum()
        )

    def _add(self, raw: str) -> None:
        for match in re.finditer(rf"(?P<space>[{_SPACE}]+)|[^{_SPACE}]+", raw):
            if match["space"]:
                self._characters.append(" ")
                self._text.raw.append(match[0])
            else:
                self._characters += match[0]
                self._text.raw += match[0]
                self._word_end = len(self._characters)

    def _entity(self, raw: str) -> None:
        decoded = html.unescape(raw)
        if not decoded:  # a character that HTML does not have
            self._mark(raw)
            return
        if len(decoded) == 1 and decoded not in "&<>\"'" and raw.endswith(";") and not decoded.isalnum():
            self._document.entities[ord(decoded)] = raw
        self._characters += decoded
        self._text.raw += [raw, *[""] * (len(decoded) - 1)]
        self._word_end = len(self._characters)

    def _close(self, name: str, raw: str, end: int) -> None:
        if not self._open_names[name]:
            self._mark(raw)
            return
        index = next(index for index in reversed(range(len(self._open))) if self._open[index].name == name)
        opened = self._open[index]
        element = opened.element
        element.end, element.close, element.close_order = len(self._text.raw), raw, self._next_order()
        # Elements that have begun inside and go on outside: their tags are marks.
        self._open_names.subtract(one.name for one in self._open[index:])
        del self._open[index:]
        if self._word_end <= element.start or self._is_index(name, element):
            del self._text.elements[opened.element_index + 1 :]
            element.kept, element.close = self._source[opened.start : end], ""

    def _is_index(self, name: str, element: Element) -> bool:
        """Whether an element belongs to the word before it, or is a symbol; if so, its characters leave the text."""
        if self._xml is not None:
            return False
        own = self._characters[element.start :]
        before = self._characters[element.start - 1 : element.start]
        is_note = name == "a" and _NOTE.fullmatch("".join(own)) and before and not before[0].isspace()
        if not is_note and not all(
            one in _MARKS or unicodedata.category(one) in ("So", "Sm", "Mn", "Cf") for one in own
        ):
            kind = name.rstrip("0123456789")
            if element.end - element.start > INDICES.get(kind, -1):
                return False
            if kind in ("sub", "sup") and " " in self._characters[element.start :]:
                return False
        del self._characters[element.start :], self._text.raw[element.start :]
        element.end = self._word_end = element.start
        return True

    def _mark(self, raw: str) -> None:
        position = len(self._text.raw)
        self._text.elements.append(Element(position, position, raw, self._next_order()))

    def _kept(self, name: str, raw: str) -> None:
        """An element that is not translated: alone, or inside a text as a part of it."""
        if name in self._blocks:
            self._outside(raw)
            return
        start = len(self._text.raw)
        words = "" if name in OPAQUE else unescaped(re.sub(r"<[^>]*>", " ", raw))
        # Marks inside that would end the sentence are left out, and marks around all words, which would be taken for
        # marks of the sentence.
        words = re.sub(r"(?<![.!?。！？…])[.!?。！？…]++(?=\s|$)|[。！？]", "", words)
        inner = list(spans_of_words(words))
        words = " ".join(words[inner[0][0] : inner[-1][1]].split()) if inner else ""
        self._characters += words
        self._text.raw += words
        self._word_end = len(self._characters) if words else self._word_end
        self._text.elements.append(Element(start, len(self._text.raw), raw, self._next_order(), kept=raw))

    def _next_order(self) -> int:
        self._order += 1
        return self._order

    def _outside(self, raw: str) -> None:
        self._end_text()
        self._document.parts.append(raw)

    def _end_text(self) -> None:
        self._text.text = "".join(self._characters)
        if len(self._text.elements) > MAX_ELEMENTS:
            self._document.parts += _separated(self._text)
            self._text = Text()
        _join_kept(self._text)
        _empty_kept(self._text)
        _join_nested(self._text)
        _join_marks(self._text)
        _keep_words_with_indices(self._text)
        if self._text.text or self._text.elements:
            self._document.parts.append(self._text)
        self._text, self._characters, self._open = Text(), [], []
        self._open_names.clear()
        self._word_end, self._ended = 0, None


def _join_nested(text: Text) -> None:
    """Join nested elements that enclose the same characters, as in <b><i>both</i></b>."""
    joined: list[Element] = []
    for element in text.elements:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.kept is element.kept is None
            and last.close
            and element.close
            and (last.start, last.end) == (element.start, element.end)
            and (element.order, element.close_order) == (last.order + 1, last.close_order - 1)
        ):
            open_tags, close_tags = last.open + element.open, element.close + last.close
            last = Element(last.start, last.end, open_tags, element.order, close_tags, element.close_order)
            joined[-1] = last
        else:
            joined.append(element)
    text.elements = joined


def _join_marks(text: Text) -> None:
    """Join elements without words that only spaces separate; these spaces move from the text into the element."""
    runs: list[list[Element]] = []
    for element in text.elements:
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and last.start == last.end
            and element.start == element.end
            and element.order == max(last.order, last.close_order) + 1
            and text.text[last.end : element.start].isspace()
        ):
            runs[-1].append(element)
        else:
            runs.append([element])
    elements: list[Element] = []
    removed: list[tuple[int, int]] = []
    for run in runs:
        first, start, end = run[0], run[0].start, run[-1].end
        if len(run) == 1 or (text.text[start - 1 : start].isalnum() and text.text[end : end + 1].isalnum()):
            elements += run
            continue
        kept = _alone(first)
        for before, element in pairwise(run):
            kept += "".join(text.raw[before.end : element.start]) + _alone(element)
        elements.append(Element(start, start, kept, first.order, kept=kept))
        removed.append((start, end))
    text.elements = elements
    _remove(text, removed)


def _join_kept(text: Text) -> None:
    """Join untranslated elements that only signs divide, as in <kbd>Ctrl</kbd>+<kbd>C</kbd>; the signs stay, too."""
    joined: list[Element] = []
    for element in text.elements:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.kept
            and element.kept
            and last.start < last.end
            and element.start < element.end
            and element.order == last.order + 1
            and not any(one.isalnum() or one.isspace() for one in text.text[last.end : element.start])
        ):
            kept = "".join([last.kept, *text.raw[last.end : element.start], element.kept])
            joined[-1] = Element(last.start, element.end, kept, element.order, kept=kept)
        else:
            joined.append(element)
    text.elements = joined


def _empty_kept(text: Text) -> None:
    """Remove the words of untranslated elements from a text that has no other words."""
    kept = [(one.start, one.end) for one in text.elements if one.kept and one.start < one.end]
    ends = [0, *(end for _, end in kept)]
    starts = [*(start for start, _ in kept), len(text.text)]
    if kept and not has_letter("".join(text.text[end:start] for end, start in zip(ends, starts, strict=True))):
        _remove(text, kept)


def _remove(text: Text, spans: list[tuple[int, int]]) -> None:
    """Remove characters from a text; elements around them stay."""
    if not spans:
        return
    stays = [True] * len(text.text)
    for start, end in spans:
        stays[start:end] = [False] * (end - start)
    moved = [0, *accumulate(stays)]
    for element in text.elements:
        element.start, element.end = moved[element.start], moved[element.end]
    text.text = "".join(compress(text.text, stays))
    text.raw = list(compress(text.raw, stays))


def _alone(element: Element) -> str:
    """An element without words."""
    return element.open + element.close if element.kept is None else element.kept


def _keep_words_with_indices(text: Text) -> None:
    """Keep a whole word untranslated if it has an index inside, as in H<sub>2</sub>O."""
    inside = [one.start for one in text.elements if one.kept is not None and one.start == one.end]
    inside = [at for at in inside if 0 < at < len(text.text) and text.text[at - 1 : at + 1].isalnum()]
    limits = [limit for one in text.elements for limit in (one.start, one.end)] if inside else []
    for position in inside:
        start, end = position, position
        while start and text.text[start - 1].isalnum() and position - start < INDICES["sub"]:
            start -= 1
        while end < len(text.text) and text.text[end].isalnum() and end - position < INDICES["sub"]:
            end += 1
        own = [one for one in text.elements if start < one.start == one.end < end and one.kept is not None]
        if not own or sum(start < limit < end for limit in limits) > 2 * len(own):
            continue
        pieces = [*((one.start, one.order, one.kept or "") for one in own)]
        pieces += [(at, -1 if at == start else 10**9, text.raw[at]) for at in range(start, end)]
        kept = "".join(piece for _, _, piece in sorted(pieces, key=lambda piece: piece[:2]))
        text.elements = [one for one in text.elements if one not in own]
        text.elements.append(Element(start, end, kept, own[0].order, kept=kept))
        text.elements.sort(key=lambda one: one.order)


def _separated(text: Text) -> Iterator[str | Text]:
    """The tags of a text, and the runs of text between them."""
    marks = [(element.order, element.start, element.open) for element in text.elements if element.kept is None]
    marks += [(element.close_order, element.end, element.close) for element in text.elements if element.close]
    marks += [(element.order, element.start, element.kept) for element in text.elements if element.kept is not None]
    hidden = {position for element in text.elements if element.kept for position in range(element.start, element.end)}
    position = 0
    for _, end, mark in [*sorted(marks), (0, len(text.text), "")]:
        shown = [at for at in range(position, end) if at not in hidden]
        if shown:
            yield Text("".join(text.text[at] for at in shown), [text.raw[at] for at in shown])
        yield mark
        position = end


def spans_of_words(text: str) -> Iterator[tuple[int, int]]:
    """The words of a text without the punctuation around them."""
    for match in re.finditer(r"[^\s]+", text):
        start, end = bare_word(text, match.span())
        if text[start].isalnum():
            yield start, end
