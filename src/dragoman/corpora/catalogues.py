"""Catalogues of messages of programs: .po and .mo files, read by polib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dragoman.corpora.columns import SOURCE, TARGET, Record, Table
from dragoman.errors import InputError
from dragoman.text.languages import known_language

if TYPE_CHECKING:
    from polib import POEntry, POFile

LARGEST = 1 << 28
"""Bytes of a catalogue, which is held in memory."""

_CHARSET = re.compile(rb"charset=([\w-]+)")
_LINE = re.compile(r'(?:msg\w+(?:\[\d+\])?\s*)?"(?:.*[^\\])?(?:\\\\)*"|#.*|')
"""A keyword with a text, a further line of a text, a comment, or nothing."""


def parse_catalogue(text: str) -> POFile:
    """Return the messages of a .po file.

    Raises:
        OSError: a line is not of a catalogue. Where a quote is missing polib would drop a letter in its place.
    """
    import polib

    for number, line in enumerate(text.splitlines(), 1):
        if not _LINE.fullmatch(line.strip()):
            raise OSError(f"line {number} is not a text in quotes")
    return polib.pofile(f"{text}\n")  # without a line break polib may take it for the name of a file


def open_po(path: Path, file: BinaryIO) -> Table:
    """Return the messages of a .po file; each plural form is a message of its own.

    Raises:
        InputError: it is no catalogue, too large, or not in the encoding that it names.
    """
    data, encoding = _read(path, file)
    try:
        catalogue = parse_catalogue(data.removeprefix(b"\xef\xbb\xbf").decode(encoding))
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{number}: is not {encoding}, which its header names") from None
    except OSError as error:
        line = re.search(r"line (\d+)", str(error))
        raise InputError(f"{path}:{line[1] if line else 1}: not a line of a .po file") from None
    return _table(path, catalogue.metadata, catalogue)


def open_mo(path: Path, file: BinaryIO) -> Table:
    """Return the messages of a .mo file; each plural form is a message of its own.

    Raises:
        InputError: as for `open_po`.
    """
    import struct

    import polib

    data, encoding = _read(path, file)
    if data[:4] not in (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde"):  # else polib takes it for the name of a file
        raise InputError(f"{path}: not a .mo file; give the .po file that it was made of, or make it again")
    try:
        catalogue = polib.mofile(data, encoding=encoding)
    except (OSError, struct.error, ValueError, MemoryError) as error:
        raise InputError(f"{path}: damaged: {error}") from None
    return _table(path, catalogue.metadata, catalogue)


def _read(path: Path, file: BinaryIO) -> tuple[bytes, str]:
    """The bytes of a catalogue, and the encoding that its header names."""
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{path}: more than {LARGEST >> 20} MiB; split the catalogue")
    charset = _CHARSET.search(data[: 1 << 16] if data[:4] != b"\xde\x12\x04\x95" else data)
    encoding = charset[1].decode() if charset and charset[1] != b"CHARSET" else "utf-8"
    try:
        "a".encode(encoding)
    except LookupError:
        raise InputError(f"{path}: its header names the encoding {encoding}, which is not known") from None
    return data, encoding


def _table(path: Path, metadata: Mapping[str, Any], entries: list[POEntry]) -> Table:
    language = str(metadata.get("Language", "")).strip()
    source_language = str(metadata.get("X-Source-Language", "")).strip()
    names = [known_language(source_language) or SOURCE, known_language(language) or TARGET]
    if names[0] == names[1]:
        names = [SOURCE, TARGET]

    def records() -> Iterator[tuple[str, Record]]:
        for number, entry in enumerate(entries, 1):
            line = getattr(entry, "linenum", None)  # a compiled entry has none
            origin = f"{path}:{line}" if line else f"{path}, message {number}"
            for source, target in _forms(entry):
                reason = _reason(entry, target)
                yield origin, reason or {names[0]: source, names[1]: target}

    sample = [record for _, record in records() if not isinstance(record, str)][:1]
    return Table(path, names, records(), sample, "languages")


def _forms(entry: POEntry) -> Iterator[tuple[str, str]]:
    """The message and its translation; for a plural the singular with its form, then the plural with each other
    form."""
    forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)]
    if not forms:
        yield entry.msgid, entry.msgstr
        return
    yield entry.msgid, forms[0]
    for form in forms[1:] or forms:  # a language without plurals has one form for all numbers
        yield entry.msgid_plural, form


def _reason(entry: POEntry, target: str) -> str | None:
    if entry.obsolete:
        return "obsolete"
    if not target.strip():
        return "untranslated"
    return "fuzzy" if getattr(entry, "fuzzy", False) else None  # a compiled entry has no flags
