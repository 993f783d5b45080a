"""`dragoman convert`: a corpus as files of another kind."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.options import add_corpus_options, add_general_options
from dragoman.cli.shared.parsing import Parser, language
from dragoman.errors import ConfigError
from dragoman.inputs import inputs_protected

SUMMARY = "write a corpus as files of another kind"
DESCRIPTION = (
    "Reads a corpus of any kind and writes its pairs, in order, to two text files or to one .tsv, .csv,\n"
    ".jsonl, .json, .tmx, .xliff, .po or .xlsx file. The new files are in UTF-8; a name that ends in\n"
    ".gz, .xz or .zst compresses them. A message says what was left out because the new files cannot\n"
    "hold it."
)
EXAMPLES = (
    "dragoman convert memory.tmx train.de train.en",
    "dragoman convert train.de train.en memory.tmx",
    "dragoman convert 'catalogues/*.po' messages.tsv",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `convert`."""
    from dragoman.requests.shared import COMPRESSION, PAIRS

    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help=f"first the corpus: {PAIRS}; {COMPRESSION}. Then what to write: SRC TGT, or one such file",
    )
    parser.add_argument(
        "--languages",
        nargs=2,
        type=language,
        metavar=("SRC", "TGT"),
        help="languages of the text, which .tmx and .xliff name (default: those of the names of files or columns)",
    )
    add_corpus_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Convert the corpus and say what could not be kept."""
    from dragoman.corpora.pair_files import holds_pairs
    from dragoman.progress import Console
    from dragoman.workflows.conversion import convert

    outputs = 1 if holds_pairs(options.files[-1]) else 2
    inputs, written = options.files[:-outputs], options.files[-outputs:]
    if len(inputs) not in (1, 2):
        raise ConfigError("give a corpus of one file or two, then one file with both sides, or two, to write")
    with inputs_protected([str(path) for path in written]):
        convert(inputs, written, options.languages, Console(quiet=options.quiet))
