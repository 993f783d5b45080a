"""Opening the runs that a command line names, alone or as an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.engines.ensemble_engine import Combination
    from dragoman.runs.opening import Run
    from dragoman.scoring.scorer import Scorer


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


def make_scorer(
    names: Sequence[str],
    runs: Sequence[Run],
    combination: Combination = "probabilities",
    weights: Sequence[float] | None = None,
) -> Scorer:
    """The scorer of one run, or of the ensemble of several.

    Raises:
        ConfigError: the runs differ in target vocabulary or segmentation, or there is not one weight per run.
    """
    from dragoman.scoring.scorer import Scorer
    from dragoman.translation.ensemble import Ensemble, require_same_segmentation, require_same_target

    if len(runs) == 1:
        return runs[0].scorer()
    require_same_target(names, [run.target.vocabulary for run in runs])
    require_same_segmentation(names, [run.target for run in runs])
    ensemble = Ensemble([(run.engine, run.source) for run in runs], combination, weights)
    return Scorer.of_ensemble(ensemble, runs[0].target)
