"""`--scale`, `--sizes-only` and `--set`: how the verbs that build a model change its configuration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import positive_float
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config
    from dragoman.progress import Console
    from dragoman.text.corpus import Corpora


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
    """Declare `--scale F`, `--sizes-only` and `--set KEY=VALUE ...`, the same in every verb that builds a model."""
    container.add_argument(
        "--scale",
        type=positive_float,
        metavar="F",
        help="multiply all layer sizes by F, keeping their ratios (0.25 turns 1000 units into 250), and initial values "
        "with a stated range by 1 / sqrt(F), the clipping norm of plain SGD by sqrt(F); a local attention window then "
        "follows the training text; rates and numbers of layers, words and sentences stay "
        "(docs/papers/small-sizes.md says why); applied before --set",
    )
    container.add_argument(
        "--sizes-only",
        action="store_true",
        help="with --scale: change layer sizes alone, not initial values, clipping norm or attention window",
    )
    add_set(container, "training.epochs=5")


def config_for_text(corpora: Corpora, console: Console, *, always_say: bool = False) -> Config:
    """The preset that fits a training text, and for the user a line on what is unusual; `always_say`: or usual.

    Raises:
        InputError: the files cannot be read.
    """
    from dragoman.config.building import override
    from dragoman.config.presets import load_preset
    from dragoman.workflows.preset_choice import USUAL, choose_preset

    choice = choose_preset(corpora)
    if choice.line or always_say:
        console.info(choice.line or USUAL)
    return override(load_preset(choice.preset), choice.settings)


def apply_configuration_options(config: Config, options: argparse.Namespace) -> Config:
    """The configuration after `--scale`, `--sizes-only` and `--set`.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, sizes that do not fit after rounding.
    """
    from dragoman.config.building import override

    return override(scaled(config, options), options.set)


def scaled(config: Config, options: argparse.Namespace) -> Config:
    """The configuration after `--scale` alone.

    Raises:
        ConfigError: sizes that do not fit after rounding, or `--sizes-only` without `--scale`.
    """
    from dragoman.config.scaling import scale

    if options.scale is None:
        if options.sizes_only:
            raise ConfigError("--sizes-only: has no effect without --scale F")
        return config
    return scale(config, options.scale, sizes_only=options.sizes_only)
