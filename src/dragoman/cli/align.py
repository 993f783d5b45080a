"""`dragoman align`: which source word each target word of given translations came from."""

from __future__ import annotations

import argparse

from dragoman.cli.parsing import Parser, add_general_options
from dragoman.cli.score import add_pair_options

SUMMARY = "align the words of given translations"
DESCRIPTION = (
    "Prints for each pair of lines the links between their words, as they stand between blanks: Pharaoh format, i-j,\n"
    "source and target word from 0. Each target word has one link, to the source word with most alignment weight."
)
EXAMPLES = ("dragoman align RUN test.de test.en > test.align",)


def add_options(parser: Parser) -> None:
    """Declare the options of `align`."""
    add_pair_options(parser)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the links go")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print a line of links for each pair."""
    from dragoman.alignment.links import write_links
    from dragoman.errors import ConfigError
    from dragoman.model.devices import set_threads
    from dragoman.run import open_run
    from dragoman.text.corpus import read_pairs

    set_threads(options.threads)
    opened = open_run(options.run, device=options.device)
    if opened.config.model.decoder.context != "attended":
        raise ConfigError(f"the model of {options.run} has no attention, so it cannot align")
    pairs = ((pair.source, pair.target) for pair in read_pairs([options.files]))
    write_links(options.output, (scored.alignment for scored in opened.scorer().score(pairs)))
