"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.configuration import add_configuration_options, config_for_text, scaled
from dragoman.cli.shared.files import require_corpora
from dragoman.cli.shared.options import add_corpora, add_general_options, add_length, length_settings
from dragoman.cli.shared.parsing import Parser
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config, TrainingConfig
    from dragoman.progress import Console

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = (
    "Prints a preset as a complete configuration file: all defaults written out, every key explained,\n"
    "and in brackets the section of the paper that a value comes from, or what --scale made of it.\n"
    "With --train it prints what `dragoman train` chooses for that text, and why, and how long it trains."
)
EXAMPLES = (
    "dragoman config standard > mine.yaml",
    "dragoman config bahdanau2015 --scale 0.25 --set training.epochs=5",
    "dragoman config --train corpus.zh corpus.en --minutes 20",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `config`."""
    parser.add_argument("preset", nargs="?", metavar="PRESET", help="name of a preset (see `dragoman presets`)")
    add_corpora(parser, "--train", "in place of PRESET, the training corpus to choose for")
    add_configuration_options(parser)
    add_length(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print the configuration."""
    from dragoman.config.building import override
    from dragoman.config.files import dump_config, value_at
    from dragoman.config.scaling import scaled_values
    from dragoman.progress import Console

    console = Console(quiet=options.quiet)
    preset = _preset(options, console)
    made_small = scaled(preset, options)
    config = override(made_small, [*options.set, *length_settings(options)])
    if options.train:
        console.info(f"length: {_length(config.training)}")
    changed = [] if options.scale is None else scaled_values(preset, made_small, options.scale)
    notes = {key: note for key, note in changed if value_at(config, key) == value_at(made_small, key)}
    print(dump_config(config, notes), end="")


def _preset(options: argparse.Namespace, console: Console) -> Config:
    """The preset that is named, or the one for the training text."""
    if (options.preset is not None) == bool(options.train):
        raise ConfigError("give either a PRESET or --train FILES (see dragoman config --help)")

    from dragoman.config.presets import load_preset

    if options.preset is not None:
        return load_preset(options.preset)
    require_corpora("--train", options.train)
    for path in (path for files in options.train for path in files):
        if not path.is_file():  # nor a pipe: the choice looks at regular files only
            raise ConfigError(f"--train: {path} is not a file")
    return config_for_text(options.train, console, always_say=True)


def _length(config: TrainingConfig) -> str:
    """How long a training is, in words."""
    length = f"{config.epochs:g} epochs" if config.updates is None else f"{config.updates:,} updates"
    if config.minutes is None:
        return length
    return f"{length} or {config.minutes:g} minutes, whichever ends first"
