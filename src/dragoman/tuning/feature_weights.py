"""Feature weights in Moses' format: `Name= w w`, one line for each feature, as in section [weight] of a moses.ini."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.scoring.nbest import NBestEntry, format_value, parse_number
from dragoman.text.lines import read_lines, replace_output, shown_name

Weights = dict[str, tuple[float, ...]]
"""Weights of the values of each feature, in the order of the n-best lists."""

_COMMENT = re.compile(r"(^|\s)#.*")  # the name of a feature may contain #


def read_weights(path: str | Path) -> Weights:
    """Read a file of `Name= w w` lines, or the section [weight] of a moses.ini; a comment begins with #.

    Raises:
        InputError: the file cannot be read, or a line has another form.
    """
    lines = [(number, _COMMENT.sub("", line).strip()) for number, line in enumerate(read_lines(path), 1)]
    if any(line == "[weight]" for _, line in lines):
        lines = list(_section(lines))
    weights: Weights = {}
    for number, line in lines:
        if not line:
            continue
        name, equals, values = line.rpartition("=")  # the name of a feature may contain =
        name = name.strip()
        if not equals or len(name.split()) != 1 or not values.split():
            raise InputError(f"{shown_name(path)}:{number}: {line!r} is no weight; expected `Name= weight ...`")
        if name in weights:
            raise InputError(f"{shown_name(path)}:{number}: the weights of {name} are given twice")
        origin = f"{shown_name(path)}:{number}"
        weights[name] = tuple(parse_number(value, origin, f"a weight of {name}") for value in values.split())
    if not weights:
        raise InputError(f"{shown_name(path)}: no weights in it; expected lines `Name= weight ...`")
    return weights


def _section(lines: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    inside = False
    for number, line in lines:
        if line.startswith("["):
            inside = line == "[weight]"
        elif inside:
            yield number, line


@contextmanager
def weights_file(path: str | Path) -> Iterator[Callable[[Mapping[str, Iterable[float]]], None]]:
    """A function that writes weights, one line for each feature; the path "-" is standard output.

    The file is opened first, so that tuning, which takes long, is not lost to a name that cannot be written.
    """
    with replace_output(path) as file:
        yield lambda weights: file.writelines(f"{format_weights(*weight)}\n" for weight in weights.items())


def format_weights(name: str, values: Iterable[float]) -> str:
    """One line of weights."""
    return f"{name}= {' '.join(map(format_value, values))}"


def shape_of(entry: NBestEntry) -> dict[str, int]:
    """Number of values of each feature of an n-best entry."""
    return {name: len(values) for name, values in entry.features.items()}


def as_vector(
    weights: Weights, shape: Mapping[str, int], origin: str, *, lacking: float | None = None
) -> NDArray[np.float64]:
    """The weights [D] in the order of a list's features; `origin` names the weights in error messages.

    Args:
        lacking: weight of features without weights; None makes them an error.

    Raises:
        InputError: the weights do not match the features in name or number.
    """
    for name in weights:
        if name not in shape:
            raise InputError(f"{origin}: there is no feature {name} here, but {', '.join(shape) or 'none'}")
    for name, size in shape.items():
        if name not in weights and lacking is None:
            raise InputError(f"{origin}: no weight for the feature {name}")
        if name in weights and len(weights[name]) != size:
            raise InputError(f"{origin}: {len(weights[name])} weights for the {size} values of the feature {name}")
    default = 0.0 if lacking is None else lacking
    return np.array([value for name, size in shape.items() for value in weights.get(name, (default,) * size)])


def as_weights(vector: NDArray[np.float64], shape: Mapping[str, int]) -> Weights:
    """A vector [D] as weights by feature name."""
    values = iter(vector.tolist())
    return {name: tuple(next(values) for _ in range(size)) for name, size in shape.items()}
