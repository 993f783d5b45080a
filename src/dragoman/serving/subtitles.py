"""Subtitles (.srt): cues of a number, a time, and lines of text, which are translated together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_TIME = re.compile(r"^[^\n]*-->[^\n]*\n", re.MULTILINE)


_EMPTY_LINE = re.compile(r"\r?\n[ \t]*\r?\n")


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
    """The span of the text of each cue: from the line after its time to the next empty line."""
    last = len(text.rstrip())
    for time in _TIME.finditer(text):
        empty = _EMPTY_LINE.search(text, time.end())
        end = last if empty is None else empty.start()
        own = text[time.end() : end]
        if own.strip() and "-->" not in own:
            yield time.end(), end


def _parts(own: str) -> list[str]:
    lines = own.splitlines()
    if len(lines) > 1 and all(line.lstrip().startswith(("-", "–", "—")) for line in lines):
        return lines
    return [" ".join(lines)]


def _wrapped(text: str, count: int) -> list[str]:
    """A text in up to `count` lines of about equal length."""
    lines = []
    while count > 1 and " " in text:
        spaces = [place for place, character in enumerate(text) if character == " "]
        cut = min(spaces, key=lambda place: abs(place - len(text) / count))
        lines.append(text[:cut])
        text, count = text[cut + 1 :], count - 1
    return [*lines, text]
