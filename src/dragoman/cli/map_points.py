"""`dragoman map`: words, phrases or sentences in the plane, as the model sees them."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, natural, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.projection.reduction import ReductionMethod
    from dragoman.projection.vectors import LabelledText, Points
    from dragoman.runs.opening import Run
    from dragoman.text.side import SideName

SUMMARY = "draw words, phrases or sentences in the plane"
DESCRIPTION = (
    "Projects the vectors that a model has for texts to two dimensions and draws them: as a page where pointing\n"
    "shows the text, as a picture, or as a table of coordinates. A line of FILE is a text, or a text, a tab and a\n"
    "group that gives it its colour. Needs the extra `maps`.\n\n"
    "of:\n"
    "  words      embeddings (Cho et al. 2014, figure 4); without FILE the most frequent entries of the vocabulary\n"
    "  phrases    the summary c that the encoder makes (Cho et al. 2014, figure 5)\n"
    "  sentences  the states of all encoder layers after the last word (Sutskever et al. 2014, figure 2)"
)
EXAMPLES = (
    "dragoman map RUN --of words --out words.html",
    "dragoman map RUN phrases.txt --of phrases --out phrases.html --out phrases.tsv",
    "dragoman map RUN sentences.txt --of sentences --method pca --out sentences.svg",
)

MOST = 2000
MOST_SEED = 2**32 - 1
"""That t-SNE's generator takes."""

log = logging.getLogger(__name__)


def add_options(parser: Parser) -> None:
    """Declare the options of `map`."""
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("texts", nargs="?", metavar="FILE", help="texts to draw; - is standard input")
    parser.add_argument("--of", choices=("words", "phrases", "sentences"), required=True, help="which vectors")
    parser.add_argument(
        "--method",
        choices=("pca", "tsne"),
        help="principal components, or Barnes-Hut t-SNE (default: pca for sentences, else tsne, as in the papers)",
    )
    parser.add_argument("--side", choices=("source", "target"), help="of words: whose (default: source)")
    parser.add_argument("--limit", type=positive_int, default=MOST, metavar="N", help="texts that are drawn at most")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="of t-SNE")
    parser.add_argument(
        "--out", action="append", required=True, metavar="FILE", help=".html, .svg, .png or .tsv; may come again"
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Draw a map."""
    _require_sense(options)

    from dragoman.progress import Console
    from dragoman.projection.drawing import require_format, write_map
    from dragoman.projection.reduction import project
    from dragoman.runs.opening import open_run

    for path in options.out:
        require_format(path)
    opened = open_run(options.run, device=options.device, threads=options.threads)
    points = _points(opened, options)
    method: ReductionMethod = options.method or ("pca" if options.of == "sentences" else "tsne")
    projection = project(points.vectors, method, seed=options.seed)
    title = f"{len(points.lines):,} {options.of} of {opened.folder.path.resolve().name}"
    for path in options.out:
        write_map(path, title, points.lines, projection)
    left_out = f"; {points.left_out:,} blank or unknown ones left out" if points.left_out else ""
    Console(quiet=options.quiet).info(f"{title}, {points.vectors.shape[1]:,} dimensions each{left_out}")


def _require_sense(options: argparse.Namespace) -> None:
    if options.of != "words" and options.texts is None:
        raise ConfigError(f"--of {options.of}: give a FILE with {options.of}, one a line")
    if options.of != "words" and options.side is not None:
        raise ConfigError(f"--side is about words; {options.of} are what the encoder reads, the source")
    if options.seed > MOST_SEED:
        raise ConfigError(f"--seed: at most {MOST_SEED}, not {options.seed}")


def _points(opened: Run, options: argparse.Namespace) -> Points:
    from dragoman.projection.vectors import embed_words, frequent_words, sentence_states, summarise_phrases

    side: SideName = options.side or "source"
    if options.texts is None:
        return embed_words(opened, side, frequent_words(opened, side, options.limit), entries=True)
    lines = _read(options)
    if options.of == "words":
        return embed_words(opened, side, lines)
    return summarise_phrases(opened, lines) if options.of == "phrases" else sentence_states(opened, lines)


def _read(options: argparse.Namespace) -> list[LabelledText]:
    from itertools import islice

    from dragoman.projection.vectors import read_lines_and_groups
    from dragoman.text.lines import read_lines

    texts = list(islice(read_lines(options.texts), options.limit + 1))
    if len(texts) > options.limit:
        log.warning("only the first %d lines of %s are drawn; --limit draws more", options.limit, options.texts)
    return read_lines_and_groups(texts[: options.limit], options.texts)
