"""Markdown (.md): paragraphs, headings, items and cells of tables, where markdown-it finds them.

Code, links, pictures, footnotes, formulas between dollars and front matter stay. A paragraph becomes one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.documents.document import Document, Languages, decoded, line_places, texts_alone
from dragoman.documents.html_text import CODE, MAX_ELEMENTS, Markup
from dragoman.documents.inline import Inline
from dragoman.text.raw_lines import has_letter
from dragoman.text.sentences import Span

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_FRONT = re.compile(
    r"\A(?:---[ \t]*\r?\n.*?^(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?^\+\+\+)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_KEPT = re.compile(r"\[\^[^\]\s]+\]|\A\[[ xX]\](?= )|\{(?::|[#.][\w-])[^{}]*\}|\[-?@[^\[\]]+\]|\A\[TOC\]\Z")
"""Footnotes, boxes of tasks, attributes such as the {#name} of a heading, citations, and [TOC]."""
_FORMULA_IN_TEXT = re.compile(r"(\${1,2})(?=\S)(?:\\.|[^$\\\n])+(?<!\s)\1(?!\d)")
_RAW = re.compile(rf"{_FORMULA_IN_TEXT.pattern}|\{{[%{{].{{0,999}}?[%}}]\}}|\[\[[^\[\]\n]+\]\](?![(\[])")
"""Formulas, what templates fill in, and links of wikis: signs of Markdown mean nothing there."""
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_HTML_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|~(?=~)|(?<=~)~")
_BLOCK = re.compile(r"(?P<number>\d*)(?=>|(?:[-=]+|\+|#{1,6}|(?<=\d)[.)])(?:\s|$))")
"""What would begin a block at the beginning of a line."""
_HARD_BREAK = "\\\n"
_BREAK_OF_LINE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=\s*\Z)")
"""The backslash of a hard break at the end of a line, behind those of escapes."""
_PAIRS = ("em_open", "strong_open", "s_open")
_REFERENCE = re.compile(r"\[(?P<text>[^\[\]]*)\](?:\[(?P<label>[^\[\]]*)\])?")
"""A link or picture by reference: [text][label], [label][] or [label]."""


class _Link(NamedTuple):
    """The end of a link."""

    label: str = ""
    """Of a link by reference, as it is written."""
    end: str = ""
    """What follows the text; in a link by reference, what follows a text that is the label."""

    def written(self, text: str) -> str:
        """What follows this text."""
        if not self.label or normalised(text) == normalised(self.label):
            return self.end
        return f"][{self.label}]"


def normalised(label: str) -> str:
    """A label as it is compared."""
    return " ".join(label.split()).casefold()


class _Html(NamedTuple):
    """A block of HTML, [start, end) in the characters of the file."""

    start: int
    end: int
    markup: str
    between: str
    """What stands between its lines, which may be in a quotation or an item."""

    def written(self, translated: str) -> str:
        """The block with its translation."""
        return translated.replace("\n", self.between) if self.between else translated


class _Block(NamedTuple):
    """A text, [start, end) in the characters of the file."""

    start: int
    end: int
    inline: Inline
    in_table: bool
    in_paragraph: bool
    hard_break: str
    """A hard line break as it is written here, with what a quotation or an item has in front of the next line."""

    @property
    def markup(self) -> str:
        """The text as HTML."""
        return self.inline.markup

    def written(self, translated: str) -> str:
        """The text with its translation, as Markdown."""
        return _written(self, translated)


_TextBlock = _Html | _Block

_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})")
_FORMULA = re.compile(r"[ \t>]*\$\$")
_CONTAINER = re.compile(
    r"[ \t>]*(?:(?::{3,}[ \t]*[\w-]*|(?<=>)[ \t]*\[!\w+\][-+]?)(?P<title>.*)|\{%.*%\}[ \t]*|\{\{.*\}\}[ \t]*)"
)
_ADMONITION = re.compile(r"(?P<indent> *)(?:!!!|\?\?\?\+?|===) +[^\"\n]*(?P<title>\".*\")?[ \t]*")
_DEFINITION = re.compile(r"\A((?: {0,3}>)* {0,3})(?::(?=[ \t])|\[\^[^\]\s]+\]:)[ \t]*(?=\S)")
"""Blocks of MkDocs, Docusaurus, Pandoc, GitHub and templates, which CommonMark takes for text."""


def _as_commonmark(lines: list[str]) -> tuple[list[str], list[int], dict[int, int]]:
    """The lines as CommonMark understands them, the numbers of lines with a title, which stays untranslated, and where
    the text of a definition or a footnote begins in its line, by number.

    Lines that begin or end other blocks become empty, the text of blocks of MkDocs loses its indent, and definitions
    and footnotes become items.
    """
    result: list[str] = []
    titles: list[int] = []
    definitions: dict[int, int] = {}
    fence = ""
    margins = [0]
    for number, line in enumerate(lines):
        begun = _FENCE.match(line)
        indent = len(line) - len(line.lstrip(" "))
        if fence:
            fence = "" if begun is not None and begun["fence"].startswith(fence) else fence
            result.append(line[min(indent, margins[-1]) :])
            continue
        if line.strip():
            while indent < margins[-1]:
                margins.pop()
        match = _CONTAINER.fullmatch(line.rstrip("\r\n")) or _ADMONITION.fullmatch(line.rstrip("\r\n"))
        if begun is not None:
            fence = begun["fence"]
        elif match is not None:
            if has_letter(match["title"] or ""):
                titles.append(number)
            result[-1:] = [_BREAK_OF_LINE.sub(r"\1", before) for before in result[-1:]]  # which stays in the file
            if match.re is _ADMONITION:
                margins.append(len(match["indent"]) + 4)
            result.append("\n")
            continue
        inside = line[margins[-1] :] if line.strip() else line
        defined = _DEFINITION.match(inside)
        if defined is not None:
            definitions[number] = len(line) - len(inside) + defined.end()
            inside = f"{defined[1]}- {inside[defined.end() :]}"
        result.append(inside)
    return _without_formulas(result), titles, definitions


def _without_formulas(lines: list[str]) -> list[str]:
    """The lines without blocks of formulas, which end before an empty line."""
    result = list(lines)
    start = None
    for number, line in enumerate(lines):
        if not line.strip() or _FENCE.match(line):
            start = None
        elif start is None and _FORMULA.match(line) and line.count("$$") == 1:
            start = number
        elif start is not None and line.rstrip().endswith("$$"):
            result[start : number + 1] = ["\n"] * (number + 1 - start)
            start = None
    return result


def read_markdown(content: bytes, languages: Languages) -> Document:
    """Read Markdown of the kind CommonMark, with tables and deletions.

    Raises:
        InputError: it is neither UTF-8 nor UTF-16.
    """
    text, encoding = decoded(content)
    blocks, lost = _texts(text)

    def write(translations: list[str]) -> bytes:
        result: list[str] = []
        position = 0
        for block, translated in zip(blocks, translations, strict=True):
            result += [text[position : block.start], block.written(translated)]
            position = block.end
        return "".join([*result, text[position:]]).encode(encoding)

    return Document(
        [block.markup for block in blocks],
        texts_alone(write),
        line_places(text, (block.start for block in blocks)),
        untranslated=line_places(text, lost),
    )


def _texts(text: str) -> tuple[list[_TextBlock], list[int]]:
    """The texts of a file, and the positions of blocks whose content is not in the file as the parser read it."""
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    body = front.end() if front else 0
    lines = [(body + one.start(), body + one.end()) for one in _LINE.finditer(text[body:])]
    parser = MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "raw", _raw)
    for normalize in ("normalizeLink", "normalizeLinkText"):  # addresses stay as they are
        setattr(parser, normalize, lambda url: url)
    blocks: list[_TextBlock] = []
    known, titles, definitions = _as_commonmark([text[start:end] for start, end in lines])
    lost = [lines[number][0] for number in titles]
    for number, offset in definitions.items():
        lines[number] = (lines[number][0] + offset, lines[number][1])
    behind = 0
    in_table, in_paragraph = False, True
    for token in parser.parse("".join(known)):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        if token.type.endswith("_open"):
            underlined = token.type == "heading_open" and not token.markup.startswith("#")
            in_paragraph = token.type == "paragraph_open" or underlined
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        own = [(max(start, behind), end) for start, end in lines[slice(*token.map)] if end > behind]
        inline = _inline(token) if token.type == "inline" else None
        content = token.content.rstrip("\n")
        if not own or not content:
            continue
        spans = _located(text, own, content.replace("|", "\\|") if in_table else content)
        behind = behind if spans is None else spans[-1][1]  # what follows has its text behind this one
        if not (Markup(content).texts if inline is None else inline.has_words):
            continue
        if spans is None:
            lost.append(own[0][0])
            continue
        between = "" if len(spans) == 1 else text[spans[0][1] : spans[1][0]]
        if inline is None:
            blocks.append(_Html(spans[0][0], spans[-1][1], content, between))
        else:
            hard_break = ("\\" if _HARD_BREAK in content else "  ") + (between or "\n")
            blocks.append(_Block(spans[0][0], spans[-1][1], inline, in_table, in_paragraph, hard_break))
    return blocks, sorted(lost)


def _raw(state: StateInline, silent: bool) -> bool:
    """A rule of markdown-it for what `_RAW` finds."""
    found = _RAW.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _located(text: str, lines: list[Span], content: str) -> list[Span] | None:
    """The spans of the lines of a block in the lines of a file; None if they are not there."""
    spans: list[Span] = []
    left = iter(lines)
    for line in content.split("\n"):
        starts = ((text.find(line, *own)) for own in left)
        start = next((start for start in starts if start >= 0), -1)
        if start < 0:
            break
        spans.append((start, start + len(line)))
    else:
        return spans
    spaced = r"[\s>]+".join(map(re.escape, content.split()))  # tabs have become spaces
    match = re.compile(spaced).search(text, lines[0][0], lines[-1][1])
    return None if match is None else [match.span()]


def _inline(token: Token) -> Inline:
    """The text of a block."""
    inline = Inline()
    opened: list[int] = []
    is_address = False
    children = list(_without_bare_marks(token.children or []))
    ends = _ends_of_tags(children)
    closing = set(ends.values())
    for index, child in enumerate(children):
        if index in ends:
            opened.append(inline.open((child.content, _Link(end=children[ends[index]].content))))
        elif index in closing:
            inline.close(opened.pop())
        elif child.type in _PAIRS:
            opened.append(inline.open((child.markup, _Link(end=child.markup))))
        elif child.type == "link_open":
            is_address = child.markup == "autolink"
            if not is_address:
                opened.append(inline.open(("[", _link(child, token.content))))
        elif child.type == "link_close" and child.markup == "autolink":
            is_address = False
        elif child.type.endswith("_close"):
            inline.close(opened.pop())
        elif child.type in ("text", "text_special") and is_address:
            inline.leaf(f"<{child.content}>")
        elif child.type in ("text", "text_special"):
            _add_text(inline, child.content)
        elif child.type == "softbreak":
            inline.text(" ")
        elif child.type == "hardbreak":
            inline.divide(_HARD_BREAK)
        elif child.type == "html_code":
            inline.leaf(child.content, child.info)
        elif _HTML_BREAK.fullmatch(child.content):
            inline.divide(child.content)
        elif child.type == "code_inline":
            space = " " if child.content.startswith("`") or child.content.endswith("`") else ""
            inline.leaf(f"{child.markup}{space}{child.content}{space}{child.markup}", child.content)
        elif child.type == "image":
            inline.leaf(f"![{child.content}{_link(child, token.content).written(child.content)}")
        else:
            inline.leaf(child.content)
    return inline


def _without_bare_marks(parts: Iterable[Token]) -> Iterator[Token]:
    """The parts of a block. Emphasis around nothing but signs becomes one part, as it has no word to stand around; so
    does HTML around code.
    """
    from markdown_it.token import Token

    index, children = 0, list(parts)
    while index < len(children):
        first = children[index]
        inner, last = [*children[index + 1 : index + 3], None, None][:2]
        index += 1
        if inner is not None and last is not None and inner.type == "text":
            is_pair = first.type in _PAIRS and last.type == first.type[:-4] + "close"
            if is_pair and not any(map(str.isalnum, inner.content)):
                first = Token("html_inline", "", 0, content=first.markup + _escaped(inner.content) + first.markup)
                index += 2
            elif _is_code(first, last):
                content = first.content + _escaped(inner.content) + last.content
                first = Token("html_code", "", 0, content=content, info=inner.content)
                index += 2
        yield first


def _is_code(first: Token, last: Token) -> bool:
    """Whether two tags stand around code."""
    begin, end = _TAG.fullmatch(first.content), _TAG.fullmatch(last.content)
    if begin is None or end is None or begin["end"] or not end["end"]:
        return False
    return begin["name"].lower() in CODE and begin["name"].lower() == end["name"].lower()


def _ends_of_tags(children: list[Token]) -> dict[int, int]:
    """The end tag of each tag of HTML that stands around a part of a block, by their indices.

    A tag whose end stands elsewhere, as in another block, is left out.
    """
    ends: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    """Indices with names; those of Markdown are empty."""
    for index, child in enumerate(children):
        tag = _TAG.fullmatch(child.content) if child.type == "html_inline" else None
        if child.type.endswith("_open"):
            opened.append((index, ""))
        elif child.type.endswith("_close"):
            while opened.pop()[1]:
                pass
        elif tag is not None and not tag["end"]:
            opened.append((index, tag["name"].lower()))
        elif tag is not None:
            inner = list(takewhile(lambda one: one[1], reversed(opened[-MAX_ELEMENTS:])))
            own = next((depth for depth, (_, name) in enumerate(inner, 1) if name == tag["name"].lower()), 0)
            if own:
                ends[opened[-own][0]] = index
                del opened[-own:]
    return ends


def _link(token: Token, content: str) -> _Link:
    """The end of a link or a picture, which stands in `content`."""
    label = token.meta.get("label")
    if label is None:
        return _Link(end=f"]({_address(token)})")
    for reference in _REFERENCE.finditer(content):
        own = reference["label"] or reference["text"]
        if normalised(own) == normalised(label):
            return _Link(own, "][]" if reference["label"] == "" else "]" if reference["label"] is None else f"][{own}]")
    return _Link(label, f"][{label}]")


def _address(token: Token) -> str:
    """The address and the title of a link or a picture."""
    attributes: dict[str, Any] = dict(token.attrs)
    address = str(attributes.get("href", attributes.get("src", "")))
    title = attributes.get("title")
    address = re.sub(r"\\(?=[!-/:-@\[-`{-~])|&(?=#?\w+;)", lambda sign: "&amp;" if sign[0] == "&" else "\\\\", address)
    if re.search(r"[\s\x00-\x1f]", address) or not _is_balanced(address) or not address:
        address = f"<{address}>"
    return address + (' "' + str(title).replace('"', '\\"') + '"' if title else "")


def _is_balanced(address: str) -> bool:
    """Whether each bracket that is opened in an address is closed there, and no other is."""
    depth = 0
    for sign in address:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return False
    return depth == 0


def _add_text(inline: Inline, text: str) -> None:
    position = 0
    for kept in _KEPT.finditer(text):
        inline.text(text[position : kept.start()])
        ends = kept.end() == len(text) and kept[0].startswith(("{:", "{#", "{."))
        (inline.divide if ends else inline.leaf)(kept[0])  # attributes of a block stay at its end
        position = kept.end()
    inline.text(text[position:])


def _escaped(text: str) -> str:
    text = _SPECIAL.sub(lambda sign: "&amp;" if sign[0] == "&" else f"\\{sign[0]}", text)
    return _FORMULA_IN_TEXT.sub(lambda formula: formula[0].replace("$", "\\$"), text)


def _written(block: _Block, translated: str) -> str:
    """A translated text as Markdown."""
    result: list[str] = []
    starts: list[int] = []
    pairs: list[tuple[int, int]] = []
    for kind, payload in block.inline.pieces(translated):
        if kind == "text":
            result.append(_escaped(payload))
        elif kind == "leaf":
            result.append(payload)
        elif kind == "open":
            if payload[0] == "[" and result and result[-1].endswith("!"):  # which would make it a picture
                result[-1] = f"{result[-1][:-1]}\\!"
            result.append(payload[0])
            starts.append(len(result))
        else:
            start = starts.pop()
            inside = "".join(result[start:])
            if payload[0][0] not in "[<" and not inside.strip():  # emphasis of no word would be read as signs
                result[start - 1 :] = [inside]
                continue
            result.append(payload[1].written(inside))
            pairs.append((start - 1, len(result) - 1))
    for begin, end in pairs:
        outside = "".join(result[:begin])[-1:] + "".join(result[end + 1 :])[:1]
        if any(map(str.isalnum, outside)) and set(result[begin]) == {"_"}:  # within a word these are no emphasis
            result[begin] = result[end] = "*" * len(result[begin])
    text = "".join(result)
    if block.in_table:
        return re.sub(r"(?<!\\)\|", r"\\|", text)
    first, *others = text.split(_HARD_BREAK)
    first = _without_block(first) if block.in_paragraph else re.sub(r"(?<=\s)#+\Z", r"\\\g<0>", first)
    lines = [first, *map(_without_block, others)]
    return block.hard_break.join(lines)


def _without_block(line: str) -> str:
    """A line of text in which no block begins."""
    begun = _BLOCK.match(line)
    return line if begun is None else f"{begun['number']}\\{line[begun.end() :]}"
