"""`dragoman export`: one run or an ensemble as ONNX graphs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import PAIRS_HELP, add_ensemble_options, add_general_options
from dragoman.cli.shared.parsing import Parser, positive_int
from dragoman.cli.shared.runs import require_several_runs
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.export.output_layer import EnsembleCombination

SUMMARY = "export to ONNX: a folder that translates without torch"
DESCRIPTION = (
    "Writes the model of a run as ONNX graphs, together with its vocabularies, segmentation and\n"
    "configuration. `translate`, `score` and `align` accept the folder in place of a run folder and\n"
    "then need no extras (no torch). In float32 translations are those of the run; --int8 quantises the\n"
    "model, which makes it smaller and faster; --shortlist restricts each sentence to a few likely\n"
    "target words, which is faster still (see docs/export.md). Several runs with the same vocabularies\n"
    "become one ensemble, the one of `translate RUN1 RUN2`."
)
EXAMPLES = (
    "dragoman export RUN --out LIGHT",
    "dragoman export RUN --out LIGHT --int8 --shortlist 2000 --overwrite",
    "dragoman export RUN1 RUN2 --out BOTH --combine log-probabilities --weights 2 1",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `export`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder; several form an ensemble")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write")
    parser.add_argument("--int8", action="store_true", help="quantise matrix products to 8-bit integers")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing exported folder")
    shortlist = parser.add_argument_group("shortlist")
    shortlist.add_argument(
        "--shortlist",
        type=positive_int,
        metavar="K",
        help="restrict the target vocabulary of a sentence to the K most frequent words and the likeliest translations "
        "of its source words",
    )
    shortlist.add_argument(
        "--shortlist-corpus",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help=f"corpus to learn word translations from: {PAIRS_HELP} (default: training data stored in the run)",
    )
    add_ensemble_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Export, and print the size of the folder and its deviation from the run."""
    require_sense(options)

    from dragoman.export.writing import ExportOptions, export_runs
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run

    runs = [open_run(name, device="cpu") for name in options.runs]
    chosen = ExportOptions(options.int8, options.shortlist, options.shortlist_corpus, _ensemble_combination(options))
    exported = export_runs(runs, options.out, chosen, overwrite=options.overwrite)
    console = Console(quiet=options.quiet)
    kind = "int8 against the float32 of the run" if options.int8 else "rounding in float32"
    console.info(
        f"largest difference of a log-probability from the run, on random sentences: {exported.difference:.1g} ({kind})"
    )
    if options.int8:
        console.info("random sentences differ more than text; `dragoman evaluate` compares the quality on text")
    console.info(f"exported: {options.out} ({exported.bytes / 1e6:.1f} MB)")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    require_several_runs(options, options.runs)
    if options.shortlist_corpus and options.shortlist is None:
        raise ConfigError("--shortlist-corpus requires --shortlist K")
    if len(options.shortlist_corpus) > 2:
        raise ConfigError("--shortlist-corpus: give two files (source and target), or one .tsv or .jsonl file")


def _ensemble_combination(options: argparse.Namespace) -> EnsembleCombination:
    from dragoman.export.output_layer import EnsembleCombination

    weights = options.weights or [1.0] * len(options.runs)
    return EnsembleCombination(options.combine or "probabilities", [weight / sum(weights) for weight in weights])
