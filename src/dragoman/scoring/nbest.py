"""Moses n-best lists: one hypothesis a line, `id ||| text ||| Name= v v Other= v ||| total [||| more]`.

Lists are read and written as streams. An entry keeps its line: unchanged fields are written as they were read,
including spaces, number formats and unknown columns. Fields are separated by triple bars, with or without spaces; a
feature name ends in an equals sign, or in a colon in old versions of Moses. Ids count sentences from 0; the entries of
a sentence are consecutive, sentences are in ascending order, and some may be missing.

In all files of Moses, what has a meaning there is escaped where we write, and undone where we read. Beside the bars,
Moses divides the factors of a word at "|" and takes a word in brackets such as [X] for a non-terminal, and language
models have the words <s>, </s> and <unk>. These words are written as escape-special-chars.perl of Moses writes them.
All others are left as they are, so that text which that program has escaped already is not escaped twice. A word that
contains &#124; is therefore read as one with "|".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from dragoman.errors import InputError
from dragoman.text.lines import parse_count, read_lines, shown_name

BARS = "|||"
"""What divides the fields of a line."""
_ESCAPED_BARS = "&#124;&#124;&#124;"
_RESERVED = ("<s>", "</s>", "<unk>", "<UNK>")  # KenLM takes the last for the third
_ESCAPED = {word.replace("<", "&lt;").replace(">", "&gt;"): word for word in _RESERVED}
_ESCAPES = {word: escaped for escaped, word in _ESCAPED.items()}
_WORD = re.compile(r"[^ \t]+")


def escape_bars(text: str) -> str:
    """Text that can be a field of a line: triple bars are escaped, and nothing else."""
    return text.replace(BARS, _ESCAPED_BARS)


def unescape_bars(text: str) -> str:
    """Undo `escape_bars`."""
    return text.replace(_ESCAPED_BARS, BARS)


def escape_word(word: str) -> str:
    """A word that Moses and language models take as a word."""
    if len(word) > 1 and word[0] == "[" and word[-1] == "]":
        word = f"&#91;{word[1:-1]}&#93;"
    return _ESCAPES.get(word, word.replace("|", "&#124;"))


def unescape_words(text: str) -> str:
    """Undo `escape_word` in each word of a text; words are separated by spaces and tabs."""
    return _WORD.sub(lambda match: _unescape(match[0]), text) if "&" in text else text


def _unescape(word: str) -> str:
    if word.startswith("&#91;") and word.endswith("&#93;"):
        word = f"[{word[5:-5]}]"
    return _ESCAPED.get(word, word.replace("&#124;", "|"))


_FORM = "id ||| text ||| Name= value ... ||| total"
_FEATURES = 2
"""Index of the field of the features."""


@dataclass(frozen=True)
class NBestEntry:
    """One hypothesis of an n-best list."""

    fields: tuple[str, ...]
    """The unchanged fields of the line: id, text, features, total, and optionally more."""
    sentence: int
    features: dict[str, tuple[float, ...]]
    """The values of each feature, in the order of the line."""
    total: float

    @property
    def text(self) -> str:
        """The hypothesis without surrounding spaces, with the triple bars that the list has escaped."""
        return unescape_bars(self.fields[1].strip(" \t"))

    @property
    def line(self) -> str:
        """The entry as a line of a list."""
        return BARS.join(self.fields)

    def adding(self, name: str, values: Iterable[float]) -> NBestEntry:
        """The entry with one more feature at the end."""
        assert name not in self.features
        added = tuple(values)
        field = self.fields[_FEATURES]
        kept = field.rstrip()
        after = field[len(kept) :] if kept else " "
        changed = f"{kept} {name}= {' '.join(format_value(value) for value in added)}{after}"
        fields = (*self.fields[:_FEATURES], changed, *self.fields[_FEATURES + 1 :])
        return NBestEntry(fields, self.sentence, {**self.features, name: added}, self.total)


def format_value(value: float) -> str:
    """A value as lists and tables print it: nine significant digits, enough for single precision."""
    return f"{value:.9g}"


def parse_entry(line: str, origin: str) -> NBestEntry:
    """Parse a line of a list; `origin` names it in error messages.

    Raises:
        InputError: the line is malformed.
    """
    fields = tuple(line.split(BARS))
    if len(fields) < 4:
        raise InputError(f"{origin}: {len(fields)} of at least 4 fields between triple bars; expected `{_FORM}`")
    number = parse_count(fields[0].strip())
    if number is None:
        raise InputError(f"{origin}: the id {fields[0].strip()!r} is not a whole number from 0 on; expected `{_FORM}`")
    total = parse_number(fields[3].strip(), origin, "the total")
    return NBestEntry(fields, number, _parse_features(fields[_FEATURES], origin), total)


def _parse_features(field: str, origin: str) -> dict[str, tuple[float, ...]]:
    values: dict[str, list[float]] = {}
    name = None
    for token in field.split():
        if token[-1] in "=:" and len(token) > 1:
            name = token[:-1]
            if name in values:
                raise InputError(f"{origin}: two features are called {name}")
            values[name] = []
        elif name is None:
            raise InputError(f"{origin}: features begin with {token!r}, not with a name; expected `Name= value ...`")
        else:
            values[name].append(parse_number(token, origin, f"a value of the feature {name}"))
    for name, numbers in values.items():
        if not numbers:
            raise InputError(f"{origin}: the feature {name} has no value; expected `{name}= value`")
    return {name: tuple(numbers) for name, numbers in values.items()}


def parse_number(text: str, origin: str, what: str) -> float:
    """Parse a finite number; error messages call it `what`.

    Raises:
        InputError: the text is not a finite number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{origin}: {what} is {text!r}, not a finite number")
    return value


def read_nbest(path: str | Path) -> Iterator[NBestEntry]:
    """Yield the entries of a list; "-" is standard input, names ending in .gz, .xz and .zst are decompressed.

    Raises:
        InputError: the file cannot be read or is empty, a line is malformed, or the ids are not in ascending order.
    """
    before, number = 0, 0
    name = shown_name(path)
    for number, line in enumerate(read_lines(path), 1):
        entry = parse_entry(line, f"{name}:{number}")
        if entry.sentence < before:
            raise InputError(
                f"{name}:{number}: the id {entry.sentence} comes after {before}; the hypotheses of a sentence must "
                "stand together, and sentences in order"
            )
        before = entry.sentence
        yield entry
    if not number:
        raise InputError(f"{name}: no hypotheses in it")


def by_sentence(entries: Iterable[NBestEntry]) -> Iterator[list[NBestEntry]]:
    """Group the entries by sentence."""
    for _, group in groupby(entries, key=lambda entry: entry.sentence):
        yield list(group)
