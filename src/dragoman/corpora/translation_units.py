"""Units of translation memories and of files that translators exchange: .tmx, and XLIFF 1.2 and 2.

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

from dragoman.corpora.columns import SOURCE, TARGET, Record, Table
from dragoman.corpora.xml_stream import local_name, read_elements
from dragoman.errors import InputError
from dragoman.text.languages import base_language, known_language
from dragoman.text.raw_lines import is_blank

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

SAMPLE = 1000
"""Units from the beginning whose languages are looked at."""

_CODES = {"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"}
"""Elements that stand for code; hi, g, pc, mrk and all others stand around text."""

_PLACEHOLDER = re.compile(
    r"%%|%(?:\d+\$|\(\w+\))?[-+ #0]*\d*(?:\.\d+)?(?:hh?|ll?)?[a-zA-Z@]|%\d+|%\w+%|\$?\{\{?[\w.:,#-]*\}?\}|\$\w+|@\w+"
)
"""Placeholders that a program fills in: %s, %1$d, %(name)s, {0}, {{name}}, ${name}, %NAME%."""

_BREAK = re.compile(r"\s*(?:<\s*br\b.*|\\n|[\r\n]+|lb|fmt:lb|x-html-br)\s*", re.DOTALL | re.IGNORECASE)

UNTRANSLATED = {"new", "needs-translation", "initial", "NotStarted"}
"""States of units that have no translation yet."""
FUZZY = {
    *("needs-adaptation", "needs-l10n", "needs-review-adaptation", "needs-review-l10n", "needs-review-translation"),
    *("fuzzy-match", "dragoman:mt", "Unspecified", "Draft", "RejectedTranslation", "RejectedSignOff"),
    *("PreTranslated", "MachineTranslated", "AssembledFromFragments", "PartiallyEdited", "Rejected"),
}
"""States of units that somebody has to look at; those in capitals are of .sdlxliff, and of .mqxliff."""
_MEMOQ_STATUS = "{MQXliff}status"


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
            if local_name(variant) != "tuv":
                continue
            code = variant.get("{http://www.w3.org/XML/1998/namespace}lang") or variant.get("lang") or ""
            for segment in variant:
                if local_name(segment) == "seg" and code and not is_blank(text := inner_text(segment)):
                    texts.setdefault(language(code), text)
        yield texts

    def start(element: Element) -> None:
        code = element.get("srclang", "*all*")
        if code.lower() != "*all*":
            first.append(known_language(code) or code)

    units = read_elements(path, file, "tmx", ("tu",), starts={"header": start}, forgotten=("header",))
    return _table(path, _records(path, units, {"tu": unit}), first)


def open_xliff(path: Path, file: BinaryIO) -> Table:
    """Return the units of an XLIFF file: its trans-units, or their segments where they are marked.

    Raises:
        InputError: as for `open_tmx`.
    """
    names = [SOURCE, TARGET]
    first: list[str] = []

    def start(element: Element) -> None:
        """Note the languages of a file."""
        codes = (
            element.get("source-language", element.get("srcLang")),
            element.get("target-language", element.get("trgLang")),
        )
        if codes[0] and codes[1] and codes[0] != codes[1]:
            names[:] = [known_language(code) or code for code in codes if code]
            first[:] = first or names

    def trans_unit(element: Element) -> Iterator[Record]:
        source, target = (next(element.iterchildren(f"{{*}}{side}"), None) for side in (SOURCE, TARGET))
        if element.get("translate") == "no" and target is None:
            yield "not to be translated"
            return
        states = {element.get(_MEMOQ_STATUS)}
        states |= set() if target is None else {target.get("state"), target.get("state-qualifier")}
        marked = next(element.iterchildren("{*}seg-source"), None)
        sides = [{} if one is None else _marked_segments(one) for one in (marked, target)]
        if not sides[0] or not sides[1]:
            yield _checked(names, source, target, states)
            return
        by_number = {one.get("id"): one.get("conf", "Unspecified") for one in element.iterfind("{*}seg-defs/{*}seg")}
        for number, segment in sides[0].items():
            yield _checked(names, segment, sides[1].get(number), {*states, by_number.get(number)})

    def unit(element: Element) -> Iterator[Record]:
        for segment in element.iterchildren("{*}segment"):
            source, target = (next(segment.iterchildren(f"{{*}}{side}"), None) for side in (SOURCE, TARGET))
            yield _checked(names, source, target, {segment.get("state"), segment.get("subState")})

    readers = {"trans-unit": trans_unit, "unit": unit}
    starts = {"file": start, "xliff": start}
    units = read_elements(path, file, "xliff", readers, starts=starts, forgotten=("group", "file", "header"))
    return _table(path, _records(path, units, readers), first)


def _records(
    path: Path, units: Iterator[Element], readers: Mapping[str, Callable[[Element], Iterator[Record]]]
) -> Iterator[tuple[str, Record]]:
    """The records of each unit; `readers` are the functions that read elements, by name."""
    for number, element in enumerate(units, 1):
        try:
            for record in readers[local_name(element)](element):
                yield f"{path}, unit {number}", record
        except _UnknownEntityError as error:
            raise InputError(f"{path}, unit {number}: has the entity {error}, which XML does not know") from None


def _table(path: Path, records: Iterator[tuple[str, Record]], first: list[str]) -> Table:
    """A table of records by language. `first` has the languages that come first; it is complete once a record is
    read."""
    begun = list(islice(records, SAMPLE))
    sample = [record for _, record in begun if not isinstance(record, str)]
    languages = dict.fromkeys(name for record in sample for name in record)
    names = sorted(languages, key=lambda name: not any(base_language(name) == base_language(one) for one in first))
    if not names or set(names) == set(first):
        names = list(first or (SOURCE, TARGET))
    return Table(path, names, chain(begun, records), sample, "languages")


def _marked_segments(element: Element) -> dict[str | None, Element]:
    """The sentences of a unit by number."""
    return {mark.get("mid"): mark for mark in element.iter("{*}mrk") if mark.get("mtype") == "seg"}


def _checked(names: list[str], source: Element | None, target: Element | None, states: Any) -> Record:
    """The sides of a unit, or why it is left out."""
    if source is None or target is None or not (text := inner_text(target)).strip():
        return "untranslated"
    if UNTRANSLATED & set(states):
        return "untranslated"
    if FUZZY & set(states):
        return "fuzzy"
    return {names[0]: inner_text(source), names[1]: text}


def inner_text(element: Element) -> str:
    """Return the text of an element without inline markup."""
    parts: list[str] = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str):  # an entity: the parser removes comments and processing instructions
            raise _UnknownEntityError(child.text)
        parts.append(_code(child) if local_name(child) in _CODES else inner_text(child))
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
