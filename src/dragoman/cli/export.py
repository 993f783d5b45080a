"""`dragoman export`: a run, or several, becomes a folder that travels light."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.export.output_layer import Mixture

SUMMARY = "write a folder that translates without torch"
DESCRIPTION = (
    "Writes the model of a run as ONNX graphs, with its text processing and configuration. `translate`, `score` and\n"
    "`align` take the folder like a run folder; `pip install dragoman` without extras is enough for them. In float32\n"
    "it gives the translations of the run; --int8 is smaller and faster and rounds; --shortlist is faster still: each\n"
    "sentence is translated with a few likely words only (see docs/export.md). Several runs that read and write the\n"
    "same symbols become one folder, which chooses each word as `translate RUN1 RUN2` does."
)
EXAMPLES = (
    "dragoman export RUN --out LIGHT",
    "dragoman export RUN --out LIGHT --int8 --shortlist 2000 --overwrite",
    "dragoman export RUN1 RUN2 --out BOTH --combine log-probabilities --weights 2 1",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `export`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or several")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--int8", action="store_true", help="matrix products in 8-bit whole numbers")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that was exported before")
    several = parser.add_argument_group("several runs")
    several.add_argument(
        "--combine",
        choices=("probabilities", "log-probabilities", "logits"),
        help="whose mean is taken at each word (default: probabilities)",
    )
    several.add_argument(
        "--weights", type=positive_float, nargs="+", metavar="W", help="of the runs, in their order (default: alike)"
    )
    shortlist = parser.add_argument_group("shortlist")
    shortlist.add_argument(
        "--shortlist",
        type=positive_int,
        metavar="K",
        help="translate with the K most frequent target words and the likeliest for each source word only",
    )
    shortlist.add_argument(
        "--pairs",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="corpus to learn it from, SRC TGT or one .tsv or .jsonl (default: the training data in the run folder)",
    )
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Export, and say how large the folder is and how near its numbers are."""
    _require_sense(options)

    from dragoman.export.writing import Options, export_runs
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run

    runs = [open_run(name, device="cpu") for name in options.runs]
    chosen = Options(options.int8, options.shortlist, options.pairs, _mixture(options))
    exported = export_runs(runs, options.out, chosen, overwrite=options.overwrite)
    console = Console(quiet=options.quiet)
    console.info(f"largest difference of a log-probability from the run's: {exported.difference:.1g}")
    console.info(f"exported: {options.out} ({exported.bytes / 1e6:.1f} MB)")


def _require_sense(options: argparse.Namespace) -> None:
    """Refuse options that would be without effect."""
    for name in ("combine", "weights"):
        if len(options.runs) == 1 and getattr(options, name) is not None:
            raise ConfigError(f"--{name} is about several runs, but {options.runs[0]} is the only one")
    if options.weights is not None and len(options.weights) != len(options.runs):
        raise ConfigError(f"{len(options.weights)} weights for {len(options.runs)} runs; give one for each")
    if options.pairs and options.shortlist is None:
        raise ConfigError("--pairs is what a shortlist is learnt from; add --shortlist K")
    if len(options.pairs) > 2:
        raise ConfigError("--pairs: a corpus is two files, source and target, or one .tsv or .jsonl file")


def _mixture(options: argparse.Namespace) -> Mixture:
    from dragoman.export.output_layer import Mixture

    weights = options.weights or [1.0] * len(options.runs)
    return Mixture(options.combine or "probabilities", [weight / sum(weights) for weight in weights])
