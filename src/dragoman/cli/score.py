"""`dragoman score`: log-probabilities of given translations."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_ensemble_options, add_general_options, add_output, add_pairs, add_runs
from dragoman.cli.shared.parsing import Parser
from dragoman.cli.shared.runs import open_several, require_several_runs, split_runs

SUMMARY = "score given translations with forced decoding"
DESCRIPTION = (
    "Prints the log-probability of each target sentence given its source: natural logarithm, EOS\n"
    "included, not normalised by length. Several runs with the same target vocabulary form an ensemble."
)
EXAMPLES = (
    "dragoman score RUN test.de test.en > test.scores",
    "dragoman score RUN pairs.tsv.gz --token-counts -o test.scores",
    "dragoman score RUN1 RUN2 test.de test.en --combine log-probabilities --weights 2 1",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `score`."""
    add_runs(parser)
    add_pairs(parser)
    add_token_counts(parser)
    add_ensemble_options(parser)
    add_output(parser, "the scores, one a line,")
    add_general_options(parser)


def add_token_counts(parser: Parser) -> None:
    """Declare `--token-counts`."""
    parser.add_argument(
        "--token-counts",
        action="store_true",
        help="after each score, by a tab, the number of target tokens, EOS included",
    )


def run(options: argparse.Namespace) -> None:
    """Print one log-probability per pair."""
    names, files = split_runs(options)
    require_several_runs(options, names)

    from dragoman.scoring.scorer import format_score
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import write_lines
    from dragoman.workflows.unexpected_text import checked_pairs

    models = open_several(names, options)
    scorer = models.scorer()
    read = checked_pairs(read_pairs([files]), files, names[0], models.first)
    pairs = ((pair.source, pair.target) for pair in read)
    scores = scorer.score(pairs)
    lines = (format_score(scored, token_count=options.token_counts) for scored in scores)
    write_lines(options.output, lines, keep_partial=True)
