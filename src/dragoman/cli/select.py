"""`dragoman select`: the best hypothesis of each sentence of an n-best list."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.tuning.reranking import Criterion

SUMMARY = "pick the best hypothesis of each list"
DESCRIPTION = (
    "Prints one hypothesis for each sentence of a Moses n-best list: the one with the best total, unless an option\n"
    "says what else is best. A sentence without hypotheses is a blank line, so that lines stay those of the source."
)
EXAMPLES = (
    "dragoman select test.rescored.gz --weights tuned.weights > test.out",
    "dragoman select test.rescored.gz --average Neural > test.out",
    "dragoman select test.nbest --oracle test.en > test.oracle",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `select`."""
    parser.add_argument("nbest", metavar="NBEST", help="a Moses n-best list, .gz, .xz or .zst too; - is standard input")
    best = parser.add_argument_group("what is best (default: the total of the list)")
    scores = best.add_mutually_exclusive_group()
    scores.add_argument("--weights", metavar="FILE", help="weighted sum of the features; lines `Name= weight ...`")
    scores.add_argument("--average", nargs="+", metavar="NAME", help="plain average of the total and these features")
    scores.add_argument("--oracle", nargs="+", metavar="REF", help="--metric against these references")
    best.add_argument(
        "--mbr", action="store_true", help="minimum Bayes risk: the best --metric to be expected, by that score"
    )
    best.add_argument(
        "--metric", choices=("bleu", "chrf"), help="of a sentence, for --oracle and --mbr (default: bleu)"
    )
    best.add_argument("--mbr-scale", type=positive_float, default=1.0, metavar="F", help="factor of scores for --mbr")
    best.add_argument(
        "--mbr-size", type=positive_int, default=100, metavar="N", help="hypotheses that take part in --mbr"
    )
    parser.add_argument(
        "--lines", type=positive_int, metavar="N", help="sentences there are, where the last may be missing"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the hypotheses go")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Write a line for each sentence."""
    if options.mbr and options.oracle:
        raise ConfigError("--oracle knows what is best, --mbr does not; leave one of them out")
    if options.metric and not (options.mbr or options.oracle):
        raise ConfigError("--metric is about --oracle and --mbr, and has no meaning without them")

    from dragoman.errors import InputError
    from dragoman.evaluation.minimum_risk import pairwise_bleu, pairwise_chrf
    from dragoman.scoring.nbest import by_sentence, read_nbest
    from dragoman.text.lines import replace_output
    from dragoman.tuning.reranking import by_expectation, rerank

    criterion = _criterion(options)
    if options.mbr:
        utility = pairwise_chrf if options.metric == "chrf" else pairwise_bleu
        criterion = by_expectation(criterion, options.mbr_scale, options.mbr_size, utility)
    with replace_output(options.output) as file:
        written = 0
        for entry in rerank(by_sentence(read_nbest(options.nbest)), criterion):
            file.write("\n" * (entry.sentence - written) + entry.text + "\n")
            written = entry.sentence + 1
        if options.lines is not None:
            if written > options.lines:
                raise InputError(
                    f"{options.nbest}: has hypotheses of more than the {options.lines} sentences of --lines"
                )
            file.write("\n" * (options.lines - written))


def _criterion(options: argparse.Namespace) -> Criterion:
    from dragoman.tuning.feature_weights import read_weights
    from dragoman.tuning.pool import read_references
    from dragoman.tuning.reranking import by_average, by_oracle, by_total, by_weights
    from dragoman.tuning.tuning_metric import METRICS

    if options.weights is not None:
        return by_weights(read_weights(options.weights), options.weights, options.nbest)
    if options.average is not None:
        return by_average(options.average, options.nbest)
    if options.oracle is not None:
        return by_oracle(read_references(options.oracle), options.oracle[0], METRICS[options.metric or "bleu"])
    return by_total
