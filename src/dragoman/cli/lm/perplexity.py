"""`dragoman lm perplexity`: how well a language model predicts text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from dragoman.cli.lm.score import add_text_options
from dragoman.cli.shared.parsing import Parser, add_general_options

SUMMARY = "measure the perplexity of text"
DESCRIPTION = (
    "Prints the perplexity of a text: exp of the mean negative log-likelihood of a token, end of sentence counted.\n"
    "Tokens are the model's segments, so perplexities compare at equal vocabularies only; unknown ones are counted."
)
EXAMPLES = ("dragoman lm perplexity LM test.en", "dragoman lm perplexity LM test.en.gz --json")


def add_options(parser: Parser) -> None:
    """Declare the options of `lm perplexity`."""
    add_text_options(parser)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the figures."""
    from dragoman.errors import InputError
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.language_model import PerplexityCounter
    from dragoman.text.lines import read_lines
    from dragoman.text.vocabulary import UNK

    opened = open_language_run(options.run, device=options.device, threads=options.threads)
    measured, unknown = PerplexityCounter(), 0

    def counted() -> Iterator[str]:
        nonlocal unknown
        for line in read_lines(options.text):
            unknown += opened.side.encode(line).ids.count(UNK)
            yield line

    for scores in opened.scorer().score_lines(counted()):
        measured.add(scores)
    if not measured.lines:
        raise InputError(f"{options.text}: no lines in it, so there is no perplexity")
    if options.json:
        figures = {"perplexity": measured.value, "lines": measured.lines, "tokens": measured.tokens}
        print(json.dumps({**figures, "unknown": unknown}))
    else:
        print(
            f"perplexity {measured.value:.2f}  {measured.lines:,} lines, {measured.tokens:,} tokens, {unknown:,} of "
            "them unknown"
        )
