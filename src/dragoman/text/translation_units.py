"""Units of translation memories and of files that translators exchange: .tmx, and XLIFF 1.2 and 2.

A file is read as a stream, with lxml. It may name a document type, but not declare entities; nothing else is opened for
it, and libxml2's limits hold: 256 levels of elements, 10 million characters in a text.

Inline markup goes, and the text that it formats stays. The code that an element stands for goes too, except for a
placeholder of a program, such as %s or {name}, which is a part of the sentence; the code of a line break becomes a
space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dragoman.errors import InputError
from dragoman.text.columns import SOURCE, TARGET, Record, Table
from dragoman.text.languages import base_language, known_language
from dragoman.text.words import is_blank

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_EMPTIED = ("group", "file", "header")
"""Elements around or beside units that are forgotten too as they end."""

SAMPLE = 1000
"""Units from the beginning whose languages are looked at."""

_CODES = {"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"}
"""Elements that stand for code; hi, g, pc, mrk and all others stand around text."""

_PLACEHOLDER = re.compile(
    r"%%|%(?:\d+\$|\(\w+\))?[-+ #0]*\d*(?:\.\d+)?(?:hh?|ll?)?[a-zA-Z@]|%\d+|%\w+%|\$?\{\{?[\w.:,#-]*\}?\}|\$\w+|@\w+"
)
"""What a program puts something in place of: %s, %1$d, %(name)s, {0}, {{name}}, ${name}, %NAME%."""

_BREAK = re.compile(r"\s*(?:<\s*br\b.*|\\n|[\r\n]+|lb|fmt:lb|x-html-br)\s*", re.DOTALL | re.IGNORECASE)

_UNTRANSLATED = {"new", "needs-translation", "initial"}
_FUZZY = {
    *("needs-adaptation", "needs-l10n", "needs-review-adaptation", "needs-review-l10n", "needs-review-translation"),
    *("fuzzy-match", "Draft", "RejectedTranslation", "RejectedSignOff"),
}
"""States of units that somebody has to look at; those in capitals are of .sdlxliff."""


class _UnknownEntityError(Exception):
    """A text has an entity that is not declared, such as &nbsp;."""


def open_tmx(path: Path, file: BinaryIO) -> Table:
    """Return the units of a translation memory by language; the language that it is translated from comes first.

    Raises:
        InputError: it is not XML, declares entities, is nested too deeply, or is no TMX; also as the records are read.
    """
    first: list[str] = []
    language = cache(lambda code: known_language(code) or code)

    def unit(element: Element) -> Iterator[Record]:
        texts: dict[str, str] = {}
        for variant in element:
            if _name(variant) != "tuv":
                continue
            code = variant.get("{http://www.w3.org/XML/1998/namespace}lang") or variant.get("lang") or ""
            for segment in variant:
                if _name(segment) == "seg" and code and not is_blank(text := inner_text(segment)):
                    texts.setdefault(language(code), text)
        yield texts

    def start(element: Element) -> None:
        code = element.get("srclang", "*all*")
        if code.lower() != "*all*":
            first.append(known_language(code) or code)

    records = _units(path, file, "tmx", {"tu": unit}, {"header": start})
    return _table(path, records, first)


def open_xliff(path: Path, file: BinaryIO) -> Table:
    """Return the units of an XLIFF file: its trans-units, or their segments where they are marked.

    Raises:
        InputError: as for `open_tmx`.
    """
    names = [SOURCE, TARGET]

    def start(element: Element) -> None:
        """Note the languages of a file."""
        codes = (
            element.get("source-language", element.get("srcLang")),
            element.get("target-language", element.get("trgLang")),
        )
        if codes[0] and codes[1] and codes[0] != codes[1]:
            names[:] = [known_language(code) or code for code in codes if code]

    def trans_unit(element: Element) -> Iterator[Record]:
        source, target = (next(element.iterchildren(f"{{*}}{side}"), None) for side in (SOURCE, TARGET))
        if element.get("translate") == "no" and target is None:
            yield "not to be translated"
            return
        states = {} if target is None else {target.get("state"), target.get("state-qualifier")}
        marked = next(element.iterchildren("{*}seg-source"), None)
        sides = [{} if one is None else _marked_segments(one) for one in (marked, target)]
        if not sides[0] or not sides[1]:
            yield _checked(names, source, target, states)
            return
        by_number = {one.get("id"): one.get("conf") for one in element.iterfind("{*}seg-defs/{*}seg")}
        for number, segment in sides[0].items():
            yield _checked(names, segment, sides[1].get(number), {*states, by_number.get(number)})

    def unit(element: Element) -> Iterator[Record]:
        for segment in element.iterchildren("{*}segment"):
            source, target = (next(segment.iterchildren(f"{{*}}{side}"), None) for side in (SOURCE, TARGET))
            yield _checked(names, source, target, {segment.get("state")})

    records = _units(path, file, "xliff", {"trans-unit": trans_unit, "unit": unit}, {"file": start, "xliff": start})
    return _table(path, records, names)


def _table(path: Path, records: Iterator[tuple[str, Record]], first: list[str]) -> Table:
    """A table of records by language; `first` has those that come first, once a record has been read."""
    begun = list(islice(records, SAMPLE))
    sample = [record for _, record in begun if not isinstance(record, str)]
    found = dict.fromkeys(name for record in sample for name in record)
    names = sorted(found, key=lambda name: not any(base_language(name) == base_language(one) for one in first))
    if not names or set(names) == set(first):
        names = list(first)
    return Table(path, names, chain(begun, records), sample, "languages")


def _marked_segments(element: Element) -> dict[str | None, Element]:
    """The sentences of a unit by number."""
    return {mark.get("mid"): mark for mark in element.iter("{*}mrk") if mark.get("mtype") == "seg"}


def _checked(names: list[str], source: Element | None, target: Element | None, states: Any) -> Record:
    """The sides of a unit, or why it is left out."""
    if source is None or target is None or not (text := inner_text(target)).strip():
        return "untranslated"
    if _UNTRANSLATED & set(states):
        return "untranslated"
    if _FUZZY & set(states):
        return "fuzzy"
    return {names[0]: inner_text(source), names[1]: text}


def inner_text(element: Element) -> str:
    """Return the text of an element without inline markup."""
    parts: list[str] = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str):  # no comment and no processing instruction, which the parser removes
            raise _UnknownEntityError(child.text)
        parts.append(_code(child) if _name(child) in _CODES else inner_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _code(element: Element) -> str:
    """What stays of an element that stands for code: a placeholder, or a space for a line break."""
    for code in (element.text, *map(element.get, ("equiv-text", "equiv", "disp", "ctype", "type", "subType"))):
        if code and _PLACEHOLDER.fullmatch(code.strip()):
            return str(code).strip()
        if code and _BREAK.fullmatch(code):
            return " "
    return ""


def _name(element: Element) -> str:
    tag = str(element.tag)
    return tag.rpartition("}")[2] if tag[0] == "{" else tag


def _units(
    path: Path,
    file: BinaryIO,
    root: str,
    ends: Mapping[str, Callable[[Element], Iterator[Record]]],
    starts: Mapping[str, Callable[[Element], None]],
) -> Iterator[tuple[str, Record]]:
    """Yield what functions make of elements as these end; they are then forgotten.

    Args:
        root: the name of the element of the whole file.
        ends: functions by the name of the element.
        starts: functions that look at the attributes of elements as these begin.
    """
    from lxml import etree

    parser = etree.iterparse(
        file, events=("start", "end"), tag=[f"{{*}}{name}" for name in (root, *ends, *starts, *_EMPTIED)],
        resolve_entities=False, no_network=True, load_dtd=False,
        huge_tree=False, remove_comments=True,
        remove_pis=True,
    )  # fmt: skip
    number = 0
    checked = False
    try:
        for event, element in parser:
            name = _name(element)
            if not checked:
                _require_root(path, element, root)
                checked = True
            if event == "start":
                if name in starts:
                    starts[name](element)
                continue
            if name in ends:
                number += 1
                for record in ends[name](element):
                    yield f"{path}, unit {number}", record
            if name in ends or name in _EMPTIED:
                element.clear(keep_tail=False)
                parent = element.getparent()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
        if not checked:
            _require_root(path, parser.root, root)
    except _UnknownEntityError as error:
        raise InputError(f"{path}, unit {number}: has the entity {error}, which XML does not know") from None
    except etree.XMLSyntaxError as error:
        first = next(iter(parser.error_log), None)
        line, told = (error.lineno or 1, error.msg) if first is None else (first.line, first.message)
        raise InputError(f"{path}:{line}: not XML, or damaged: {told}") from None


def _require_root(path: Path, element: Element, root: str) -> None:
    """Refuse a file of another kind, and one that declares entities."""
    found = _name(element.getroottree().getroot())
    if found != root:
        raise InputError(f"{path}: its outermost element is {found}, not {root}; name the file by its kind")
    declared = element.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise InputError(f"{path}: declares entities, which is not allowed in a corpus; replace them by their text")
