"""`dragoman smt tune`: weights of a phrase-based system by minimum error rate training."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, natural, output_file, positive_int
from dragoman.cli.shared.smt_search import add_search_options, add_system, decoder_settings
from dragoman.errors import InputError
from dragoman.smt.settings import TuningSettings

SUMMARY = "tune the weights of a phrase-based system"
DESCRIPTION = (
    "Minimum error rate training (MERT): alternately translates the development set to n-best lists and\n"
    "finds the weights with the best BLEU on all lists so far. Writes the weights of the best iteration\n"
    "into the moses.ini of the system, or as `Name= weight ...` to a file."
)
EXAMPLES = (
    "dragoman smt tune SYSTEM --source dev.de --reference dev.en",
    "dragoman smt tune SYSTEM --source dev.de --reference dev.en --seed 2 -o run2.weights",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt tune`."""
    add_system(parser)
    parser.add_argument("--source", required=True, metavar="SRC", help="source side of the development set")
    parser.add_argument(
        "--reference",
        nargs="+",
        required=True,
        metavar="REF",
        help="reference translations, tokenised; several files for several references",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="write the weights to this file (default: into the moses.ini of the system)",
    )
    rounds = parser.add_argument_group("tuning")
    rounds.add_argument(
        "--initial-weights", metavar="FILE", help="weights to start from (default: the weights of the system)"
    )
    rounds.add_argument(
        "--iterations",
        type=positive_int,
        default=TuningSettings.max_rounds,
        metavar="N",
        help="maximum number of MERT iterations; each translates the development set",
    )
    rounds.add_argument(
        "--nbest", type=positive_int, default=TuningSettings.n_best, metavar="N", help="translations per sentence"
    )
    rounds.add_argument(
        "--restarts",
        type=natural,
        default=TuningSettings.restarts,
        metavar="N",
        help="random restarts per iteration, in addition to the current weights",
    )
    rounds.add_argument(
        "--seed", type=natural, default=TuningSettings.seed, metavar="N", help="seed of the random restarts"
    )
    add_search_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Tune, and write the weights."""
    from dragoman.progress import Console
    from dragoman.smt.moses_ini import replace_weights
    from dragoman.smt.system import PhraseSystem
    from dragoman.smt.system_tuning import tune_system
    from dragoman.text.lines import read_lines
    from dragoman.tuning.feature_weights import read_weights, write_weights
    from dragoman.tuning.pool import read_references

    sources, references = list(read_lines(options.source)), read_references(options.reference)
    if not sources:
        raise InputError(f"{options.source}: empty file")
    if len(sources) != len(references):
        raise InputError(f"{options.source} has {len(sources)} lines but {options.reference[0]} has {len(references)}")
    start = None if options.initial_weights is None else read_weights(options.initial_weights)
    system = PhraseSystem.open(options.system)
    settings = TuningSettings(options.iterations, options.nbest, options.restarts, options.seed)
    console = Console(quiet=options.quiet)
    tuned = tune_system(system, sources, references, decoder_settings(options), settings, console, start=start)
    console.info(f"best: dev BLEU {tuned.bleu:.2f}")
    if options.output is None:
        replace_weights(system.configuration.path, tuned.weights)
    else:
        write_weights(options.output, tuned.weights)
