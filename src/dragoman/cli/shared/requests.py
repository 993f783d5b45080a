"""The command line as a view of a request: its options are declared, parsed and checked from the request's fields."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dragoman.cli.shared.parsing import bounded, output_file, output_folder, spelt
from dragoman.config.section import Key, Section, keys_of
from dragoman.errors import ConfigError
from dragoman.requests.shared import Request

Schema = TypeVar("Schema", bound=Request)

OUTPUTS: dict[str, Callable[[str], Any]] = {"output": output_file, "folder": output_folder}
"""How the names of files and folders that are written are parsed."""

METAVARS = {str: "FILE", int: "N", float: "X"}
"""What stands for a value in the help, by its type; most text is the name of a file."""


def named(name: str) -> Any:
    """The request or the function of a dotted name."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def add_request(container: argparse._ActionsContainer, schema: type[Section]) -> None:
    """Declare an option for each field of a request; a field that is a section is a group of options."""
    exclusive: dict[str, argparse._ActionsContainer] = {}
    for name, key in keys_of(schema).items():
        if key.section:
            add_request(container.add_argument_group(key.description) if key.description else container, key.section)
        elif "keys" in key.spelling:
            _add_changes(container, key)
        else:
            group = key.spelling.get("one_of")
            if group and group not in exclusive:
                exclusive[group] = container.add_mutually_exclusive_group()
            _add_option(exclusive.get(group or "", container), name, key, schema)


def _add_changes(container: argparse._ActionsContainer, key: Key) -> None:
    """Declare an option, None if it is not given, for each key of another section."""
    schema: type[Section] = key.spelling["keys"]
    defaults = dict(zip(schema.__struct_fields__, schema.__struct_defaults__, strict=True))
    for name, each in keys_of(schema).items():
        default, said = defaults[name], each.description
        if each.types == (bool,):
            kind: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
            if "elsewhere" not in key.spelling:
                kind = {"action": "store_true", "default": None}
        else:
            kind = _kind(each)
            if "elsewhere" not in key.spelling and default is not None:
                said = f"{said} (default: {default:g})"
        container.add_argument(spelt(name), dest=name, help=said, **kind)


def _add_option(container: argparse._ActionsContainer, name: str, key: Key, schema: type[Section]) -> None:
    spelling = key.spelling
    default = dict(zip(reversed(schema.__struct_fields__), reversed(schema.__struct_defaults__), strict=False)).get(
        name, msgspec.NODEFAULT
    )
    arguments: dict[str, Any] = {"help": key.description}
    if key.types == (bool,):
        arguments["action"] = "store_true"
    else:
        arguments |= _kind(key)
    if spelling.get("positional"):
        if default is not msgspec.NODEFAULT:
            arguments["nargs"] = "*" if key.item else "?"
        container.add_argument(name, **arguments)
        return
    if key.types != (bool,):
        required = default is msgspec.NODEFAULT
        if arguments.get("nargs") == "+" and (required or not default):  # given twice, an option has the values of both
            arguments.setdefault("action", "extend")
        arguments |= {"required": True} if required else {"default": [] if default == () else default}
    flags = [spelling["short"]] if "short" in spelling else []
    container.add_argument(*flags, spelling.get("flag", spelt(name)), dest=name, **arguments)


def _kind(key: Key) -> dict[str, Any]:
    """The arguments with which argparse parses and checks the values of a key."""
    item, spelling = key.item, key.spelling
    if item is None or spelling.get("nargs", item) is None:
        return _value(key, spelling)
    inner = item.item
    if inner is not None:  # a list of lists of files
        return {"nargs": "+", "action": "append", **_value(inner, spelling)}
    several = {"action": "append"} if "repeat" in spelling else {"nargs": spelling.get("nargs", "+")}
    return {**several, **_value(item, spelling)}


def _value(key: Key, spelling: Mapping[str, Any]) -> dict[str, Any]:
    kind = key.types[0]
    shown = {"metavar": spelling.get("metavar", METAVARS.get(kind))}
    if "kind" in spelling:
        parse = spelling["kind"]
        return {"type": OUTPUTS.get(parse) or _checked(parse), **shown}
    if key.choices:
        return {"choices": key.choices, **shown}
    return shown if kind is str else {"type": bounded(kind, key.minimum, key.above, key.maximum), **shown}


def _checked(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The function with its refusals as argparse wants them."""

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def parsed(schema: type[Schema], options: argparse.Namespace) -> Schema:
    """The request that a command line makes.

    Raises:
        OptionError: options break a rule of the request.
    """
    request: Schema = msgspec.convert(_values(schema, schema.arranged(vars(options))), schema)
    request.check()
    return request


def _values(schema: type[Section], options: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, key in keys_of(schema).items():
        if key.section:
            values[name] = _values(key.section, options)
        elif "keys" in key.spelling:
            values[name] = {one: options[one] for one in keys_of(key.spelling["keys"]) if options[one] is not None}
        else:
            values[name] = str(options[name]) if isinstance(options[name], Path) else options[name]
    return values
