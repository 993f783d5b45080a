"""`dragoman smt nbest`: n-best lists of a phrase-based system."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options, add_input, add_output
from dragoman.cli.shared.parsing import Parser, positive_int
from dragoman.cli.shared.smt_search import add_search_options, add_system, add_weights, open_searcher

SUMMARY = "write n-best lists of a phrase-based system"
DESCRIPTION = (
    "Writes the best translations of each line as a Moses n-best list, `id ||| text ||| Name= v v ...\n"
    "||| total`, for `dragoman rescore`, `rerank` and `tune`. The total is the weighted sum of the\n"
    "printed features."
)
EXAMPLES = (
    "dragoman smt nbest SYSTEM -i dev.de -o dev.nbest.gz",
    "dragoman smt nbest SYSTEM -i test.de --nbest 1000 --distinct --with-alignments -o test.nbest.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt nbest`."""
    add_system(parser)
    add_input(parser)
    add_output(parser, "the n-best lists")
    parser.add_argument("--nbest", type=positive_int, default=100, metavar="N", help="translations per sentence")
    parser.add_argument(
        "--distinct", action="store_true", help="list each distinct translation once, with its best derivation"
    )
    parser.add_argument(
        "--with-alignments", action="store_true", help="add word alignments as one more column, Pharaoh format"
    )
    add_weights(parser)
    add_search_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Write an n-best list for each line."""
    from dragoman.progress import Console
    from dragoman.text.lines import replace_output
    from dragoman.workflows.input_lines import InputLines

    searcher = open_searcher(options)
    with (
        InputLines(options.input, "translate", quiet=options.quiet) as lines,
        replace_output(options.output, keep_partial=True) as file,
        Console(quiet=options.quiet or lines.prompts).counter("sentences") as advance,
    ):
        lines.before_waiting = file.flush
        lists = searcher.n_best(lines, options.nbest, distinct=options.distinct)
        for number, translations in enumerate(lists):
            for one in translations:
                file.write(one.entry(number, alignment=options.with_alignments) + "\n")
            advance(number + 1)
