"""YAML as plain values: mappings, lists, text, numbers, booleans and null, and nothing else.

The values are built from the parser's events, one by one, so that no text can exhaust the stack or the memory: nesting
and the number of values are limited, an alias counts as often as it is used, and no tag chooses a type.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from dragoman.errors import ConfigError, abridged, quoted
from dragoman.inputs import note_input

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 100_000
LARGEST = 2**64 - 1

_TAG = "tag:yaml.org,2002:"
_MERGE = "<<"


class YamlProblem(ValueError):
    """A text cannot be read; `str()` says why, without its place."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        """From 1; None where it is not known."""


def load_yaml(text: str) -> Any:
    """The value of a YAML text: nested dictionaries and lists of str, int, float, bool and None.

    Scalars have the types of YAML 1.1, but dates are text. Aliases and merge keys are supported.

    Raises:
        YamlProblem: the text is not YAML, has a tag or a key twice, or exceeds a limit.
    """
    try:
        return _Builder(yaml.parse(text, Loader=yaml.SafeLoader)).document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlProblem(f"the character U+{ord(text[error.position]):04X} is not allowed", line) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise YamlProblem(problem, mark.line + 1 if mark else None) from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, YamlProblem):
            raise
        raise YamlProblem(str(error)) from None  # the scanner converts the digits of %YAML and of escapes such as \U


def read_yaml_text(path: Path, what: str) -> str:
    """The text of a YAML file.

    Raises:
        ConfigError: it cannot be read, is not UTF-8, or is too large; `what` names the kind of file.
    """
    try:
        with path.open("rb") as file:
            note_input(path, os.fstat(file.fileno()))
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path}: cannot read {what}: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: cannot read {what}: it is larger than {MAX_BYTES:,} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}, line {line}: cannot read {what}: not UTF-8 (byte 0x{raw[error.start]:02x})"
        ) from None


class _Built(NamedTuple):
    """A value, and how many there are in it, itself included."""

    value: Any
    values: int


class _Builder:
    """Builds the value of a document from the events of the parser."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, _Built] = {}
        self._resolver = Resolver()
        self._constructor = SafeConstructor()
        self._count = 0

    def document(self) -> Any:
        value = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _problem("expected a single document, but found a second one", event)
                value = self._value(next(self._events), 0).value
        return value

    def _value(self, event: yaml.Event, depth: int) -> _Built:
        """The value that begins with an event."""
        self._counted(1, event)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _problem(f"found undefined alias {quoted(event.anchor)}", event)
            built = self._anchors[event.anchor]
            self._counted(built.values, event)
            return built
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            shown = abridged(tag.replace(_TAG, "!!"))
            raise _problem(f"tags such as {shown} are not supported; leave the tag out (quotes make text)", event)
        if depth > MAX_DEPTH:
            raise _problem(f"nested more than {MAX_DEPTH} levels deep", event)
        before = self._count
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = self._mapping(depth)
        built = _Built(value, 1 + self._count - before)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = built
        return built

    def _counted(self, count: int, event: yaml.Event) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise _problem(f"more than {MAX_VALUES:,} values; an alias counts as often as it is used", event)

    def _sequence(self, depth: int) -> list[Any]:
        values = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1).value)
        return values

    def _mapping(self, depth: int) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            name = self._value(event, depth + 1).value
            value = self._value(next(self._events), depth + 1).value
            if isinstance(name, dict | list):
                raise _problem("a mapping or list is not supported as a key", event)
            if name == _MERGE and getattr(event, "style", "") is None:
                for layer in value if isinstance(value, list) else [value]:
                    if not isinstance(layer, dict):
                        raise _problem("expected a mapping for the merge key <<", event)
                    merged = {**layer, **merged}
                continue
            if name in values:
                raise _problem(f"the key {quoted(name)} is given twice", event)
            values[name] = value
        return {**merged, **values}

    def _scalar(self, event: yaml.ScalarEvent) -> str | int | float | bool | None:
        resolve: Callable[..., str] = self._resolver.resolve
        tag = resolve(yaml.ScalarNode, event.value, event.implicit).removeprefix(_TAG)
        if tag not in ("null", "bool", "int", "float"):
            if any("\ud800" <= character <= "\udfff" for character in event.value):
                raise _problem("an escape sequence stands for half a character (a surrogate)", event)
            return str(event.value)
        node = yaml.ScalarNode(_TAG + tag, event.value)
        try:
            value: int | float | bool | None = getattr(self._constructor, f"construct_yaml_{tag}")(node)
        except (ValueError, OverflowError):  # also more digits than int() takes
            raise _problem(f"{abridged(event.value, 40)} is not a number, or too large", event) from None
        if isinstance(value, int) and abs(value) > LARGEST:
            raise _problem(f"the number {abridged(event.value, 40)} is too large for 64 bits", event)
        return value


def _problem(problem: str, event: yaml.Event) -> YamlProblem:
    return YamlProblem(problem, event.start_mark.line + 1 if event.start_mark else None)
