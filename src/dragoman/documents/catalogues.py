"""Catalogues of gettext (.po): entries without a translation get one that is marked as a machine's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from dragoman.documents.document import (
    Document,
    DoneUnit,
    Languages,
    RatedText,
    Units,
    as_html,
    as_text,
    decoded,
    remark,
)
from dragoman.errors import InputError

_CHARSET = re.compile(rb"charset=([\w-]+)")


def read_catalogue(content: bytes, languages: Languages) -> Document:
    """Read a gettext catalogue; new translations are fuzzy, and all forms of a plural are translated.

    All other lines stay as they are, but for the encoding in the header: it becomes UTF-8 if it lacks a character of a
    translation.

    Raises:
        InputError: it is damaged, or not in the encoding that it names.
    """
    import polib

    text, encoding = _text(content)
    try:
        catalogue = polib.pofile(f"{text}\n")
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise InputError(f"the file is not a catalogue, or is damaged: {error}") from None
    lines = text.splitlines(keepends=True)
    starts = [*(max(entry.linenum - 1, 0) for entry in catalogue), len(lines)]
    texts: list[str] = []
    places: list[str] = []
    done: list[DoneUnit] = []
    entries: list[tuple[Any, int, int]] = []
    for entry, start, end in zip(catalogue, starts, starts[1:], strict=False):
        translated = entry.msgstr or next(filter(None, entry.msgstr_plural.values()), "")
        if entry.obsolete or not entry.msgid.strip():
            continue
        if translated:
            done.append(DoneUnit(len(texts), entry.msgid, translated, entry.fuzzy))
            continue
        own = [as_html(one) for one in (entry.msgid, entry.msgid_plural) if one]
        texts += own
        places += [f"line {start + 1}"] * len(own)
        entries.append((entry, start, end))

    def write(translations: list[RatedText], confirmed: Collection[int] = ()) -> bytes:
        left = iter(enumerate(translations))
        result: list[str] = []
        position = 0
        for entry, start, end in entries:
            own = [next(left) for one in (entry.msgid, entry.msgid_plural) if one]
            if all(one.text for _, one in own):
                is_sure = all(number in confirmed for number, _ in own)
                filled = _filled(entry, lines[start:end], [one for _, one in own], is_sure=is_sure)
                result += [*lines[position:start], *filled]
                position = end
        written = "".join([*result, *lines[position:]])
        try:
            return written.encode(encoding)
        except UnicodeEncodeError:
            return written.replace(f"charset={encoding}", "charset=UTF-8", 1).encode()

    declared = Languages(target=catalogue.metadata.get("Language", ""))
    return Document(texts, write, places, Units(done, write), declared=declared)


def named_encoding(content: bytes) -> str | None:
    """The encoding that the header of a catalogue names."""
    named = _CHARSET.search(content)
    return None if named is None else named[1].decode()


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


def _filled(entry: Any, lines: list[str], translations: list[RatedText], *, is_sure: bool) -> Iterator[str]:
    """The lines of an entry with its translations; the entry becomes fuzzy unless they are sure."""
    from polib import POEntry

    one, several = as_text(translations[0].text), as_text(translations[-1].text)
    new = POEntry(msgid="a", msgstr=one)
    if entry.msgid_plural:
        forms = entry.msgstr_plural or {0: "", 1: ""}
        new = POEntry(msgid="a", msgid_plural="a")
        new.msgstr_plural = {number: one if number == min(forms) and len(forms) > 1 else several for number in forms}
    confidences = [one.confidence for one in translations if one.confidence is not None and not is_sure]
    first = next((number for number, line in enumerate(lines) if _is_translation(line)), len(lines))
    last = first
    while last < len(lines) and (_is_translation(lines[last]) or lines[last].startswith('"')):
        last += 1
    is_flagged = is_sure or any(line.startswith("#,") for line in lines[:first])
    end_of_line = "\r\n" if lines[0].endswith("\r\n") else "\n"
    comments = [f"# {remark(min(confidences))}{end_of_line}"] if confidences else []
    for line in lines[:first]:
        if comments and not line.startswith(("# ", "#\n", "#\r")):
            yield comments.pop()
        if line.startswith("#,") and not is_sure:
            line = line if "fuzzy" in line else f"{line.rstrip()}, fuzzy{end_of_line}"
        elif not is_flagged and not line.startswith(("# ", "#.", "#:", "#\n", "#\r")):
            yield f"#, fuzzy{end_of_line}"
            is_flagged = True
        yield line
    written = str(new).splitlines()
    yield from (f"{line}{end_of_line}" for line in written[[*map(_is_translation, written)].index(True) :] if line)
    yield from lines[last:]


def _is_translation(line: str) -> bool:
    return line.startswith("msgstr")
