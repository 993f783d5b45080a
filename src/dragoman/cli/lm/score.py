"""`dragoman lm score`: log-probabilities of sentences under a language model."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options, add_language_model_and_text, add_output
from dragoman.cli.shared.parsing import Parser

SUMMARY = "score text with a language model"
DESCRIPTION = "Prints the log-probability of each line: natural logarithm, EOS included, not normalised by\nlength."
EXAMPLES = ("dragoman lm score LM test.en > test.scores", "dragoman lm score LM --tokens < test.en")


def add_options(parser: Parser) -> None:
    """Declare the options of `lm score`."""
    add_language_model_and_text(parser)
    parser.add_argument(
        "--tokens", action="store_true", help="print the log-probability of each token and of EOS, separated by spaces"
    )
    add_output(parser, "the scores, one a line,")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the scores of each line."""
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.token_scores import log_probability
    from dragoman.text.lines import read_lines, write_lines

    scorer = open_language_run(options.run, device=options.device, threads=options.threads).scorer()
    scores = scorer.score_lines(read_lines(options.text))
    if options.tokens:
        write_lines(options.output, (" ".join(f"{term:.6f}" for term in one) for one in scores), keep_partial=True)
    else:
        write_lines(options.output, (f"{log_probability(one):.6f}" for one in scores), keep_partial=True)
