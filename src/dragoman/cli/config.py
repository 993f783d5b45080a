"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.configuration import add_configuration_options, apply_configuration_options
from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = (
    "Prints a preset as a complete configuration file: all defaults written out, every key explained,\n"
    "and in brackets the section of the paper that a value comes from."
)
EXAMPLES = (
    "dragoman config standard > mine.yaml",
    "dragoman config bahdanau2015 --scale 0.25 --set training.epochs=5",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `config`."""
    parser.add_argument("preset", metavar="PRESET", help="name of a preset (see `dragoman presets`)")
    add_configuration_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print the configuration."""
    from dragoman.config.files import dump_config
    from dragoman.config.presets import load_preset

    print(dump_config(apply_configuration_options(load_preset(options.preset), options)), end="")
