"""`dragoman export`: a run becomes a folder that travels light."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.parsing import Parser, add_general_options

SUMMARY = "write a folder that translates without torch"
DESCRIPTION = (
    "Writes the model of a run as ONNX graphs, with its text processing and configuration. `translate`, `score` and\n"
    "`align` take the folder like a run folder; `pip install dragoman` without extras is enough for them. In float32\n"
    "it gives the translations of the run; --int8 is smaller and faster and rounds (see docs/export.md)."
)
EXAMPLES = (
    "dragoman export RUN --out LIGHT",
    "dragoman export RUN --out LIGHT --int8 --overwrite",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `export`."""
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--int8", action="store_true", help="matrix products of the decoder in 8-bit whole numbers")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that was exported before")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Export, and say how large the folder is and how near its numbers are."""
    from dragoman.export.writing import export_run
    from dragoman.narration import Narrator
    from dragoman.run import open_run

    exported = export_run(
        open_run(options.run, device="cpu"), options.out, int8=options.int8, overwrite=options.overwrite
    )
    narrator = Narrator(quiet=options.quiet)
    narrator.say(f"largest difference of a log-probability from the run's: {exported.difference:.1g}")
    narrator.say(f"exported: {options.out} ({exported.bytes / 1e6:.1f} MB)")
