"""`dragoman cluster phrase-table`: neural scores as columns of many phrase tables, on many machines."""

from __future__ import annotations

import argparse

from dragoman.cli.phrase_table import add_models
from dragoman.cli.shared.cluster import add_cluster_options, run_on_cluster
from dragoman.cli.shared.parsing import Parser

SUMMARY = "add neural scores to many phrase tables"
DESCRIPTION = (
    "Writes Moses phrase tables, or the parts of one that is split between source phrases, with one more\n"
    "score per model, as `dragoman phrase-table` does, with workers of Ray. Outputs and interruptions:\n"
    "see dragoman cluster translate."
)
EXAMPLES = ("dragoman cluster phrase-table --input 'table/*.gz' --model LIGHT --reverse LIGHT2 --output table2",)


def add_options(parser: Parser) -> None:
    """Declare the options of `cluster phrase-table`."""
    add_cluster_options(parser, "Moses phrase tables")
    add_models(parser, required=True)


def run(options: argparse.Namespace) -> None:
    """Score all phrase pairs."""
    models = {"model": options.model, "reverse": options.reverse}
    run_on_cluster(options, "phrase-table", models, {"unknown": options.unknown})
