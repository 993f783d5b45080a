"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import argparse

from dragoman.cli.parsing import Parser, add_general_options

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = "Prints a preset as a complete configuration file: every default written out, every key explained."
EXAMPLES = (
    "dragoman config standard > mine.yaml",
    "dragoman config bahdanau2015 --set model.encoder.size=500 training.epochs=5",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `config`."""
    parser.add_argument("preset", metavar="PRESET", help="a name that `dragoman presets` lists")
    add_set_option(parser)
    add_general_options(parser, device=False)


def add_set_option(container: argparse._ActionsContainer) -> None:
    """`--set key=value ...`, the same in every verb that builds a configuration."""
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
    from dragoman.config.building import override
    from dragoman.config.files import dump_config
    from dragoman.config.presets import load_preset

    print(dump_config(override(load_preset(options.preset), options.set)), end="")
