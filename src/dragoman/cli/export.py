"""`dragoman export`: one run or an ensemble as ONNX graphs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_corpus_options, add_ensemble_options, add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.export.output_layer import EnsembleCombination
    from dragoman.export.writing import Exported
    from dragoman.website.site import Site

    pass


SUMMARY = "export to ONNX: a folder that translates without torch"
DESCRIPTION = (
    "Writes the model of a run as ONNX graphs, together with its vocabularies, segmentation and\n"
    "configuration. `translate`, `score` and `align` accept the folder in place of a run folder and\n"
    "then need no extras (no torch). In float32 it gives the same translations as the run. --int8\n"
    "makes the model smaller and faster by quantising it. --shortlist is faster still: it restricts each\n"
    "sentence to a few likely target words (see docs/how-to/export.md). Several runs with the same\n"
    "vocabularies become one ensemble, as in `translate RUN1 RUN2`.\n"
    "With --web the folder is a web site that translates in the browser (see docs/browser.md)."
)
EXAMPLES = (
    "dragoman export RUN --out LIGHT",
    "dragoman export RUN --out LIGHT --int8 --shortlist 2000 --overwrite",
    "dragoman export RUN --web --out SITE",
    "dragoman export RUN1 RUN2 --out BOTH --combine log-probabilities --weights 2 1",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `export`."""
    from dragoman.requests.shared import PAIRS

    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder; several form an ensemble")
    parser.add_argument("--out", required=True, type=output_folder, metavar="DIR", help="folder to write")
    parser.add_argument("--int8", action="store_true", help="quantise matrix products to 8-bit integers")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing exported folder")
    web = parser.add_argument_group("web site")
    web.add_argument(
        "--web",
        action="store_true",
        help="write static files for any web host: a page that translates in the visitor's browser, in int8, also "
        "without a network after the first visit",
    )
    web.add_argument(
        "--languages",
        nargs=2,
        metavar=("SRC", "TGT"),
        help="languages of the site, such as de en (default: the languages of the run)",
    )
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
        help=f"corpus to learn word translations from: {PAIRS} (default: training data stored in the run)",
    )
    add_ensemble_options(parser)
    add_corpus_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Export, and print the size of the folder and its deviation from the run."""
    require_sense(options)

    from dragoman.export.writing import ExportOptions, export_runs
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run

    runs = [open_run(name, device="cpu") for name in options.runs]
    int8 = options.int8 or options.web
    chosen = ExportOptions(int8, options.shortlist, options.shortlist_corpus, _ensemble_combination(options))
    exported: Exported | Site
    if options.web:
        from dragoman.website.site import export_site

        exported = export_site(runs, options.out, chosen, languages=_languages(options), overwrite=options.overwrite)
    else:
        exported = export_runs(runs, options.out, chosen, overwrite=options.overwrite)
    console = Console(quiet=options.quiet)
    kind = "int8 against the float32 of the run" if int8 else "rounding in float32"
    console.info(
        f"largest difference of a log-probability from the run, on random sentences: {exported.difference:.1g} ({kind})"
    )
    if int8:
        console.info("random sentences differ more than text; `dragoman evaluate` compares the quality on text")
    console.info(f"exported: {options.out} ({exported.bytes / 1e6:.1f} MB)")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    from dragoman.requests.shared import SEVERAL_RUNS_RULES, refuse

    if options.web and options.shortlist is not None:
        raise ConfigError("--shortlist has no effect with --web; leave one of them out")
    if options.languages and not options.web:
        raise ConfigError("--languages requires --web")
    refuse(SEVERAL_RUNS_RULES, vars(options))
    if options.shortlist_corpus and options.shortlist is None:
        raise ConfigError("--shortlist-corpus requires --shortlist K")
    if len(options.shortlist_corpus) > 2:
        raise ConfigError("--shortlist-corpus: give two files (source and target), or one with both sides")


def _languages(options: argparse.Namespace) -> tuple[str, str] | None:
    from dragoman.text.languages import language_code

    if options.languages is None:
        return None
    source, target = map(language_code, options.languages)
    return source, target


def _ensemble_combination(options: argparse.Namespace) -> EnsembleCombination:
    from dragoman.export.output_layer import EnsembleCombination

    weights = options.weights or [1.0] * len(options.runs)
    return EnsembleCombination(options.combine or "probabilities", [weight / sum(weights) for weight in weights])
