"""`dragoman cluster rescore`: neural scores as features of many n-best lists, on many machines."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from dragoman.cli.rescore import add_feature_options, features_of, require_sensible_features
from dragoman.cli.shared.cluster import add_cluster_options, run_on_cluster
from dragoman.cli.shared.options import NBEST_HELP
from dragoman.cli.shared.parsing import Parser

SUMMARY = "add neural scores to many n-best lists"
DESCRIPTION = (
    "Writes n-best lists with additional features, as `dragoman rescore` does, with workers of Ray. A line\n"
    "that is no hypothesis is empty in the output and listed in failed.jsonl. Outputs and interruptions:\n"
    "see dragoman cluster translate."
)
EXAMPLES = (
    "dragoman cluster rescore --input 'lists/*.gz' --source 'text/*.fr' --model LIGHT --output rescored",
    "dragoman cluster rescore --input 'lists/*.gz' --lm LM --output rescored --workers 8",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `cluster rescore`."""
    add_cluster_options(parser, NBEST_HELP, ("--source", "source sentences; sentence ids count their lines from 0"))
    add_feature_options(parser)


def run(options: argparse.Namespace) -> None:
    """Rescore all inputs."""
    require_sensible_features(options)
    settings = asdict(features_of(options))
    models = {use: settings.pop(use) for use in ("model", "reverse", "lm")}
    run_on_cluster(options, "rescore", models, settings, "source")
