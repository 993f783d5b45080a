"""Opening the runs that a command line names, alone or as an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.runs.opening import Run


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


def open_runs(names: Sequence[str], options: argparse.Namespace) -> list[Run]:
    """Open runs with the `--device` and `--threads` of the command line."""
    from dragoman.runs.opening import open_run

    return [open_run(name, device=options.device, threads=options.threads) for name in names]
