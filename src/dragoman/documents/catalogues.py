"""Catalogues of gettext (.po): entries without a translation get one that is marked as a machine's."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dragoman.corpora.catalogues import parse_catalogue
from dragoman.documents.document import (
    CASES,
    REMARK,
    Document,
    DoneUnit,
    Languages,
    RatedText,
    Review,
    Units,
    as_html,
    as_text,
    decoded,
    remark,
)
from dragoman.errors import InputError

_CHARSET = re.compile(rb"charset=([\w-]+)")
_LINE_END = re.compile("[\x1c-\x1e\x85\u2028\u2029]")
"""Characters that end a line for polib, which does not escape them."""


def read_catalogue(content: bytes, languages: Languages) -> Document:
    """Read a gettext catalogue; new translations are fuzzy, and all empty forms of a plural are translated.

    All other lines stay as they are, but for the encoding in the header: it becomes UTF-8 if it lacks a character of a
    translation, or if the file is UTF-8.

    Raises:
        InputError: it is damaged, or not in the encoding that it names.
    """
    text, encoding = _text(content)
    try:
        catalogue = parse_catalogue(text)
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise InputError(f"the file is not a catalogue, or is damaged: {error}") from None
    lines = text.splitlines(keepends=True)
    starts = [*(max(entry.linenum - 1, 0) for entry in catalogue), len(lines)]
    texts: list[str] = []
    places: list[str] = []
    untranslated: list[str] = []
    done: list[DoneUnit] = []
    entries: list[tuple[Any, int, int]] = []
    fuzzy: list[tuple[Any, int, int, int]] = []
    """Fuzzy entries with their lines, and the index in `done` of their first form."""
    for entry, start, end in zip(catalogue, starts, starts[1:], strict=False):
        forms = _forms(entry)
        targets = [target for _, target in forms]
        if entry.obsolete or not entry.msgid.strip():
            continue
        if any(targets) and entry.fuzzy:
            fuzzy.append((entry, start, end, len(done)))
            done += [DoneUnit(len(texts), source, target, fuzzy=True) for source, target in forms]
            continue
        if all(targets):
            done.append(DoneUnit(len(texts), entry.msgid, targets[0], fuzzy=False))
            continue
        if CASES.search(entry.msgid):
            untranslated.append(f"line {start + 1}")
            continue
        own = [as_html(one) for one in (entry.msgid, entry.msgid_plural) if one]
        texts += own
        places += [f"line {start + 1}"] * len(own)
        entries.append((entry, start, end))

    def write(
        translations: list[RatedText], confirmed: Collection[int] = (), reviews: Mapping[int, Review] | None = None
    ) -> bytes:
        left = iter(enumerate(translations))
        edits: list[tuple[int, int, list[str]]] = []
        for entry, start, end in entries:
            own = [next(left) for one in (entry.msgid, entry.msgid_plural) if one]
            if all(one.text for _, one in own):
                is_sure = all(number in confirmed for number, _ in own)
                filled = _filled(entry, lines[start:end], [one for _, one in own], is_sure=is_sure)
                edits.append((start, end, filled))
        for entry, start, end, first in fuzzy:
            own_reviews = [(reviews or {}).get(first + form) for form in range(len(_forms(entry)))]
            if any(own_reviews):
                edits.append((start, end, _reviewed(entry, lines[start:end], own_reviews)))
        result: list[str] = []
        position = 0
        for start, end, own_lines in sorted(edits):
            result += [*lines[position:start], *own_lines]
            position = end
        written = "".join([*result, *lines[position:]])
        return _encoded(written, encoding, named_encoding(content))

    declared = Languages(target=catalogue.metadata.get("Language", ""))
    return Document(texts, write, places, Units(done, write), untranslated=untranslated, declared=declared)


def named_encoding(content: bytes) -> str | None:
    """The encoding that the header of a catalogue names."""
    named = _CHARSET.search(content)
    return None if named is None else named[1].decode()


def encoding_note(before: bytes, after: bytes) -> str:
    """What is to be said of the encoding of a written catalogue; "" if its header still names the same."""
    named = named_encoding(before)
    return "" if named == named_encoding(after) else f"file and header are UTF-8 now; the header named {named}"


def _encoded(text: str, encoding: str, named: str | None) -> bytes:
    """A catalogue in an encoding, or in UTF-8 if that lacks characters of it; then its header names UTF-8."""
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        content, encoding = text.encode(), "utf-8"
    if named is None or content.isascii() or not _is_utf_8(encoding) or _is_utf_8(named):
        return content
    return text.replace(f"charset={named}", "charset=UTF-8", 1).encode(encoding)


def _is_utf_8(name: str) -> bool:
    try:
        return codecs.lookup(name).name.startswith("utf-8")
    except LookupError:
        return False


def _text(content: bytes) -> tuple[str, str]:
    """A catalogue, and the encoding in which it is written again: UTF-8, or what its header names."""
    named = named_encoding(content)
    try:
        text, encoding = decoded(content)
    except InputError:
        if named is None:
            raise
        try:
            return content.decode(named), named
        except (UnicodeDecodeError, LookupError):
            raise InputError(f"the file is not {named}, which its header names") from None
    if content.isascii() and named is not None:  # the translation may not be ASCII
        with suppress(LookupError, UnicodeError):
            encoding = named if content.decode(named) == text else encoding
    return text, encoding


def _forms(entry: Any) -> list[tuple[str, str]]:
    """The message and the translation of each form of an entry."""
    forms = entry.msgstr_plural
    if not forms:
        return [(entry.msgid, entry.msgstr)]
    first = min(forms) if len(forms) > 1 else None
    return [(entry.msgid if form == first else entry.msgid_plural, forms[form]) for form in sorted(forms)]


def _filled(entry: Any, lines: list[str], translations: list[RatedText], *, is_sure: bool) -> list[str]:
    """The lines of an entry with its translations; the entry becomes fuzzy unless they are sure."""
    one, several = as_text(translations[0].text), as_text(translations[-1].text)
    numbers = entry.msgstr_plural or {0: "", 1: ""}
    forms = {
        number: there or (one if number == min(numbers) and len(numbers) > 1 else several)
        for number, there in numbers.items()
    }
    filled = _with_translation(lines, forms if entry.msgid_plural else one)
    if is_sure:
        return list(_without_fuzzy(filled))
    confidences = [one.confidence for one in translations if one.confidence is not None]
    return list(_with_fuzzy(filled, f"# {remark(min(confidences))}" if confidences else ""))


def _reviewed(entry: Any, lines: list[str], reviews: Sequence[Review | None]) -> list[str]:
    """The lines of a fuzzy entry as a person has left its forms; it stays fuzzy unless all of them are confirmed."""
    forms = _forms(entry)
    texts = [
        target if review is None or review.target == target else _framed(review.target, source)
        for (source, target), review in zip(forms, reviews, strict=True)
    ]
    if texts != [target for _, target in forms]:
        numbers = sorted(entry.msgstr_plural)
        lines = _with_translation(lines, dict(zip(numbers, texts, strict=True)) if numbers else texts[0])
    is_sure = all(review is not None and review.confirmed for review in reviews)
    return list(_without_fuzzy(lines)) if is_sure else lines


def _framed(text: str, source: str) -> str:
    """A translation that begins and ends with a line break where its message does, as gettext requires."""
    own = _LINE_END.sub("\n", text).strip("\n")
    return "\n" * source.startswith("\n") + own + "\n" * source.endswith("\n")


def _head(lines: list[str]) -> int:
    """How many lines of an entry stand before its translation."""
    return next((number for number, line in enumerate(lines) if _is_translation(line)), len(lines))


def _with_translation(lines: list[str], translation: str | dict[int, str]) -> list[str]:
    """The lines of an entry with another translation, or with one for each form."""
    from polib import POEntry

    new = POEntry(msgid="a")
    if isinstance(translation, str):
        new.msgstr = translation
    else:
        new.msgid_plural, new.msgstr_plural = "a", translation
    first = last = _head(lines)
    while last < len(lines) and (_is_translation(lines[last]) or lines[last].lstrip().startswith('"')):
        last += 1
    written = str(new).splitlines()
    shown = [f"{line}{_end_of_line(lines)}" for line in written[[*map(_is_translation, written)].index(True) :] if line]
    return [*lines[:first], *shown, *lines[last:]]


def _with_fuzzy(lines: list[str], comment: str) -> Iterator[str]:
    """The lines of an entry that is fuzzy, with a comment behind its others unless that is empty."""
    first, end_of_line = _head(lines), _end_of_line(lines)
    is_flagged = any(line.startswith("#,") for line in lines[:first])
    comments = [f"{comment}{end_of_line}"] if comment else []
    for line in lines[:first]:
        if comments and not line.startswith(("# ", "#\n", "#\r")):
            yield comments.pop()
        if line.startswith("#,"):
            line = line if "fuzzy" in line else f"{line.rstrip()}, fuzzy{end_of_line}"
        elif not is_flagged and not line.startswith(("# ", "#.", "#:", "#\n", "#\r")):
            yield f"#, fuzzy{end_of_line}"
            is_flagged = True
        yield line
    yield from lines[first:]


def _without_fuzzy(lines: list[str]) -> Iterator[str]:
    """The lines of an entry that is not fuzzy: without this flag, the previous message and a remark of a machine."""
    first = _head(lines)
    for line in lines[:first]:
        if line.startswith("#|") or REMARK.fullmatch(line.removeprefix("# ").strip()):
            continue
        flags = [flag.strip() for flag in line.removeprefix("#,").split(",")] if line.startswith("#,") else []
        if "fuzzy" not in flags:
            yield line
        elif kept := [flag for flag in flags if flag != "fuzzy"]:
            yield f"#, {', '.join(kept)}{_end_of_line(lines)}"
    yield from lines[first:]


def _end_of_line(lines: list[str]) -> str:
    return "\r\n" if lines[0].endswith("\r\n") else "\n"


def _is_translation(line: str) -> bool:
    return line.lstrip().startswith("msgstr")
