"""`dragoman curves`: the learning curves of several runs in one figure."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_file

SUMMARY = "plot the learning curves of several runs"
DESCRIPTION = (
    "Reads the log.jsonl of each run folder and plots one metric of all of them in one figure, as Luong\n"
    "et al. 2015 do for perplexity (figure 5). Runs that are still training can be plotted too."
)
EXAMPLES = (
    "dragoman curves RUN1 RUN2 RUN3 -o curves.png",
    "dragoman curves RUN1 RUN2 --metric bleu --x-axis minutes -o bleu.svg",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `curves`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; the legend shows their names")
    parser.add_argument(
        "--metric",
        choices=("perplexity", "bleu", "chrf", "accuracy", "loss", "training-perplexity"),
        default="perplexity",
        help="y axis: perplexity, bleu, chrf or accuracy on the dev set; loss or perplexity of the training text",
    )
    parser.add_argument("--x-axis", choices=("updates", "epochs", "minutes"), default="updates", help="x axis")
    parser.add_argument(
        "-o", "--output", type=output_file, required=True, metavar="FILE", help="figure to write: .png, .svg or .pdf"
    )
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Read the logs and plot them."""
    from dragoman.report.curves import MEASUREMENTS, draw_curves, require_picture
    from dragoman.training.log import read_log

    require_picture(options.output)
    logs = {name: _log(path) for name, path in zip(_names(options.runs), options.runs, strict=True)}
    records = {name: read_log(log) for name, log in logs.items()}
    draw_curves(options.output, records, MEASUREMENTS[options.metric], options.x_axis)


def _log(path: str) -> Path:
    """The log of a run folder, which may be incomplete because training is still running."""
    from dragoman.errors import RunError
    from dragoman.runs.layout import RunFolder
    from dragoman.text.lines import not_found

    if not os.path.exists(path):
        raise RunError(str(not_found(path)))
    folder = RunFolder(Path(path))
    if not folder.log.is_file():
        raise RunError(f"{path}: has no {folder.log.name}; give a run folder written by `dragoman train`")
    folder.note_files()
    return folder.log


def _names(paths: Sequence[str]) -> list[str]:
    """The last part of each path, or the whole paths if two names are equal."""
    last = [os.path.basename(os.path.realpath(path)) for path in paths]
    return last if len(set(last)) == len(last) else list(paths)
