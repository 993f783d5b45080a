"""`dragoman symmetrize`: one file of word alignments out of two, whoever made them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from dragoman.cli.shared.parsing import Parser, add_general_options

if TYPE_CHECKING:
    from dragoman.text.links import Link

SUMMARY = "join word alignments of two directions"
DESCRIPTION = (
    "Joins two files of links, those of a model that translates from source to target and those of one that\n"
    "translates back, line by line. All files are in Pharaoh format, i-j, words from 0 (or all from 1: numbers stay).\n"
    "The first file counts source words first; so does the output."
)
EXAMPLES = (
    "dragoman symmetrize forward.align backward.align > both.align",
    "dragoman symmetrize de-en.align en-de.align --swapped --method intersection",
)
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
BEST_KNOWN: Final = "grow-diag-final-and"


def add_options(parser: Parser) -> None:
    """Declare the options of `symmetrize`."""
    parser.add_argument("forward", metavar="FORWARD", help="links of the model from source to target")
    parser.add_argument("backward", metavar="BACKWARD", help="links of the model from target to source")
    parser.add_argument("--method", choices=METHODS, default=BEST_KNOWN, help="which links are kept")
    parser.add_argument(
        "--swapped",
        action="store_true",
        help="links of BACKWARD have the target word first",
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the links go")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Join the files as a stream."""
    from dragoman.alignment.symmetrize import symmetrize
    from dragoman.errors import ConfigError, InputError
    from dragoman.text.links import read_links, write_links

    if options.forward == options.backward == "-":
        raise ConfigError("FORWARD and BACKWARD cannot both be standard input")

    def joined() -> Iterator[list[Link]]:
        both = zip_longest(read_links(options.forward), read_links(options.backward))
        for number, (forward, backward) in enumerate(both, 1):
            if forward is None or backward is None:
                shorter = options.forward if forward is None else options.backward
                raise InputError(f"{shorter}: ends after {number - 1} lines, before the other file does")
            back = [(j, i) for i, j in backward] if options.swapped else backward
            yield symmetrize(forward, back, options.method)

    write_links(options.output, joined())
