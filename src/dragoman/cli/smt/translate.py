"""`dragoman smt translate`: translation with a phrase-based system."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options, add_input, add_output
from dragoman.cli.shared.parsing import Parser, output_file
from dragoman.cli.shared.smt_search import add_search_options, add_system, add_weights, open_searcher

SUMMARY = "translate text with a phrase-based system"
DESCRIPTION = (
    "Translates tokenised text line by line; it must be prepared like the training text. Each input line\n"
    "gives one output line; an empty line stays empty. Unknown words are copied."
)
EXAMPLES = (
    "dragoman smt translate SYSTEM < test.de > test.out",
    "dragoman smt translate SYSTEM -i test.de -o test.out --feature-weights tuned.weights --alignments test.align",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `smt translate`."""
    add_system(parser)
    add_input(parser)
    add_output(parser, "the translations")
    parser.add_argument(
        "--alignments",
        type=output_file,
        metavar="FILE",
        help="write the word alignments of the phrase pairs used to this file, Pharaoh format",
    )
    add_weights(parser)
    add_search_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Translate the input as a stream."""
    from contextlib import ExitStack

    from dragoman.text.lines import replace_output
    from dragoman.text.links import format_links
    from dragoman.workflows.input_lines import InputLines

    searcher = open_searcher(options)
    with ExitStack() as files:
        text = files.enter_context(replace_output(options.output, keep_partial=True))
        links = None
        if options.alignments:
            links = files.enter_context(replace_output(options.alignments, keep_partial=True))
        lines = files.enter_context(InputLines(options.input, "translate", quiet=options.quiet))
        lines.before_waiting = lambda: [file.flush() for file in (text, links) if file is not None]
        for translation in searcher.translate(lines):
            text.write(translation.text + "\n")
            if links is not None:
                links.write(format_links(translation.alignment) + "\n")
