"""Subtitles (.srt): cues of a number, a time, and lines of text, which are translated together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.documents.document import Document, Languages, decoded
from dragoman.documents.html_text import unescaped

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def read_subtitles(content: bytes, languages: Languages) -> Document:
    """Read subtitles, which have a few tags and no entities.

    Raises:
        InputError: they are not UTF-8.
    """
    text, encoding = decoded(content)

    def write(translations: list[str]) -> bytes:
        return replace_cue_texts(text, list(map(unescaped, translations))).encode(encoding)

    return Document([cue.replace("&", "&amp;") for cue in cue_texts(text)], write)


def cue_texts(text: str) -> list[str]:
    """The text of each cue as one line; of a dialogue, whose lines begin with a dash, one for each line."""
    return [part for start, end in _cues(text) for part in _parts(text[start:end])]


def replace_cue_texts(text: str, translations: Sequence[str]) -> str:
    """The file with `translations` in the place of `cue_texts`, in as many lines as each cue had."""
    found, result, place = iter(translations), [], 0
    for start, end in _cues(text):
        own = text[start:end]
        break_ = "\r\n" if "\r\n" in own else "\n"
        parts = [next(found) for _ in _parts(own)]
        lines = parts if len(parts) > 1 else _wrapped(parts[0], len(own.splitlines()))
        result += [text[place:start], break_.join(lines)]
        place = end
    return "".join([*result, text[place:]])


def _cues(text: str) -> Iterator[tuple[int, int]]:
    """The span of the text of each cue: from the line after its time to the next empty line or time."""
    start = end = None
    """The text of the cue that is being read, without the line break at its end."""
    for line in _LINE.finditer(text):
        if "-->" in line[0]:
            start, end = (line.end(), None) if line[0].endswith("\n") else (None, None)
        elif line[0].isspace():
            if start is not None and end is not None:
                yield start, end
            start = end = None
        elif start is not None:
            end = line.start() + len(line[0].removesuffix("\n").removesuffix("\r"))
    if start is not None and end is not None:
        yield start, len(text[:end].rstrip())


def _parts(own: str) -> list[str]:
    lines = own.splitlines()
    if len(lines) > 1 and all(line.lstrip().startswith(("-", "–", "—")) for line in lines):
        return lines
    return [" ".join(lines)]


def _wrapped(text: str, count: int) -> list[str]:
    """A text in up to `count` lines of about equal length."""
    lines, start = [], 0
    while count > 1:
        ideal = start + (len(text) - start) / count
        before, after = text.rfind(" ", start, int(ideal) + 1), text.find(" ", int(ideal) + 1)
        if before < 0 and after < 0:
            break
        cut = after if before < 0 or 0 <= after < 2 * ideal - before else before
        lines.append(text[start:cut])
        start, count = cut + 1, count - 1
    return [*lines, text[start:]]
