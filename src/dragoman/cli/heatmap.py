"""`dragoman heatmap`: images of the alignment weights between a sentence and its translation."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.options import add_corpus_options, add_general_options, add_run
from dragoman.cli.shared.parsing import Parser, output_folder
from dragoman.errors import ConfigError

SUMMARY = "draw the alignment weights of translations"
DESCRIPTION = (
    "Translates sentences, or takes given translations, and draws the alignment weights between source\n"
    "words (columns) and target words (rows). For local attention, the window of each row and its\n"
    "centre p_t are drawn too. Writes one image per line, DIR/N.png (N: line number), or all on one\n"
    "page, DIR/heatmaps.html."
)
EXAMPLES = (
    "dragoman heatmap RUN new.de --out pictures",
    "dragoman heatmap RUN test.de test.en --out pictures --format svg --lines 7,12-15 --colormap modern",
    "dragoman heatmap RUN test.tsv --out pictures --format html",
)

MOST = 20
"""Lines drawn without --lines."""


def add_options(parser: Parser) -> None:
    """Declare the options of `heatmap`."""
    from dragoman.requests.shared import PAIRS

    add_run(parser)
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help=f"SRC to translate (default: standard input); or given pairs: {PAIRS}",
    )
    parser.add_argument("--out", type=output_folder, required=True, metavar="DIR", help="folder for the images")
    parser.add_argument(
        "--format",
        nargs="+",
        choices=("png", "svg", "pdf", "html"),
        metavar="FORMAT",
        help="png, svg, pdf or html; several may be given (default: png)",
    )
    parser.add_argument(
        "--colormap",
        choices=("paper", "modern"),
        default="paper",
        help="paper: grey, 0 black and 1 white (Bahdanau et al. 2015); modern: viridis",
    )
    parser.add_argument("--segments", action="store_true", help="show the model's segments and EOS instead of words")
    parser.add_argument(
        "--lines",
        type=line_numbers,
        metavar="LIST",
        help=f"line numbers to draw, for example 1,5-8 (default: the first {MOST} lines)",
    )
    add_corpus_options(parser)
    add_general_options(parser)


def line_numbers(text: str) -> list[int]:
    """Parse a list of line numbers such as "1,5-8" into ascending numbers from 1."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last or last - first >= 10_000:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of line numbers such as 1,5-8")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def run(options: argparse.Namespace) -> None:
    """Translate or score, draw, and print the names of the files."""
    formats = options.format or ["png"]
    if options.segments and "html" in formats:
        raise ConfigError("--segments has no effect on --format html, which shows words; leave one of them out")

    from dragoman.progress import Console
    from dragoman.runs.opening import open_run
    from dragoman.workflows.heatmaps import align_sentences, draw_heat_maps

    opened = open_run(options.run, device=options.device, threads=options.threads)
    if not opened.engine.attends:
        raise ConfigError(f"the model of {options.run} has no attention, so there are no alignment weights to draw")
    numbers, pairs = _chosen(options)
    aligned = align_sentences(opened, pairs, segments=options.segments)
    console = Console(quiet=options.quiet)
    for path in draw_heat_maps(options.out, opened, aligned, numbers, formats, options.colormap):
        console.info(str(path))


def _chosen(options: argparse.Namespace) -> tuple[list[int], list[tuple[str, str | None]]]:
    """The numbers of the lines to draw, and their sources with the given translations."""
    pairs = _pairs(options.files or [Path("-")])
    if options.lines is None:
        return list(range(1, min(MOST, len(pairs)) + 1)), pairs[:MOST]
    if options.lines[-1] > len(pairs):
        raise ConfigError(f"--lines: there is no line {options.lines[-1]}, the input has {len(pairs)}")
    return options.lines, [pairs[number - 1] for number in options.lines]


def _pairs(files: Sequence[Path]) -> list[tuple[str, str | None]]:
    from dragoman.corpora.corpus import read_pairs
    from dragoman.corpora.pair_files import holds_pairs
    from dragoman.text.lines import read_lines

    if len(files) == 1:
        (path,) = files
        if not holds_pairs(path):
            return [(line, None) for line in read_lines(path)]
    return [(pair.source, pair.target) for pair in read_pairs([files])]
