"""`dragoman curves`: the learning curves of several runs in one picture."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options

SUMMARY = "draw the learning curves of several runs"
DESCRIPTION = (
    "Reads the log.jsonl of each run folder and draws one measurement of all of them, as the figure that compares six\n"
    "models in Luong et al. 2015 does with the perplexity. A run that is still training can be drawn too."
)
EXAMPLES = (
    "dragoman curves RUN1 RUN2 RUN3 -o curves.png",
    "dragoman curves RUN1 RUN2 --measure bleu --along minutes -o bleu.svg",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `curves`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; their names name the lines")
    parser.add_argument(
        "--measure",
        choices=("perplexity", "bleu", "chrf", "loss", "training-perplexity"),
        default="perplexity",
        help="of the dev set; the last two of the training text",
    )
    parser.add_argument("--along", choices=("updates", "epochs", "minutes"), default="updates", help="the other axis")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=".png, .svg or .pdf")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Read, draw."""
    from dragoman.report.curve_comparison import draw_curves, require_picture
    from dragoman.report.measurements import MEASUREMENTS
    from dragoman.training.log import read_log

    require_picture(options.output)
    logs = {name: _log(path) for name, path in zip(_names(options.runs), options.runs, strict=True)}
    records = {name: read_log(log) for name, log in logs.items()}
    draw_curves(options.output, records, MEASUREMENTS[options.measure], options.along)


def _log(path: str) -> Path:
    """The log of a run folder, which need not be complete: training may still go on."""
    from dragoman.errors import RunError
    from dragoman.runs.layout import RunFolder
    from dragoman.text.lines import not_found

    log = RunFolder(Path(path)).log
    if not os.path.exists(path):
        raise RunError(str(not_found(path)))
    if not log.is_file():
        raise RunError(f"{path}: has no {log.name}; give a folder that `dragoman train --out` writes")
    return log


def _names(paths: Sequence[str]) -> list[str]:
    """The last part of each path, or the whole where two would be alike."""
    last = [Path(path).resolve().name for path in paths]
    return last if len(set(last)) == len(last) else list(paths)
