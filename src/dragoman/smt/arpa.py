"""ARPA files: backoff language models in the text format that every toolkit reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import InputError
from dragoman.scoring.nbest import parse_number
from dragoman.smt.kneser_ney import NgramModel
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.words import words_in

_COUNT = re.compile(r"ngram\s+([0-9]{1,15})\s*=\s*([0-9]{1,15})")


class ArpaEntry(NamedTuple):
    """An n-gram line of an ARPA file; logarithms have base 10."""

    words: tuple[str, ...]
    log_probability: float
    backoff: float
    """0 if the line has none."""


def write_arpa(path: str | Path, model: NgramModel) -> None:
    """Write a model.

    Raises:
        InputError: the file cannot be written.
    """
    write_lines(path, _lines(model))


def _lines(model: NgramModel) -> Iterator[str]:
    yield "\\data\\"
    yield from (f"ngram {number}={len(order.words)}" for number, order in enumerate(model.orders, 1))
    below: list[str] = []
    for number, order in enumerate(model.orders, 1):
        yield from ("", f"\\{number}-grams:")
        words = [model.vocabulary[word] for word in order.words.tolist()]
        if number > 1:
            words = [f"{below[start]} {word}" for start, word in zip(order.contexts.tolist(), words, strict=True)]
        values = zip(order.log_probabilities.tolist(), words, order.backoffs.tolist(), strict=True)
        if number < len(model.orders):
            yield from (f"{log_probability:.7g}\t{text}\t{backoff:.7g}" for log_probability, text, backoff in values)
        else:
            yield from (f"{log_probability:.7g}\t{text}" for log_probability, text, _ in values)
        below = words
    yield from ("", "\\end\\")


def read_arpa(path: str | Path) -> Iterator[ArpaEntry]:
    """Yield the n-grams of a file, order by order.

    Raises:
        InputError: the file cannot be read, a line is malformed, or the numbers of n-grams differ from the header's.
    """
    lines = ((f"{path}:{number}", line.strip(" \t")) for number, line in enumerate(read_lines(path), 1))
    for _, line in lines:
        if line == "\\data\\":
            break
    else:
        raise InputError(f"{path}: no line \\data\\ in it; it is no ARPA language model")
    counts: list[int] = []
    origin, line = "", ""
    for origin, line in lines:
        match = _COUNT.fullmatch(line)
        if match is None and line:
            break
        if match is not None:
            if int(match[1]) != len(counts) + 1:
                raise InputError(f"{origin}: `{line}` where the number of {len(counts) + 1}-grams was expected")
            counts.append(int(match[2]))
    if not counts:
        raise InputError(f"{path}: no line `ngram 1=NUMBER` after \\data\\; it is no ARPA language model")
    rest = chain([(origin, line)], lines)
    for order, count in enumerate(counts, 1):
        _expect(rest, f"\\{order}-grams:", str(path))
        yield from _section(rest, order, count, highest=order == len(counts))
    _expect(rest, "\\end\\", str(path))


def _expect(lines: Iterator[tuple[str, str]], heading: str, path: str) -> None:
    """Skip empty lines up to a heading."""
    for origin, line in lines:
        if line == heading:
            return
        if line:
            raise InputError(f"{origin}: `{line}` where {heading} was expected")
    raise InputError(f"{path}: ends before {heading}; it has been cut off")


def _section(lines: Iterator[tuple[str, str]], order: int, count: int, *, highest: bool) -> Iterator[ArpaEntry]:
    origin = ""
    for number in range(count):
        origin, line = next(lines, (origin, ""))
        fields = words_in(line)
        if len(fields) not in ((order + 1,) if highest else (order + 1, order + 2)):
            raise InputError(
                f"{origin}: `{line}` is not one of {count} {order}-grams ({number} before it are); expected "
                f"a logarithm, {order} words{'' if highest else ' and a back-off weight'}"
            )
        backoff = parse_number(fields[-1], origin, "a back-off weight") if len(fields) == order + 2 else 0.0
        log_probability = parse_number(fields[0], origin, "a logarithm")
        if log_probability > 0:
            raise InputError(f"{origin}: the logarithm {fields[0]} of a probability is above 0")
        yield ArpaEntry(tuple(fields[1 : order + 1]), log_probability, backoff)
