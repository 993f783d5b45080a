"""Opening the runs that a command line names, alone or as an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    pass


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
