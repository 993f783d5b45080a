"""`dragoman rerank`: the best hypothesis of each sentence of an n-best list."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options, add_output
from dragoman.cli.shared.parsing import Parser, positive_float, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.tuning.reranking import Criterion

SUMMARY = "rerank n-best lists and print the best hypotheses"
DESCRIPTION = (
    "Reranks a Moses n-best list and prints the best hypothesis of each sentence: by default the one\n"
    "with the highest total score. Output lines match source lines: a sentence without hypotheses gives\n"
    "an empty line."
)
EXAMPLES = (
    "dragoman rerank test.rescored.gz --feature-weights tuned.weights > test.out",
    "dragoman rerank test.rescored.gz --average Neural > test.out",
    "dragoman rerank test.nbest --oracle test.en > test.oracle",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `rerank`."""
    from dragoman.requests.shared import COMPRESSION, NBEST

    parser.add_argument("nbest", metavar="NBEST", help=f"{NBEST}; {COMPRESSION}; - for standard input")
    best = parser.add_argument_group("criterion (default: total score of the list)")
    scores = best.add_mutually_exclusive_group()
    scores.add_argument(
        "--feature-weights",
        metavar="FILE",
        help="weighted sum of the features, with weights from lines `Name= weight ...`",
    )
    scores.add_argument(
        "--average", nargs="+", metavar="NAME", help="unweighted mean of the total score and these features"
    )
    scores.add_argument("--oracle", nargs="+", metavar="REF", help="sentence-level --metric against these references")
    best.add_argument("--mbr", action="store_true", help="minimum Bayes risk: expected --metric under that score")
    best.add_argument(
        "--metric", choices=("bleu", "chrf"), help="sentence-level metric of --oracle and --mbr (default: bleu)"
    )
    best.add_argument(
        "--mbr-scale", type=positive_float, default=1.0, metavar="F", help="scaling factor of scores for --mbr"
    )
    best.add_argument(
        "--mbr-size", type=positive_int, default=100, metavar="N", help="hypotheses per sentence to consider for --mbr"
    )
    parser.add_argument(
        "--sentences",
        type=positive_int,
        metavar="N",
        help="number of sentences, if the list may lack hypotheses of the last ones",
    )
    add_output(parser, "the hypotheses")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Write a line for each sentence."""
    require_sense(options)

    from dragoman.errors import InputError
    from dragoman.evaluation.minimum_risk import pairwise_bleu, pairwise_chrf
    from dragoman.evaluation.tokenised_text import warn_of_lines_without_spaces
    from dragoman.scoring.nbest import by_sentence, read_nbest
    from dragoman.text.lines import replace_output
    from dragoman.text.scripts import SpacingCounter
    from dragoman.tuning.reranking import by_expectation, rerank

    criterion = _criterion(options)
    if options.mbr:
        utility = pairwise_chrf if options.metric == "chrf" else pairwise_bleu
        criterion = by_expectation(criterion, options.mbr_scale, options.mbr_size, utility)
    spacing = SpacingCounter()
    with replace_output(options.output) as file:
        written = 0
        for entry in rerank(by_sentence(read_nbest(options.nbest)), criterion):
            file.write("\n" * (entry.sentence - written) + entry.text + "\n")
            written = entry.sentence + 1
            spacing.add(entry.text)
        if options.sentences is not None:
            if written > options.sentences:
                raise InputError(f"{options.nbest}: has more than {options.sentences} sentences (--sentences)")
            file.write("\n" * (options.sentences - written))
    if options.mbr and options.metric != "chrf" and spacing.unsegmented:
        warn_of_lines_without_spaces("hypotheses", "BLEU", "divide them into words, or use --metric chrf")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    if options.mbr and options.oracle:
        raise ConfigError("--oracle and --mbr exclude each other; leave one of them out")
    if options.metric and not (options.mbr or options.oracle):
        raise ConfigError("--metric requires --oracle or --mbr")


def _criterion(options: argparse.Namespace) -> Criterion:
    from dragoman.tuning.feature_weights import read_weights
    from dragoman.tuning.pool import METRICS, read_references
    from dragoman.tuning.reranking import by_average, by_oracle, by_total, by_weights

    if options.feature_weights is not None:
        return by_weights(read_weights(options.feature_weights), options.feature_weights, options.nbest)
    if options.average is not None:
        return by_average(options.average, options.nbest)
    if options.oracle is not None:
        metric = METRICS[options.metric or "bleu"]
        return by_oracle(read_references(options.oracle, metric), options.oracle[0], metric)
    return by_total
