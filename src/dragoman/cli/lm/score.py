"""`dragoman lm score`: how probable a language model finds lines."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.parsing import Parser, add_general_options

SUMMARY = "score lines with a language model"
DESCRIPTION = (
    "Prints for each line its log-probability: natural logarithm, end of sentence included, not divided by the length."
)
EXAMPLES = ("dragoman lm score LM test.en > test.scores", "dragoman lm score LM --tokens < test.en")


def add_options(parser: Parser) -> None:
    """Declare the options of `lm score`."""
    add_text_options(parser)
    parser.add_argument(
        "--tokens", action="store_true", help="the term of each segment and of the end of sentence, between blanks"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the numbers go")
    add_general_options(parser)


def add_text_options(parser: Parser) -> None:
    """A language model and the text that it is to look at."""
    parser.add_argument("run", metavar="LM", help="a run folder that `dragoman lm train` wrote")
    parser.add_argument("text", nargs="?", default="-", metavar="FILE", help="lines, .gz, .xz or .zst too")


def run(options: argparse.Namespace) -> None:
    """Print a line of numbers for each line of text."""
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.token_scores import log_probability
    from dragoman.text.lines import read_lines, write_lines

    scorer = open_language_run(options.run, device=options.device, threads=options.threads).scorer()
    scores = scorer.score_lines(read_lines(options.text))
    if options.tokens:
        write_lines(options.output, (" ".join(f"{term:.6f}" for term in one) for one in scores), keep_partial=True)
    else:
        write_lines(options.output, (f"{log_probability(one):.6f}" for one in scores), keep_partial=True)
