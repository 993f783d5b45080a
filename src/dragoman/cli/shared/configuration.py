"""`--scale` and `--set`: how the verbs that build a model change its configuration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import positive_float

if TYPE_CHECKING:
    from dragoman.config.schema import Config


def add_set(container: argparse._ActionsContainer, example: str) -> None:
    """Declare `--set KEY=VALUE ...`."""
    container.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=f"override configuration values; KEY is dotted, VALUE is YAML, for example {example}",
    )


def add_configuration_options(container: argparse._ActionsContainer) -> None:
    """Declare `--scale F` and `--set KEY=VALUE ...`, the same in every verb that builds a configuration."""
    container.add_argument(
        "--scale",
        type=positive_float,
        metavar="F",
        help="multiply all layer sizes by F, keeping their ratios (0.25 turns 1000 units into 250); applied before "
        "--set",
    )
    add_set(container, "training.epochs=5")


def apply_configuration_options(config: Config, options: argparse.Namespace) -> Config:
    """The configuration after `--scale` and `--set`.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, sizes that do not fit after rounding.
    """
    from dragoman.config.building import override
    from dragoman.config.scaling import scale

    return override(config if options.scale is None else scale(config, options.scale), options.set)
