"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float

if TYPE_CHECKING:
    from dragoman.config.schema import Config

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = (
    "Prints a preset as a complete configuration file: every default written out, every key explained, and in\n"
    "brackets the section of the paper that a value is from."
)
EXAMPLES = (
    "dragoman config standard > mine.yaml",
    "dragoman config bahdanau2015 --scale 0.25 --set training.epochs=5",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `config`."""
    parser.add_argument("preset", metavar="PRESET", help="a name that `dragoman presets` lists")
    add_change_options(parser)
    add_general_options(parser, device=False)


def add_change_options(container: argparse._ActionsContainer) -> None:
    """`--scale F` and `--set key=value ...`, the same in every verb that builds a configuration."""
    container.add_argument(
        "--scale",
        type=positive_float,
        metavar="F",
        help="multiply all sizes of the model, so that their ratios stay: 0.25 makes 1000 units 250; before --set",
    )
    container.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="change values: dotted keys, YAML values, such as training.epochs=5",
    )


def run(options: argparse.Namespace) -> None:
    """Print the configuration."""
    from dragoman.config.files import dump_config
    from dragoman.config.presets import load_preset

    print(dump_config(changed(load_preset(options.preset), options)), end="")


def changed(config: Config, options: argparse.Namespace) -> Config:
    """The configuration after `--scale` and `--set`.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, sizes that do not fit when rounded.
    """
    from dragoman.config.building import override
    from dragoman.config.scaling import scale

    return override(config if options.scale is None else scale(config, options.scale), options.set)
