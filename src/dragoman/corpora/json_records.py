"""Records of .json files: a list of objects, or an object with one such list in it. Read as a stream, by ijson."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.corpora.columns import Table
from dragoman.errors import InputError

SAMPLE = 50
"""Objects from the beginning whose keys are looked at."""

DEEPEST = 50
"""Levels of lists and objects within each other."""


def flattened(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with keys such as translation.en in place of the objects within it."""
    flat: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": text for inner, text in flattened(value).items()}
        else:
            flat[key] = value
    return flat


def open_json(path: Path, file: BinaryIO) -> Table:
    """Return the objects of a .json file.

    Raises:
        InputError: it is not JSON, has no list of objects or several, or is nested too deeply; also as the records are
            read.
    """
    entries = ((f"{path}, object {number}", flattened(entry)) for number, entry in enumerate(_objects(path, file), 1))
    first = list(islice(entries, SAMPLE))
    names = list(dict.fromkeys(key for _, entry in first for key in entry))
    return Table(path, names, chain(first, entries), [entry for _, entry in first], "keys")


def _objects(path: Path, file: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield the objects of the only list that has objects."""
    import ijson

    depth, level, number = 0, 0, 0  # level: the depth of the entries of a list that may be the corpus; 0 outside
    key, list_key = "", None  # of this list and of the list with objects; "" if the file is the list
    builder = None  # of the object that is read
    try:
        for event, value in ijson.basic_parse(file, use_float=True):
            opens, closes = event in ("start_map", "start_array"), event in ("end_map", "end_array")
            if builder is None:
                if event == "map_key" and depth == 1:
                    key = value
                elif level and depth == level and not closes:
                    if event == "start_map":
                        if list_key not in (None, key):
                            raise InputError(
                                f'{path}: "{list_key}" and "{key}" are lists of objects; a corpus has one such list'
                            )
                        list_key, builder = key, ijson.ObjectBuilder()
                    elif list_key == key:
                        raise InputError(f"{path}, object {number + 1}: not an object; the list must hold objects")
                elif event == "start_array" and not level and depth <= 1:
                    level = depth + 1
            if builder is not None:
                builder.event(event, value)
            depth += opens - closes
            if depth > DEEPEST:
                raise InputError(f"{path}: nested more than {DEEPEST} levels deep; a corpus is a list of objects")
            if closes and builder is not None and depth == level:
                number += 1
                yield builder.value
                builder = None
            elif closes and depth == level - 1:
                level = 0
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not {error.encoding} after object {number}; --encoding NAME decides") from None
    except ijson.JSONError as error:
        after = f" after object {number}" if number else ""
        reason = next(iter(str(error).splitlines()), "damaged").strip()
        raise InputError(f"{path}: not JSON{after}: {reason}") from None
    if list_key is None:
        raise InputError(f"{path}: no list of objects in it; a .json corpus is a list of objects, or has one in it")
