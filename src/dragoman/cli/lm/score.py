"""`dragoman lm score`: log-probabilities of sentences under a language model."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options, add_language_model_and_text, add_output
from dragoman.cli.shared.parsing import Parser

SUMMARY = "score text with a language model"
DESCRIPTION = "Prints the log-probability of each line: natural logarithm, EOS included, not normalised by\nlength."
EXAMPLES = ("dragoman lm score LM -i test.en > test.scores", "dragoman lm score LM --tokens < test.en")


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
    from dragoman.scoring.given_targets import log_probability
    from dragoman.text.lines import replace_output
    from dragoman.workflows.input_lines import InputLines

    scorer = open_language_run(options.run, device=options.device, threads=options.threads).scorer()
    with (
        InputLines(options.input, "score", quiet=options.quiet) as lines,
        replace_output(options.output, keep_partial=True) as file,
    ):
        lines.before_waiting = file.flush
        for scores in scorer.score_lines(lines, lines.paused):
            shown = scores if options.tokens else [log_probability(scores)]
            file.write(" ".join(f"{term:.6f}" for term in shown) + "\n")
