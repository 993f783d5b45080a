"""Search options of the command line, generated from the keys and descriptions of `SearchConfig`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.cli.shared.parsing import Parser, bounded

if TYPE_CHECKING:
    from dragoman.config.schema import SearchConfig
    from dragoman.config.section import Key


def add_search_options(parser: Parser) -> argparse._ArgumentGroup:
    """Declare an option for each key of `SearchConfig`; None where it is not given. Returns the group."""
    group = parser.add_argument_group("search (default: the configuration of the run)")
    for name, key in _search_keys().items():
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, help=key.description, **_kind(key))
    return group


def given_search_options(options: argparse.Namespace) -> dict[str, Any]:
    """The search options that the command line gives, by key."""
    return {name: getattr(options, name) for name in _search_keys() if getattr(options, name) is not None}


def override_search(config: SearchConfig, options: argparse.Namespace) -> SearchConfig:
    """The search configuration of a run with the options of the command line over it.

    Raises:
        ConfigError: an option that has no effect under the others.
    """
    from dragoman.translation.options import changed_search

    return changed_search(config, given_search_options(options))


def _search_keys() -> Mapping[str, Key]:
    """The keys of `SearchConfig`; the schema is imported here, so that the list of verbs does not need its library."""
    from dragoman.config.schema import SearchConfig
    from dragoman.config.section import keys_of

    return keys_of(SearchConfig)


def _kind(key: Key) -> dict[str, Any]:
    """The arguments with which argparse parses and checks the values of a key."""
    if key.choices:
        return {"choices": key.choices}
    kind = key.types[0]
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    return {"type": bounded(kind, key.minimum, key.above, key.maximum), "metavar": "N" if kind is int else "X"}
