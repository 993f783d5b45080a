"""`dragoman lm perplexity`: the perplexity of a text under a language model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from dragoman.cli.shared.options import add_general_options, add_language_model_and_text
from dragoman.cli.shared.parsing import Parser

SUMMARY = "compute the perplexity of text"
DESCRIPTION = (
    "Prints the perplexity of a text: exp of the mean negative log-likelihood per token, EOS included.\n"
    "Tokens are the segments of the model, so only perplexities of models with the same vocabulary are\n"
    "comparable. The number of unknown tokens is printed too."
)
EXAMPLES = ("dragoman lm perplexity LM -i test.en", "dragoman lm perplexity LM -i test.en.gz --json")


def add_options(parser: Parser) -> None:
    """Declare the options of `lm perplexity`."""
    add_language_model_and_text(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Compute and print the perplexity."""
    from dragoman.errors import InputError
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.language_model import PerplexityCounter
    from dragoman.text.lines import read_lines
    from dragoman.text.vocabulary import UNK

    opened = open_language_run(options.run, device=options.device, threads=options.threads)
    measured, unknown = PerplexityCounter(), 0

    def counted() -> Iterator[str]:
        nonlocal unknown
        for line in read_lines(options.input):
            unknown += opened.side.encode(line).ids.count(UNK)
            yield line

    for scores in opened.scorer().score_lines(counted()):
        measured.add(scores)
    if not measured.lines:
        raise InputError(f"{options.input}: empty file, so there is no perplexity")
    if options.json:
        figures = {"perplexity": measured.value, "lines": measured.lines, "tokens": measured.tokens}
        print(json.dumps({**figures, "unknown": unknown}))
    else:
        print(
            f"perplexity {measured.value:.2f}  {measured.lines:,} lines, {measured.tokens:,} tokens, {unknown:,} of "
            "them unknown"
        )
