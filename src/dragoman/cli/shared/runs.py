"""Opening the runs that a command line names, alone or as an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.search_options import override_search, spelt
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.runs.opening import OpenedModels
    from dragoman.translation.translator import Translator


def require_several_runs(options: argparse.Namespace, runs: Sequence[str]) -> None:
    """Refuse the options of an ensemble for a single run.

    Raises:
        ConfigError: such an option; or another number of weights than of runs.
    """
    for name in ("combine", "weights"):
        if len(runs) == 1 and getattr(options, name) is not None:
            raise ConfigError(f"--{name} requires several runs, but only {runs[0]} is given")
    if options.weights is not None and len(options.weights) != len(runs):
        raise ConfigError(f"--weights: {len(options.weights)} weights for {len(runs)} runs; give one per run")


def split_runs(options: argparse.Namespace) -> tuple[list[str], list[Path]]:
    """Separate runs from files: the files are the last name if it holds pairs, else the last two.

    Raises:
        ConfigError: no run is left.
    """
    from dragoman.text.corpus import holds_pairs

    names = [*options.runs, *map(str, options.files)]
    files = 1 if holds_pairs(Path(names[-1])) else 2
    if len(names) == files:
        raise ConfigError(
            f"{' '.join(names)}: give a run and two files (source and target), or a run and one .tsv or .jsonl file"
        )
    return names[:-files], [Path(name) for name in names[-files:]]


def open_several(names: Sequence[str], options: argparse.Namespace, *, shortlist: bool = True) -> OpenedModels:
    """Open a run or an ensemble with the options of the command line.

    Raises:
        RunError, ConfigError: as for `open_models`.
    """
    from dragoman.runs.opening import open_models

    return open_models(
        names,
        device=options.device,
        threads=options.threads,
        shortlist=shortlist,
        combine=options.combine or "probabilities",
        weights=options.weights,
    )


def make_translator(models: OpenedModels, options: argparse.Namespace) -> Translator:
    """The translator of models with the search options of the command line.

    Raises:
        ConfigError: models do not fit together, or an option has no effect under the others or needs attention.
    """
    from dragoman.translation.options import require_attention

    translator = models.translator(override_search(models.first.config.search, options))
    if not translator.attends:
        require_attention(vars(options), f"the model of {models.names[0]}", spelt)
    return translator
