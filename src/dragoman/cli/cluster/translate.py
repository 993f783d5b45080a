"""`dragoman cluster translate`: translate many files on many machines."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.cluster import add_cluster_options, run_on_cluster
from dragoman.cli.shared.options import add_ensemble_options, add_runs
from dragoman.cli.shared.parsing import Parser
from dragoman.cli.shared.runs import require_several_runs
from dragoman.cli.shared.search_options import add_search_options, given_search_options

SUMMARY = "translate many files"
DESCRIPTION = (
    "Translates files line by line with workers of Ray, on this machine or on a cluster. Every input file\n"
    "gives one output file of the same name and the same number of lines, in order, equal to what\n"
    "`dragoman translate --threads 1` writes. A line that fails is empty and listed in failed.jsonl. If\n"
    "interrupted, the same command does what is missing. Workers open RUN under the same path."
)
EXAMPLES = (
    "dragoman cluster translate LIGHT --input 'news/*.gz' --output news.en",
    "dragoman cluster translate LIGHT --input 's3://bucket/news/*.zst' --output news.en --address auto --workers 64",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `cluster translate`."""
    add_runs(parser)
    add_cluster_options(parser, "text to translate, one sentence a line")
    search = add_search_options(parser)
    search.add_argument(
        "--no-shortlist", action="store_true", help="ignore the shortlist of an exported folder: full vocabulary"
    )
    search.add_argument(
        "--ban", action="append", default=[], metavar="WORDS", help="never produce this word or phrase; may be repeated"
    )
    add_ensemble_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate all inputs."""
    require_several_runs(options, options.runs)
    settings = {
        "search": given_search_options(options),
        "shortlist": not options.no_shortlist,
        "more": {"ban": options.ban},
        "combine": options.combine or "probabilities",
        "weights": options.weights,
    }
    run_on_cluster(options, "translate", {"runs": options.runs}, settings)
