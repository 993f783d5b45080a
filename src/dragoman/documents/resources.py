"""Texts of programs (.json, .yaml, .properties, .strings, .resx, Android's strings.xml): values, not keys or comments.

Only the characters of the values change. Line breaks in a value divide it; its tags are elements of the sentence.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple
from xml.parsers import expat

import yaml

from dragoman.documents.document import (
    CASES,
    Document,
    Languages,
    as_html,
    as_text,
    declaring_utf8,
    decoded,
    line_places,
    texts_alone,
)
from dragoman.documents.html_text import unescaped
from dragoman.errors import InputError
from dragoman.text.raw_lines import has_letter

_NO_TEXT = re.compile(r"\S+://\S+|[\w.+-]+@[\w.-]+|[./~@?]\S*/\S*|#[0-9a-fA-F]{3,8}|\{+[^{} ]*\}+|%\S+")
"""Addresses, paths, references, colours, and values that are filled in as a whole."""
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_ANCHOR_OR_TAG = re.compile(r"(?:[&!]\S*\s+)+")
_APPLE = re.compile(
    r"/\*.*?\*/|//[^\n]*|"
    r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[\w.$:/-]++)\s*=\s*"""
    r"""(?P<quote>["'])(?P<value>(?:(?!(?P=quote))[^\\]|\\.)*+)(?P=quote)\s*;""",
    re.DOTALL,
)
_PROPERTY = re.compile(
    r"^[ \t\f]*+(?![#!])(?:\\.|[^\\\s=:])++(?:[ \t\f]*+[=:]|[ \t\f])[ \t\f]*+"
    r"(?P<value>(?:\\(?:\r\n|.|\n)|[^\\\r\n])*+)",
    re.MULTILINE,
)
_ATTRIBUTES = r"""(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)(?<!/)>"""
_STAYS = r"""\btranslatable\s*=\s*["']false"""
_ANDROID = re.compile(
    rf"<!--.*?-->|<(?P<list>string-array|plurals)\b[^>]*{_STAYS}.*?</(?P=list)>"
    rf"|<(?P<name>string|item)(?=[\s>]){_ATTRIBUTES}(?P<value>.*?)</(?P=name)>",
    re.DOTALL,
)
_RESX = re.compile(
    rf"<!--.*?-->|<data\b{_ATTRIBUTES}(?:(?!</data>).)*?<value\b[^/>]*>(?P<value>.*?)</value>", re.DOTALL
)
_RESX_NO_TEXT = re.compile(r"""\b(?:type|mimetype)\s*=|\bname\s*=\s*["'](?:&gt;|>){2}""")
"""Attributes of objects, and of the notes of a designer of forms."""
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)([A-Za-z][\w.-]*);")
"""An entity that the file declares."""
_ARGUMENT = re.compile(r"\{\d+[,}]")
"""Of a MessageFormat of Java, in which an apostrophe is written twice: one alone would keep arguments from being filled
in."""
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ANDROID_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<sign>.))", re.DOTALL)
_CDATA = re.compile(r"\s*<!\[CDATA\[(?P<value>(?:(?!\]\]>).)*)\]\]>\s*", re.DOTALL)
"""A value that is one CDATA section."""


class _Value(NamedTuple):
    """A value, [start, end) in the characters of the file."""

    start: int
    end: int
    markup: str
    write: Callable[[str], str]
    """The translated value as it is written in the file."""


def read_json(content: bytes, languages: Languages) -> Document:
    """Read JSON; the values that are strings are texts.

    Raises:
        InputError: it is not JSON.
    """
    text, encoding = decoded(content)
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the file is not JSON: {error}") from None
    ascii_only = text.isascii()

    def values() -> Iterator[_Value]:
        for match in _JSON_STRING.finditer(text):
            if not text[match.end() : match.end() + 64].lstrip().startswith(":"):
                yield _plain(*match.span(), json.loads(match[0]), lambda one: json.dumps(one, ensure_ascii=ascii_only))

    return _document(text, encoding, values())


def read_yaml(content: bytes, languages: Languages) -> Document:
    """Read YAML; the values that are strings are texts. Blocks of several lines become strings in quotes.

    Raises:
        InputError: it is not YAML.
    """
    text, encoding = decoded(content)
    try:
        roots = [root for root in yaml.compose_all(text, Loader=yaml.SafeLoader) if root is not None]
        values = sorted(_yaml_values(roots, text), key=lambda value: value.start)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"the file is not YAML: {' '.join(str(error).split())}") from None
    return _document(text, encoding, values)


def _yaml_values(roots: list[yaml.Node], text: str) -> Iterator[_Value]:
    waiting, seen = list(roots), set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            start, end = node.start_mark.index, node.end_mark.index
            named = _ANCHOR_OR_TAG.match(text, start, end)
            start = start if named is None else named.end()
            end = start + len(text[start:end].rstrip(" \t\r\n"))  # a block goes on to the next line with text
            yield _plain(start, end, node.value, partial(json.dumps, ensure_ascii=False))


def read_properties(content: bytes, languages: Languages) -> Document:
    """Read properties of Java in UTF-8 or Latin-1; characters beyond ASCII are escaped unless the file has some in
    UTF-8.
    """
    try:
        text, encoding = decoded(content)
    except InputError:
        text, encoding = content.decode("latin-1"), "latin-1"
    escaped = content.isascii() or encoding == "latin-1"

    def written(value: str) -> str:
        value = re.sub(r"[\\\n\r\t]|\A ", lambda one: _ESCAPED.get(one[0], f"\\{one[0]}"), value)
        if not escaped:
            return value
        units = value.encode("utf-16-be")
        codes = (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)

    def value(match: re.Match[str]) -> _Value:
        shown = _unescaped(match["value"])
        if not _ARGUMENT.search(shown) or "'" in shown.replace("''", ""):
            return _plain(*match.span("value"), shown, written)
        one = shown.replace("''", "'")
        return _plain(*match.span("value"), one, lambda translated: written(translated.replace("'", "''")))

    return _document(text, encoding, map(value, _PROPERTY.finditer(text)))


def read_apple_strings(content: bytes, languages: Languages) -> Document:
    """Read strings of iOS and macOS.

    Raises:
        InputError: they are neither UTF-8 nor UTF-16.
    """
    text, encoding = decoded(content)

    def written(value: str, quote: str) -> str:
        return re.sub(rf"[\\{quote}\n\r]", lambda one: _ESCAPED.get(one[0], f"\\{one[0]}"), value)

    values = (
        _plain(*match.span("value"), _unescaped(match["value"]), partial(written, quote=match["quote"]))
        for match in _APPLE.finditer(text)
        if match["value"]
    )
    return _document(text, encoding, values)


def read_resx(content: bytes, languages: Languages) -> Document:
    """Read resources of .NET; data with a type or in base 64 stay.

    Raises:
        InputError: they are no XML, or neither UTF-8 nor UTF-16.
    """
    text, encoding = _decoded_xml(content)

    def value(start: int, end: int, raw: str) -> _Value:
        section = _CDATA.fullmatch(raw)
        if section is not None:
            first, last = (start + offset for offset in section.span("value"))
            return _plain(first, last, section["value"], _section)
        return _plain(start, end, as_text(raw), partial(html.escape, quote=False))

    rows = [
        (*match.span("value"), match["value"])
        for match in _RESX.finditer(text)
        if match["value"] and not _RESX_NO_TEXT.search(match["attributes"])
    ]
    return _document(text, encoding, *_readable(rows, value, "<"))


def read_android_strings(content: bytes, languages: Languages) -> Document:
    """Read strings of Android; those with translatable="false" stay.

    Raises:
        InputError: they are no XML, or neither UTF-8 nor UTF-16.
    """
    text, encoding = _decoded_xml(content)

    def value(start: int, end: int, raw: str) -> _Value:
        section = _CDATA.fullmatch(raw)
        if section is not None:
            start, end, raw = (start + section.start("value"), start + section.end("value"), section["value"])
        # Quotation marks around a value keep its spaces; others are escaped.
        quotes = "['\"]" if re.search(r'\\(?:"|u0022)', raw) and not raw.startswith('"') else "'"
        markup = _ANDROID_ESCAPE.sub(_shown_escape, raw)
        if section is None:
            markup = _ENTITY.sub(r"<span data-entity translate=no>\1</span>", markup)
            markup = markup.replace("<xliff:g", "<xliff:g translate=no")

        def written(translated: str) -> str:
            translated = re.sub(r"<span data-entity translate=no>([^<]*)</span>", r"&\1;", translated)
            translated = translated.replace("<xliff:g translate=no", "<xliff:g")
            translated = translated.replace("<br data-line>", "\\n").replace("<br data-tab>", "\\t")
            translated = re.sub(r"<br data-code=(\w+)>", r"\\u\1", translated)
            result = re.sub(rf"(?<!\\){quotes}(?![^<]*>)|\A[@?]", r"\\\g<0>", translated)
            if section is None:
                return result
            # Without an entity in it, a section is text as it is shown, in which & stands for itself.
            return _section(result if unescaped(raw) != raw else unescaped(result))

        return _Value(start, end, markup, written)

    rows = [
        (*match.span("value"), match["value"])
        for match in _ANDROID.finditer(text)
        if match["value"] and not re.search(_STAYS, match["attributes"])
    ]
    return _document(text, encoding, *_readable(rows, value, "<!"))


def _shown_escape(escape: re.Match[str]) -> str:
    """A character that a value of Android escapes, as HTML; characters that text cannot show divide it and stay."""
    code, sign = escape["code"], escape["sign"]
    if code is None:
        return {"n": "<br data-line>", "t": "<br data-tab>"}.get(sign, sign if sign in "'\"@?" else escape[0])
    character = chr(int(code, 16))
    if character in " \\" or unicodedata.category(character) in ("Cc", "Cs"):
        return f"<br data-code={code}>"
    return html.escape(character, quote=False)


def _decoded_xml(content: bytes) -> tuple[str, str]:
    """As `decoded`, of XML that is not damaged."""
    text, encoding = decoded(content)
    try:
        expat.ParserCreate().Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"the file is not XML, or is damaged: {error}") from None
    return (text if encoding.startswith("utf-16") else declaring_utf8(text)), encoding


def _readable(
    rows: list[tuple[int, int, str]], value: Callable[[int, int, str], _Value], foreign: str
) -> tuple[list[_Value], list[int]]:
    """The values of rows, and the positions of rows that hold more than text or one CDATA section."""
    read = [value(*row) for row in rows if foreign not in row[2] or _CDATA.fullmatch(row[2])]
    lost = [start for start, _, raw in rows if foreign in raw and not _CDATA.fullmatch(raw)]
    return read, lost


def _section(value: str) -> str:
    """Text as it stands in a CDATA section."""
    return value.replace("]]>", "]]]]><![CDATA[>")


def _document(text: str, encoding: str, values: Iterable[_Value], lost: Iterable[int] = ()) -> Document:
    """The values of a file that have words; `lost` has the positions of values that cannot be read."""
    words = [one for one in values if has_letter(one.markup) and not _NO_TEXT.fullmatch(one.markup.strip())]
    texts = [one for one in words if not CASES.search(one.markup)]
    left = sorted([*lost, *(one.start for one in words if CASES.search(one.markup))])

    def write(translations: list[str]) -> bytes:
        result: list[str] = []
        position = 0
        for one, translated in zip(texts, translations, strict=True):
            same = translated == one.markup
            result += [text[position : one.start], text[one.start : one.end] if same else one.write(translated)]
            position = one.end
        return "".join([*result, text[position:]]).encode(encoding)

    places = line_places(text, (one.start for one in texts))
    return Document([one.markup for one in texts], texts_alone(write), places, untranslated=line_places(text, left))


def _plain(start: int, end: int, value: str, write: Callable[[str], str]) -> _Value:
    # Pairs of surrogates are one character, and others are none.
    value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _Value(start, end, as_html(value), lambda translated: write(as_text(translated)))


def _unescaped(value: str) -> str:
    """A value of properties or strings without its escapes and line breaks."""
    value = re.sub(r"\\\r?\n[ \t]*", "", value)
    named = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}

    def character(match: re.Match[str]) -> str:
        return chr(int(match["code"], 16)) if match["code"] else named.get(match["one"], match["one"])

    return re.sub(r"\\(?:[uU](?P<code>[0-9a-fA-F]{4})|(?P<one>.))", character, value)
