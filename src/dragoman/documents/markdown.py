"""Markdown (.md): paragraphs, headings, items and cells of tables, where markdown-it finds them.

Code, links, pictures, footnotes, formulas between dollars and front matter stay. A paragraph becomes one line; links
by reference become links with their address.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.documents.document import Document, Languages, decoded
from dragoman.documents.inline import Inline

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_KEPT = re.compile(r"\[\^[^\]\s]+\]:?|\A\[[ xX]\](?= )|\$\S(?:[^$\n]*[^$\s])?\$|\{[%{].*?[%}]\}")
"""Footnotes, boxes of tasks, formulas, and what templates fill in."""
_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_BLOCK = re.compile(r"(?=(?:[-+#>=]|#{2,6}|\d+[.)])(?:\s|$))")
"""What would begin a block at the beginning of a line."""
_PAIRS = {"em_open": "*", "strong_open": "**", "s_open": "~~"}


class _Found(NamedTuple):
    """A text, [start, end) in the characters of the file."""

    start: int
    end: int
    inline: Inline | None
    """None for HTML."""
    in_table: bool


def read_markdown(content: bytes, languages: Languages) -> Document:
    """Read Markdown of the kind CommonMark, with tables and deletions.

    Raises:
        InputError: it is neither UTF-8 nor UTF-16.
    """
    text, encoding = decoded(content)
    found = _texts(text)

    def write(translations: list[str]) -> bytes:
        result: list[str] = []
        place = 0
        for one, translated in zip(found, translations, strict=True):
            result += [text[place : one.start], translated if one.inline is None else _written(one, translated)]
            place = one.end
        return "".join([*result, text[place:]]).encode(encoding)

    return Document([text[one.start : one.end] if one.inline is None else one.inline.markup for one in found], write)


def _texts(text: str) -> list[_Found]:
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    body = front.end() if front else 0
    lines = re.findall(r"[^\n]*\n|[^\n]+", text[body:])
    starts = [body, *(body + end for end in accumulate(map(len, lines)))]
    found: list[_Found] = []
    in_table = False
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text[body:]):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        start, end = starts[token.map[0]], starts[min(token.map[1], len(lines))]
        start = max(start, found[-1].end if found else 0)
        if token.type == "html_block":
            if text[start:end].strip() == token.content.strip():
                found.append(_Found(start, end, None, in_table=False))
            continue
        inline = _inline(token)
        content = token.content.replace("|", "\\|") if in_table else token.content
        first, *others = content.split("\n")
        start = text.find(first, start, end)
        for line in others:
            following = text.find("\n", start, end)
            at = text.find(line, following + 1, end) if following >= 0 else -1
            start, last = (start, at + len(line)) if at >= 0 else (-1, -1)
        if start >= 0 and inline.has_words:
            stop = last if others else start + len(first)
            found.append(_Found(start, stop, inline, in_table))
    return found


def _inline(token: Token) -> Inline:
    """The text of a block."""
    inline = Inline()
    opened: list[int] = []
    closing = ""
    for child in token.children or ():
        if child.type in _PAIRS:
            opened.append(inline.open((_PAIRS[child.type], _PAIRS[child.type])))
        elif child.type == "link_open":
            closing = "autolink" if child.markup == "autolink" else f"]({_address(child)})"
            if closing != "autolink":
                opened.append(inline.open(("[", closing)))
        elif child.type == "link_close" and child.markup == "autolink":
            closing = ""
        elif child.type.endswith("_close"):
            inline.close(opened.pop())
        elif child.type in ("text", "text_special") and closing == "autolink":
            inline.leaf(f"<{child.content}>")
        elif child.type in ("text", "text_special"):
            _add_text(inline, child.content)
        elif child.type == "softbreak":
            inline.text(" ")
        elif child.type == "hardbreak":
            inline.divide("\\\n")
        elif child.type == "code_inline":
            space = " " if child.content.startswith("`") or child.content.endswith("`") else ""
            inline.leaf(f"{child.markup}{space}{child.content}{space}{child.markup}", child.content)
        elif child.type == "image":
            inline.leaf(f"![{child.content}]({_address(child)})")
        else:
            inline.leaf(child.content)
    return inline


def _address(token: Token) -> str:
    """The address and the title of a link or a picture."""
    attributes: dict[str, Any] = dict(token.attrs)
    address = str(attributes.get("href", attributes.get("src", "")))
    title = attributes.get("title")
    return address + (' "' + str(title).replace('"', '\\"') + '"' if title else "")


def _add_text(inline: Inline, text: str) -> None:
    place = 0
    for kept in _KEPT.finditer(text):
        inline.text(text[place : kept.start()])
        inline.leaf(kept[0])
        place = kept.end()
    inline.text(text[place:])


def _written(one: _Found, translated: str) -> str:
    """A translated text as Markdown."""
    assert one.inline is not None
    result: list[str] = []
    for kind, thing in one.inline.pieces(translated):
        if kind == "text":
            result.append(_SPECIAL.sub(lambda sign: "&amp;" if sign[0] == "&" else f"\\{sign[0]}", thing))
        elif kind == "leaf":
            result.append(thing)
        else:
            result.append(thing[0 if kind == "open" else 1])
    text = "".join(result)
    if one.in_table:
        return re.sub(r"(?<!\\)\|", r"\\|", text)
    return _BLOCK.sub(r"\\", text, count=1) if _BLOCK.match(text) else text
