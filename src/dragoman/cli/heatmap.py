"""`dragoman heatmap`: pictures of the alignment weights between a sentence and its translation."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.errors import ConfigError

SUMMARY = "draw which source words a translation looked at"
DESCRIPTION = (
    "Translates lines, or takes given translations, and draws for each which source words it looked at: source words\n"
    "along the top, target words down the side. For local attention the window of each row is drawn in, with p_t.\n"
    "Pictures go to DIR/N.png (N: the line), all of them as one page to DIR/heatmaps.html."
)
EXAMPLES = (
    "dragoman heatmap RUN new.de --out pictures",
    "dragoman heatmap RUN test.de test.en --out pictures --format svg --lines 7,12-15 --scale modern",
    "dragoman heatmap RUN test.tsv --out pictures --format html",
)

MOST = 20
"""Lines that are drawn if none are named."""


def add_options(parser: Parser) -> None:
    """Declare the options of `heatmap`."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or one that was exported")
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="SRC, which is translated (default: standard input); or SRC TGT, or one .tsv or .jsonl",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the pictures")
    parser.add_argument(
        "--format",
        nargs="+",
        choices=("png", "svg", "pdf", "html"),
        metavar="FORMAT",
        help="png, svg, pdf, html; several may be given (default: png)",
    )
    parser.add_argument(
        "--scale",
        choices=("paper", "modern"),
        default="paper",
        help="paper: grey, 0 black and 1 white, as in Bahdanau et al. 2015; modern: viridis",
    )
    parser.add_argument(
        "--segments", action="store_true", help="the model's own segments and its end of sentence, instead of words"
    )
    parser.add_argument(
        "--lines", type=line_numbers, metavar="LIST", help=f"such as 1,5-8 (default: the first {MOST} lines)"
    )
    add_general_options(parser)


def line_numbers(text: str) -> list[int]:
    """Numbers from 1 out of "1,5-8", ascending, each once."""
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last or last - first >= 10_000:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of lines from 1 on, such as 1,5-8")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def run(options: argparse.Namespace) -> None:
    """Look, draw, say where."""
    formats = options.format or ["png"]
    if options.segments and "html" in formats:
        raise ConfigError("--segments is for pictures; the page of --format html shows words; leave one of them out")

    from dragoman.progress import Console
    from dragoman.runs.opening import open_run
    from dragoman.workflows.heatmaps import align_sentences, draw_heat_maps

    opened = open_run(options.run, device=options.device, threads=options.threads)
    if opened.config.model.decoder.context != "attended":
        raise ConfigError(f"the model of {options.run} has no attention, so there is nothing to draw")
    numbers, pairs = _chosen(options)
    aligned = align_sentences(opened, pairs, segments=options.segments)
    console = Console(quiet=options.quiet)
    for path in draw_heat_maps(options.out, opened, aligned, numbers, formats, options.scale):
        console.info(str(path))


def _chosen(options: argparse.Namespace) -> tuple[list[int], list[tuple[str, str | None]]]:
    """The numbers of the lines to draw, and these: sources, with the translations that were given."""
    pairs = _pairs(options.files or [Path("-")])
    if options.lines is None:
        return list(range(1, min(MOST, len(pairs)) + 1)), pairs[:MOST]
    if options.lines[-1] > len(pairs):
        raise ConfigError(f"--lines names line {options.lines[-1]}, but there are only {len(pairs)}")
    return options.lines, [pairs[number - 1] for number in options.lines]


def _pairs(files: Sequence[Path]) -> list[tuple[str, str | None]]:
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import is_compressed, read_lines

    if len(files) == 1:
        (path,) = files
        kind = Path(path.stem).suffix if is_compressed(path) else path.suffix
        if kind not in (".tsv", ".jsonl"):
            return [(line, None) for line in read_lines(path)]
    return [(pair.source, pair.target) for pair in read_pairs([files])]
