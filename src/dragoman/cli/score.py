"""`dragoman score`: how probable the model finds given translations."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.parsing import Parser, add_general_options

SUMMARY = "score given translations"
DESCRIPTION = (
    "Prints for each pair of lines the log-probability of the target given the source: natural logarithm, end of\n"
    "sentence included, not divided by the length."
)
EXAMPLES = (
    "dragoman score RUN test.de test.en > test.scores",
    "dragoman score RUN pairs.tsv.gz -o test.scores",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `score`."""
    add_pair_options(parser)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the numbers go")
    add_general_options(parser)


def add_pair_options(parser: Parser) -> None:
    """A run folder and pairs of lines, the same for every verb that looks at given translations."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or one that was exported")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="SRC TGT, or one .tsv or .jsonl; may be .gz, .xz or .zst"
    )


def run(options: argparse.Namespace) -> None:
    """Print a number for each pair."""
    from dragoman.run import open_run
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import write_lines

    scorer = open_run(options.run, device=options.device, threads=options.threads).scorer()
    pairs = ((pair.source, pair.target) for pair in read_pairs([options.files]))
    write_lines(options.output, (f"{scored.log_probability:.6f}" for scored in scorer.score(pairs)))
