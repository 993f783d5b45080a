"""What the sections of a configuration are made of: immutable typed keys that say what they mean."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Self, Union, dataclass_transform, get_args, get_origin

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, lt=1)]


def doc(description: str) -> Meta:
    """Metadata with the meaning of a key, for help texts and configuration files."""
    return Meta(description=description)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a configuration; types and ranges are checked where it is built from values (`building`)."""

    def replaced(self, **changes: Any) -> Self:
        """The same section with other values; they are not checked."""
        return msgspec.structs.replace(self, **changes)

    def values(self) -> dict[str, Any]:
        """Nested dictionaries of all values; what YAML has no type for, such as a path, as text."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return values


class Key(NamedTuple):
    """One key of a section."""

    types: tuple[Any, ...]
    """What it may hold, without ranges: one type, or one and None's."""

    description: str
    """Empty where the name needs no explanation."""

    minimum: float | None = None
    """The smallest value that is allowed."""

    above: float | None = None
    """A limit that every value exceeds."""

    @property
    def section(self) -> type[Section] | None:
        """The type of a key that is a section, None for one that is a value."""
        first = self.types[0]
        return first if isinstance(first, type) and issubclass(first, Section) else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, none where it is not a choice of words."""
        return get_args(self.types[0]) if get_origin(self.types[0]) is Literal else ()


@cache
def keys_of(schema: type[Section]) -> dict[str, Key]:
    """The keys of a section by name, in their order."""
    return {field.name: _key(field.type) for field in msgspec.structs.fields(schema)}


def _key(annotation: Any) -> Key:
    kind, notes = _taken_apart(annotation)
    union = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return Key(
        tuple(_taken_apart(option)[0] for option in union),
        "".join(note.description or "" for note in notes),
        next((float(note.ge) for note in notes if note.ge is not None), None),
        next((float(note.gt) for note in notes if note.gt is not None), None),
    )


def _taken_apart(annotation: Any) -> tuple[Any, list[Meta]]:
    """A type without its annotations, and the annotations."""
    if get_origin(annotation) is not Annotated:
        return annotation, []
    kind, *notes = get_args(annotation)
    return kind, notes
