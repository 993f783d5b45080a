"""`dragoman smt translate`: lines in, lines out."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.files import require_outputs_apart
from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.cli.shared.smt_search import add_search_options, add_system, add_weights, open_searcher

SUMMARY = "translate lines with a phrase-based system"
DESCRIPTION = (
    "Translates lines whose words stand between blanks, as those of the training text; one line out for each in, also\n"
    "for a blank one. Words that the system does not know stay as they are."
)
EXAMPLES = (
    "dragoman smt translate SYSTEM < test.de > test.out",
    "dragoman smt translate SYSTEM -i test.de -o test.out --weights tuned.weights --alignments test.align",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt translate`."""
    add_system(parser)
    parser.add_argument("-i", "--input", default="-", metavar="FILE", help="what is translated")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the translations go")
    parser.add_argument(
        "--alignments", metavar="FILE", help="write the links between words, as the phrases have them: Pharaoh format"
    )
    add_weights(parser)
    add_search_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Write a line for each line."""
    from contextlib import ExitStack

    from dragoman.text.lines import read_lines, replace_output
    from dragoman.text.links import format_links

    require_outputs_apart((options.output, options.alignments), (options.input,))
    searcher = open_searcher(options)
    with ExitStack() as files:
        text = files.enter_context(replace_output(options.output, keep_partial=True))
        links = None
        if options.alignments:
            links = files.enter_context(replace_output(options.alignments, keep_partial=True))
        for translation in searcher.translate(read_lines(options.input)):
            text.write(translation.text + "\n")
            if links is not None:
                links.write(format_links(translation.alignment) + "\n")
