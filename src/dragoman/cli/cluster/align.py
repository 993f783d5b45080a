"""`dragoman cluster align`: word alignments of given translations in many files, on many machines."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.cluster import add_cluster_options, run_on_cluster
from dragoman.cli.shared.options import DEFAULT_SYMMETRIZATION, SYMMETRIZATIONS, add_ensemble_options, add_runs
from dragoman.cli.shared.parsing import Parser, probability
from dragoman.cli.shared.runs import require_several_runs
from dragoman.errors import ConfigError

SUMMARY = "align the words of many files"
DESCRIPTION = (
    "Writes the word alignment of each pair, as `dragoman align` does, with workers of Ray. Inputs are\n"
    ".tsv or .jsonl files with pairs, or the source sides of corpora whose target sides are given with\n"
    "--target. Outputs and interruptions: see dragoman cluster translate."
)
EXAMPLES = (
    "dragoman cluster align LIGHT --input 'pairs/*.tsv.gz' --output links",
    "dragoman cluster align DE-EN --input 'c/*.de' --target 'c/*.en' --reverse EN-DE --output links",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `cluster align`."""
    add_runs(parser)
    add_cluster_options(parser, "source sentences, or pairs (.tsv, .jsonl)", ("--target", "target sentences"))
    links = parser.add_argument_group("links")
    links.add_argument("--one-based", action="store_true", help="count words from 1")
    links.add_argument(
        "--threshold",
        type=probability,
        metavar="T",
        help="print all links with a weight of at least T instead of the largest for each target word",
    )
    links.add_argument(
        "--reverse", action="append", default=[], metavar="RUN2", help="target-to-source run; may be repeated"
    )
    links.add_argument(
        "--symmetrize",
        choices=SYMMETRIZATIONS,
        metavar="METHOD",
        help=f"symmetrization heuristic: {', '.join(SYMMETRIZATIONS)} (default: {DEFAULT_SYMMETRIZATION})",
    )
    links.add_argument("--segments", action="store_true", help="link the model's segments instead of words")
    add_ensemble_options(parser)


def run(options: argparse.Namespace) -> None:
    """Align all inputs."""
    require_several_runs(options, options.runs)
    if options.symmetrize is not None and not options.reverse:
        raise ConfigError("--symmetrize requires a run of the opposite direction; give it with --reverse RUN2")
    if options.segments and options.reverse:
        raise ConfigError("--segments has no meaning with --reverse: two models divide text in two ways")
    settings = {
        "unit": "segments" if options.segments else "words",
        "threshold": options.threshold,
        "one_based": options.one_based,
        "symmetrize": options.symmetrize or DEFAULT_SYMMETRIZATION,
        "combine": options.combine or "probabilities",
        "weights": options.weights,
    }
    models = {"runs": options.runs, "reverse": options.reverse}
    run_on_cluster(options, "align", models, settings, "target")
