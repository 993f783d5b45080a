"""Base class of configuration sections: immutable typed keys with descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from inspect import Parameter, Signature
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Self, Union, dataclass_transform, get_args, get_origin

import msgspec
from msgspec import Meta

LARGEST = 10**9
"""The largest whole number of most keys: nothing that they count is larger, and products of two fit into 64 bits."""

LARGEST_BEAM = 1000
"""The largest beam, n-best list and number of samples: each hypothesis takes 60 bytes for every word (systems.py)."""

Count = Annotated[int, Meta(ge=1, le=LARGEST)]
Beam = Annotated[int, Meta(ge=1, le=LARGEST_BEAM)]
Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
Layers = Annotated[int, Meta(ge=1, le=100)]
Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(gt=0, le=1)]
Share = Annotated[float, Meta(ge=0, lt=1)]


def doc(description: str, **spelling: Any) -> Meta:
    """The description of a key, printed in configuration files and help texts.

    `spelling` is how the command line has it where that does not follow from name and type: `metavar`, `short`, `flag`,
    `positional`, `repeat`, `nargs` (None for a list in one word), `one_of` (a group whose members exclude each other),
    `kind` (`output`, `folder`, or the function that parses a value and raises ConfigError). The description of a
    section heads its options in the help.
    """
    return Meta(description=description, extra=spelling or None)


class SectionType(msgspec.StructMeta):
    """The type of sections. Their signature has keys and defaults only: `help` shows it in one line of a terminal or
    two, where annotations, descriptions and the defaults of inner sections take thousands of characters."""

    @property
    def __signature__(cls) -> Signature:
        """Every key with its default, an inner section as `TextConfig()`; keys without a default have none."""
        names, defaults = cls.__struct_fields__, cls.__struct_defaults__
        padded = (*(msgspec.NODEFAULT,) * (len(names) - len(defaults)), *defaults)
        shown = zip(names, map(_shown, padded), strict=True)
        return Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in shown])


def _shown(default: object) -> object:
    """A default as `help` shows it."""
    if default is msgspec.NODEFAULT:
        return Parameter.empty
    return _Inner(type(default).__name__) if isinstance(default, msgspec.Struct) else default


class _Inner(str):
    """The name of an inner section, in place of all its values."""

    def __repr__(self) -> str:
        return f"{self}()"


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Section(msgspec.Struct, frozen=True, kw_only=True, metaclass=SectionType):
    """A part of a configuration; types and ranges are checked when it is built from values (`building`)."""

    def replaced(self, **changes: Any) -> Self:
        """A copy of the section with other values, which are not checked."""
        return msgspec.structs.replace(self, **changes)

    def values(self) -> dict[str, Any]:
        """Nested dictionaries of all values; types that YAML lacks, such as paths, become strings."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return values


def differences(one: Section, other: Section) -> Iterator[tuple[str, Any, Any]]:
    """The keys with different values in two sections of one class: dotted, with both values."""
    return _differences(one.values(), other.values(), "")


def _differences(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any, Any]]:
    for name, value in one.items():
        key, second = f"{prefix}{name}", other[name]
        if isinstance(value, dict):
            yield from _differences(value, second, f"{key}.")
        elif value != second:
            yield key, value, second


class Key(NamedTuple):
    """One key of a section."""

    types: tuple[Any, ...]
    """The allowed types without ranges: one type, or one type and that of None."""

    description: str
    """Empty where the name needs no explanation."""

    minimum: float | None = None
    """The smallest value that is allowed."""

    above: float | None = None
    """A limit that every value exceeds."""

    maximum: float | None = None
    """The largest value that is allowed."""

    spelling: Mapping[str, Any] = MappingProxyType({})
    """How the command line has it; see `doc`."""

    @property
    def section(self) -> type[Section] | None:
        """The type of a key that is a section, None for one that is a value."""
        first = self.types[0]
        return first if isinstance(first, type) and issubclass(first, Section) else None

    @property
    def item(self) -> Key | None:
        """The key that each value of a list is; None for other types."""
        return _key(get_args(self.types[0])[0]) if get_origin(self.types[0]) is tuple else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words of a literal type; empty for other types."""
        return get_args(self.types[0]) if get_origin(self.types[0]) is Literal else ()


@cache
def keys_of(schema: type[Section]) -> dict[str, Key]:
    """The keys of a section by name, in their order."""
    return {field.name: _key(field.type) for field in msgspec.structs.fields(schema)}


def _key(annotation: Any) -> Key:
    kind, notes = _split_annotation(annotation)
    union = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    types = [_split_annotation(option) for option in union]
    notes = [*notes, *types[0][1]]  # a value that may be None has the range of the value itself
    return Key(
        tuple(kind for kind, _ in types),
        "".join(note.description or "" for note in notes),
        next((float(note.ge) for note in notes if note.ge is not None), None),
        next((float(note.gt) for note in notes if note.gt is not None), None),
        next((float(note.le) for note in notes if note.le is not None), None),
        {name: value for note in notes for name, value in (note.extra or {}).items()},
    )


def _split_annotation(annotation: Any) -> tuple[Any, list[Meta]]:
    """Split a type from its annotations."""
    if get_origin(annotation) is not Annotated:
        return annotation, []
    kind, *notes = get_args(annotation)
    return kind, notes
