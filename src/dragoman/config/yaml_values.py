"""YAML as plain values: mappings, lists, text, numbers, booleans and null, and nothing else.

It is read by PyYAML's safe loader, which here makes no other types, takes no key twice, and stays within limits.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, SequenceNode

from dragoman.errors import ConfigError, abridged, quoted, reason_of
from dragoman.inputs import note_input

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 100_000
LARGEST = 2**64 - 1

_TAG = "tag:yaml.org,2002:"


class YamlProblem(ValueError):
    """A text cannot be read; `str()` says why, without its place."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        """From 1; None where it is not known."""


class _PlainLoader(yaml.SafeLoader):
    """Makes plain values of nodes; dates are text."""

    def construct_plain(self, node: Node) -> Any:
        """The value of a null, a boolean, a number or text."""
        kind = node.tag.rpartition(":")[2]
        try:
            value: Any = getattr(self, f"construct_yaml_{kind}")(node)
        except (ValueError, LookupError, OverflowError):  # also more digits than int() takes
            value = LARGEST + 1
        if isinstance(value, int) and abs(value) > LARGEST:
            raise _problem(f"{abridged(str(node.value), 40)} is not a number, or too large for 64 bits", node)
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise _problem("an escape sequence stands for half a character (a surrogate)", node)
        return value

    def construct_list(self, node: SequenceNode) -> list[Any]:
        """The value of a list."""
        return self.construct_sequence(node, deep=True)

    def construct_other(self, node: Node) -> Any:
        """Refuse a tag that chooses another type."""
        shown = abridged(node.tag.replace(_TAG, "!!"))
        raise _problem(f"tags such as {shown} are not supported; leave the tag out (quotes make text)", node)

    def construct_dict(self, node: Node) -> dict[Any, Any]:
        """The value of a mapping, in which no key is given twice; merge keys are supported."""
        if not isinstance(node, MappingNode):
            raise _problem("expected a mapping", node)
        names = set()
        for key in [key for key, _ in node.value if key.tag != f"{_TAG}merge"]:
            name = self.construct_object(key, deep=True)
            if isinstance(name, list | dict):
                raise _problem("a mapping or list is not supported as a key", key)
            if name in names:
                raise _problem(f"the key {quoted(name)} is given twice", key)
            names.add(name)
        self.flatten_mapping(node)
        return dict(self.construct_mapping(node, deep=True))


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_PlainLoader.yaml_constructors = {
    **dict.fromkeys(
        (f"{_TAG}{kind}" for kind in ("null", "bool", "int", "float", "str")), _PlainLoader.construct_plain
    ),
    f"{_TAG}seq": _PlainLoader.construct_list,
    f"{_TAG}map": _PlainLoader.construct_dict,
    None: _PlainLoader.construct_other,
}


def load_yaml(text: str) -> Any:
    """The value of a YAML text: nested dictionaries and lists of str, int, float, bool and None.

    Scalars have the types of YAML 1.1, but dates are text. Aliases and merge keys are supported.

    Raises:
        YamlProblem: the text is not YAML, has another tag or a key twice, or exceeds a limit.
    """
    try:
        return _document(_PlainLoader(text))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlProblem(f"the character U+{ord(text[error.position]):04X} is not allowed", line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlProblem(error.problem or str(error), mark.line + 1 if mark else None) from None
    except RecursionError:
        raise YamlProblem(f"nested more than {MAX_DEPTH} levels deep") from None
    except yaml.YAMLError as error:
        raise YamlProblem(str(error)) from None
    except (ValueError, OverflowError):  # the scanner converts the digits of %YAML and of escapes such as \U
        raise YamlProblem("a number of %YAML, or of an escape such as \\U, is too large") from None


def _document(loader: _PlainLoader) -> Any:
    """The value of the only document of a text."""
    node = loader.get_single_node()
    if node is None:
        return None
    if _count(node, {}) > MAX_VALUES:
        raise _problem(f"more than {MAX_VALUES:,} values; an alias counts as often as it is used", node)
    return loader.construct_document(node)


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
        raise ConfigError(f"{path}: cannot read {what}: {reason_of(error)}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: cannot read {what}: it is larger than {MAX_BYTES:,} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}, line {line}: cannot read {what}: not UTF-8 (byte 0x{raw[error.start]:02x})"
        ) from None


def _count(node: Node, known: dict[Node, int], depth: int = 0) -> int:
    """The values in a node, itself included; the values of an alias come as often as it is used."""
    if depth > MAX_DEPTH:
        raise _problem(f"nested more than {MAX_DEPTH} levels deep", node)
    if node not in known:
        inner = chain.from_iterable(node.value) if isinstance(node, MappingNode) else node.value
        known[node] = 1 if isinstance(inner, str) else 1 + sum(_count(part, known, depth + 1) for part in inner)
    return known[node]


def _problem(problem: str, node: Node) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)
