"""`dragoman map`: two-dimensional projections of word, phrase or sentence vectors."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.letters import warn_of_letters_without_font
from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, natural, output_file, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.projection.reduction import ReductionMethod
    from dragoman.projection.vectors import LabelledText, Points
    from dragoman.runs.opening import Run
    from dragoman.text.side import SideName

SUMMARY = "project word, phrase or sentence vectors to 2-D and draw them"
DESCRIPTION = (
    "Projects the vectors that a model computes for texts to two dimensions and draws them as an\n"
    "interactive page, an image or a table of coordinates. Each line of FILE is a text, optionally\n"
    "followed by a tab and a group label that sets the colour. Needs the extra `maps`.\n\n"
    "--of:\n"
    "  words      embeddings (Cho et al. 2014, figure 4); without -i, the most frequent words of the vocabulary\n"
    "  phrases    summary vector c of the encoder (Cho et al. 2014, figure 5)\n"
    "  sentences  final states of all encoder layers (Sutskever et al. 2014, figure 2)"
)
EXAMPLES = (
    "dragoman map RUN --of words -o words.html",
    "dragoman map RUN -i phrases.txt --of phrases -o phrases.html -o phrases.tsv",
    "dragoman map RUN -i sentences.txt --of sentences --method pca -o sentences.svg",
)

MOST = 2000
MOST_SEED = 2**32 - 1
"""The largest seed of t-SNE's random generator."""

log = logging.getLogger(__name__)


def add_options(parser: Parser) -> None:
    """Declare the options of `map`."""
    parser.add_argument("run", metavar="RUN", help="run folder")
    parser.add_argument("-i", "--input", metavar="FILE", help="texts, one a line; - for standard input")
    parser.add_argument("--of", choices=("words", "phrases", "sentences"), required=True, help="vectors to project")
    parser.add_argument(
        "--method",
        choices=("pca", "tsne"),
        help="PCA or Barnes-Hut t-SNE (default: pca for sentences, tsne otherwise, as in the papers)",
    )
    parser.add_argument(
        "--side", choices=("source", "target"), help="embedding matrix for --of words (default: source)"
    )
    parser.add_argument("--limit", type=positive_int, default=MOST, metavar="N", help="maximum number of texts")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="seed of t-SNE")
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        action="append",
        required=True,
        metavar="FILE",
        help="file to write: .html, .svg, .png or .tsv; may be repeated",
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Project and draw."""
    require_sense(options)

    from dragoman.progress import Console
    from dragoman.projection.drawing import require_format, write_map
    from dragoman.projection.reduction import project
    from dragoman.runs.opening import open_run

    for path in options.output:
        require_format(path)
    opened = open_run(options.run, device=options.device, threads=options.threads)
    points = _points(opened, options)
    method: ReductionMethod = options.method or ("pca" if options.of == "sentences" else "tsne")
    projection = project(points.vectors, method, seed=options.seed)
    title = f"{len(points.lines):,} {options.of} of {opened.folder.path.resolve().name}"
    kinds = {Path(path).suffix.lower() for path in options.output}
    shown = [words for line in points.lines for words in line]
    warn_of_letters_without_font(shown, pictures=".png" in kinds, page=bool(kinds & {".html", ".svg"}))
    for path in options.output:
        write_map(path, title, points.lines, projection)
    left_out = f"; {points.left_out:,} empty or unknown ones left out" if points.left_out else ""
    Console(quiet=options.quiet).info(f"{title}, {points.vectors.shape[1]:,} dimensions each{left_out}")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    if options.of != "words" and options.input is None:
        raise ConfigError(f"--of {options.of} requires -i FILE with {options.of}, one a line")
    if options.of != "words" and options.side is not None:
        raise ConfigError(f"--side requires --of words; {options.of} are always source text")
    if options.seed > MOST_SEED:
        raise ConfigError(f"--seed: at most {MOST_SEED}, not {options.seed}")


def _points(opened: Run, options: argparse.Namespace) -> Points:
    from dragoman.projection.vectors import embed_words, frequent_words, sentence_states, summarise_phrases

    side: SideName = options.side or "source"
    if options.input is None:
        return embed_words(opened, side, frequent_words(opened, side, options.limit), entries=True)
    lines = _read(options)
    if options.of == "words":
        return embed_words(opened, side, lines)
    return summarise_phrases(opened, lines) if options.of == "phrases" else sentence_states(opened, lines)


def _read(options: argparse.Namespace) -> list[LabelledText]:
    from itertools import islice

    from dragoman.projection.vectors import read_lines_and_groups
    from dragoman.text.lines import read_lines

    texts = list(islice(read_lines(options.input), options.limit + 1))
    if len(texts) > options.limit:
        log.warning("only the first %d lines of %s are drawn; raise --limit", options.limit, options.input)
    return read_lines_and_groups(texts[: options.limit], options.input)
