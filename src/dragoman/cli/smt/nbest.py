"""`dragoman smt nbest`: the best translations of lines, with features."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_int
from dragoman.cli.shared.smt_search import add_search_options, add_system, add_weights, open_searcher

SUMMARY = "write n-best lists with features of a phrase-based system"
DESCRIPTION = (
    "Writes the best translations of each line as a Moses n-best list, `id ||| text ||| Name= v v ... ||| total`, for\n"
    "`dragoman rescore`, `select` and `tune`. Totals are the weighted sums of the features as they are printed."
)
EXAMPLES = (
    "dragoman smt nbest SYSTEM -i dev.de -o dev.nbest.gz",
    "dragoman smt nbest SYSTEM -i test.de --size 1000 --distinct --alignments -o test.nbest.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt nbest`."""
    add_system(parser)
    parser.add_argument("-i", "--input", default="-", metavar="FILE", help="what is translated")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the lists go")
    parser.add_argument("--size", type=positive_int, default=100, metavar="N", help="translations of each line")
    parser.add_argument(
        "--distinct", action="store_true", help="no text twice: of several ways to it only the best is listed"
    )
    parser.add_argument(
        "--alignments", action="store_true", help="the links between words as one more column, Pharaoh format"
    )
    add_weights(parser)
    add_search_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Write a list for each line."""
    from dragoman.progress import Console
    from dragoman.text.lines import read_lines, replace_output

    searcher = open_searcher(options)
    lists = searcher.n_best(read_lines(options.input), options.size, distinct=options.distinct)
    console = Console(quiet=options.quiet)
    with replace_output(options.output, keep_partial=True) as file, console.counter("sentences") as advance:
        for number, translations in enumerate(lists):
            for one in translations:
                file.write(one.entry(number, alignment=options.alignments) + "\n")
            advance(number + 1)
