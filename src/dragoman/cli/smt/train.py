"""`dragoman smt train`: a phrase-based system from parallel text."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options, natural, positive_int
from dragoman.cli.symmetrize import METHODS
from dragoman.errors import ConfigError
from dragoman.smt.settings import SystemSettings

SUMMARY = "train a phrase-based system of Moses' files"
DESCRIPTION = (
    "Aligns the words of parallel text, extracts phrase pairs, scores them, learns lexicalised reordering and a\n"
    "language model, and writes all as a folder that Moses reads too: moses.ini, phrase-table.gz, the reordering\n"
    "table, lm.arpa. Words are what stands between blanks: tokenise and lower-case the text first. Weights are\n"
    "those that tuning starts from; `dragoman smt tune` finds better ones."
)
EXAMPLES = (
    "dragoman smt train --train train.de train.en --out SYSTEM",
    "dragoman smt train --train train.de train.en --alignments train.align --order 3 --out SYSTEM",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt train`."""
    parser.add_argument(
        "--train",
        nargs="+",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help="parallel text: SRC TGT, or one .tsv or .jsonl; may be repeated",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="SYSTEM", help="the folder to write; it must be new")
    words = parser.add_argument_group("word alignment")
    words.add_argument(
        "--alignments",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="links in Pharaoh format, for each --train one file, instead of an aligner's",
    )
    words.add_argument(
        "--aligner",
        choices=("ibm1", "ibm2", "hmm", "fast-align", "eflomal"),
        default=SystemSettings.aligner,
        help="the aligner, used in both directions",
    )
    words.add_argument(
        "--symmetrize", choices=METHODS, default=SystemSettings.symmetrization, help="how the links of both are joined"
    )
    models = parser.add_argument_group("models")
    models.add_argument(
        "--max-phrase-length",
        type=positive_int,
        default=SystemSettings.phrase_length,
        metavar="N",
        help="words of either phrase at most",
    )
    models.add_argument(
        "--order",
        type=_order,
        default=SystemSettings.order,
        metavar="N",
        help="words of the language model's longest n-grams, 2 to 6",
    )
    models.add_argument(
        "--monolingual",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="more text of the target language for the language model",
    )
    models.add_argument(
        "--distortion-limit",
        type=natural,
        default=SystemSettings.distortion_limit,
        metavar="N",
        help="words that search may jump over",
    )
    add_general_options(parser, device=False)


def _order(text: str) -> int:
    """KenLM reads n-grams of 2 to 6 words."""
    order = positive_int(text)
    if not 2 <= order <= 6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 2 to 6")
    return order


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
