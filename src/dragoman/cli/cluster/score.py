"""`dragoman cluster score`: log-probabilities of given translations in many files, on many machines."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.cluster import add_cluster_options, run_on_cluster
from dragoman.cli.shared.options import add_ensemble_options, add_runs
from dragoman.cli.shared.parsing import Parser
from dragoman.cli.shared.runs import require_several_runs

SUMMARY = "score given translations in many files"
DESCRIPTION = (
    "Writes the log-probability of each target sentence given its source, as `dragoman score` does, with\n"
    "workers of Ray. Inputs are .tsv or .jsonl files with pairs, or the source sides of corpora whose\n"
    "target sides are given with --target. Outputs and interruptions: see dragoman cluster translate."
)
EXAMPLES = (
    "dragoman cluster score LIGHT --input 'pairs/*.tsv.gz' --output scores",
    "dragoman cluster score LIGHT --input 'corpus/*.de' --target 'corpus/*.en' --output scores --workers 8",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `cluster score`."""
    add_runs(parser)
    add_cluster_options(parser, "source sentences, or pairs (.tsv, .jsonl)", ("--target", "target sentences"))
    parser.add_argument(
        "--token-counts",
        action="store_true",
        help="after each score, by a tab, the number of target tokens, EOS included",
    )
    add_ensemble_options(parser)


def run(options: argparse.Namespace) -> None:
    """Score all inputs."""
    require_several_runs(options, options.runs)
    settings = {
        "token_counts": options.token_counts,
        "combine": options.combine or "probabilities",
        "weights": options.weights,
    }
    run_on_cluster(options, "score", {"runs": options.runs}, settings, "target")
