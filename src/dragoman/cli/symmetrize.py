"""`dragoman symmetrize`: the word alignments of two directions, combined."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from dragoman.alignment.symmetrize import DEFAULT_METHOD, METHODS
from dragoman.cli.shared.options import add_general_options, add_output
from dragoman.cli.shared.parsing import Parser

if TYPE_CHECKING:
    from dragoman.text.links import Link

SUMMARY = "combine word alignments of both directions"
DESCRIPTION = (
    "Combines source-to-target and target-to-source word alignments line by line with a symmetrization\n"
    "heuristic. Files are in Pharaoh format, i-j with the source word first. Indices are kept, so all\n"
    "files may count from 1."
)
EXAMPLES = (
    "dragoman symmetrize forward.align backward.align > both.align",
    "dragoman symmetrize de-en.align en-de.align --swapped --symmetrize intersection",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `symmetrize`."""
    parser.add_argument("forward", metavar="FORWARD", help="alignments of the source-to-target model")
    parser.add_argument("backward", metavar="BACKWARD", help="alignments of the target-to-source model")
    parser.add_argument("--symmetrize", choices=METHODS, default=DEFAULT_METHOD, help="symmetrization heuristic")
    parser.add_argument(
        "--swapped",
        action="store_true",
        help="links in BACKWARD have the target word first",
    )
    add_output(parser, "the alignments")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Combine the files as a stream."""
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
                raise InputError(f"{shorter}: ends after line {number - 1}, but the other file goes on")
            back = [(j, i) for i, j in backward] if options.swapped else backward
            yield symmetrize(forward, back, options.symmetrize)

    write_links(options.output, joined())
