"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.configuration import add_configuration_options, scaled
from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = (
    "Prints a preset as a complete configuration file: all defaults written out, every key explained,\n"
    "and in brackets the section of the paper that a value comes from, or what --scale made of it."
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
    from dragoman.config.building import override
    from dragoman.config.files import dump_config, value_at
    from dragoman.config.presets import load_preset
    from dragoman.config.scaling import scaled_values

    preset = load_preset(options.preset)
    made_small = scaled(preset, options)
    config = override(made_small, options.set)
    changed = [] if options.scale is None else scaled_values(preset, made_small, options.scale)
    notes = {key: note for key, note in changed if value_at(config, key) == value_at(made_small, key)}
    print(dump_config(config, notes), end="")
