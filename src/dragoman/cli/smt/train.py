"""`dragoman smt train`: a phrase-based system from parallel text."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.alignment.symmetrize import ALIGNERS, METHODS
from dragoman.cli.shared.options import add_corpus_options, add_general_options
from dragoman.cli.shared.parsing import Parser, bounded, natural, output_folder, positive_int
from dragoman.errors import ConfigError
from dragoman.smt.settings import SystemSettings

SUMMARY = "train a phrase-based system in Moses format"
DESCRIPTION = (
    "Aligns the words of a parallel corpus, extracts and scores phrase pairs, trains lexicalised\n"
    "reordering and an n-gram language model, and writes a folder that Moses can read too: moses.ini,\n"
    "phrase-table.gz, the reordering table, lm.arpa. The corpus must be tokenised (and usually\n"
    "lower-cased). The weights are initial values for `dragoman smt tune`."
)
EXAMPLES = (
    "dragoman smt train --train train.de train.en --out SYSTEM",
    "dragoman smt train --train train.de train.en --alignments train.align --order 3 --out SYSTEM",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt train`."""
    from dragoman.requests.shared import PAIRS

    parser.add_argument(
        "--train",
        nargs="+",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help=f"training corpus: {PAIRS}; may be repeated",
    )
    parser.add_argument(
        "--out", required=True, type=output_folder, metavar="SYSTEM", help="folder to write; must not exist"
    )
    words = parser.add_argument_group("word alignment")
    words.add_argument(
        "--alignments",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="word alignments in Pharaoh format to use instead of an aligner; one file for each --train",
    )
    words.add_argument(
        "--aligner",
        choices=ALIGNERS,
        default=SystemSettings.aligner,
        help="word aligner, run in both directions",
    )
    words.add_argument(
        "--symmetrize", choices=METHODS, default=SystemSettings.symmetrization, help="symmetrization heuristic"
    )
    models = parser.add_argument_group("models")
    models.add_argument(
        "--max-phrase-length",
        type=positive_int,
        default=SystemSettings.phrase_length,
        metavar="N",
        help="maximum length of a phrase, in words",
    )
    models.add_argument(
        "--order",
        type=bounded(int, minimum=2, maximum=6),  # what KenLM reads
        default=SystemSettings.order,
        metavar="N",
        help="order of the n-gram language model, 2 to 6",
    )
    models.add_argument(
        "--monolingual",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="additional target-language text for the language model",
    )
    models.add_argument(
        "--distortion-limit",
        type=natural,
        default=SystemSettings.distortion_limit,
        metavar="N",
        help="distortion limit of the decoder, in words; the value is written to moses.ini",
    )
    add_corpus_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Train."""
    if options.alignments and len(options.alignments) != len(options.train):
        raise ConfigError(
            f"--alignments: {len(options.alignments)} files for {len(options.train)} of --train; give one for each"
        )

    from dragoman.progress import Console
    from dragoman.smt.system_training import train_system

    settings = SystemSettings(
        options.aligner, options.symmetrize, options.max_phrase_length, options.order, options.distortion_limit
    )
    console = Console(quiet=options.quiet)
    train_system(
        options.train,
        options.out,
        settings,
        console,
        alignments=options.alignments,
        monolingual=options.monolingual,
    )
