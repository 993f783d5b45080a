"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config, TrainingConfig
    from dragoman.progress import Console
    from dragoman.requests.training import ConfigurationRequest

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

REQUEST = "dragoman.requests.training.ConfigurationRequest"


def run(request: ConfigurationRequest) -> None:
    """Print the configuration."""
    from dragoman.config.building import override
    from dragoman.config.files import dump_config, value_at
    from dragoman.config.scaling import scaled_values
    from dragoman.progress import Console
    from dragoman.workflows.configuration import scaled

    console, changes = Console(quiet=request.general.quiet), request.changes
    preset = _preset(request, console)
    made_small = scaled(preset, changes)
    config = override(made_small, [*changes.set, *request.length.settings])
    if request.train:
        console.info(f"length: {_length(config.training)}")
    changed = [] if changes.scale is None else scaled_values(preset, made_small, changes.scale)
    notes = {key: note for key, note in changed if value_at(config, key) == value_at(made_small, key)}
    print(dump_config(config, notes), end="")


def _preset(request: ConfigurationRequest, console: Console) -> Config:
    """The preset that is named, or the one for the training text."""
    from dragoman.config.presets import load_preset
    from dragoman.workflows.configuration import config_for_text

    if request.preset is not None:
        return load_preset(request.preset)
    for path in (path for files in request.train for path in files):
        if not os.path.isfile(path):  # nor a pipe: the choice looks at regular files only
            raise ConfigError(f"--train: {path} is not a file")
    return config_for_text(request.train, console, always_say=True)


def _length(config: TrainingConfig) -> str:
    """How long a training is, in words."""
    length = f"{config.epochs:g} epochs" if config.updates is None else f"{config.updates:,} updates"
    if config.minutes is None:
        return length
    return f"{length} or {config.minutes:g} minutes, whichever ends first"
