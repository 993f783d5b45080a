"""`dragoman evaluate`: how good the translations of a test set are."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dragoman.cli.parsing import Parser, add_general_options, positive_int
from dragoman.cli.score import add_pair_options

SUMMARY = "measure a run on a test set"
DESCRIPTION = (
    "Translates a test set and measures the translations against the references: BLEU, chrF, TER, exact match, with\n"
    "the signatures that let others repeat them; also by length of the source; and the perplexity of the references."
)
EXAMPLES = (
    "dragoman evaluate RUN test.de test.en",
    "dragoman evaluate RUN test.de test.en --beam 1 --json > figures.json",
    "dragoman evaluate RUN test.tsv --report figures --output test.hyp",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `evaluate`."""
    add_pair_options(parser)
    parser.add_argument("--beam", type=positive_int, metavar="K", help="hypotheses kept (default: the run's)")
    parser.add_argument(
        "--tokenizer",
        choices=("13a", "none", "intl", "char", "zh"),
        default="13a",
        help="what BLEU takes for words: zh or char for text without blanks, none for text that is tokenised",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the translations")
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write figures and examples as a page, DIR/report.html"
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate, measure, print."""
    from dragoman.narration import Narrator
    from dragoman.quality import measure, write_quality_report
    from dragoman.run import open_run
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import write_lines

    narrator = Narrator(quiet=options.quiet)
    pairs = list(read_pairs([options.files]))
    opened = open_run(options.run, device=options.device, threads=options.threads)
    quality = measure(opened, pairs, beam=options.beam, tokenizer=options.tokenizer, narrator=narrator)
    if options.output is not None:
        write_lines(options.output, (translation.text for translation in quality.translations))
    print(json.dumps(quality.evaluation.to_json(), indent=2) if options.json else quality.evaluation.table())
    if options.report is not None:
        narrator.say(f"report: {write_quality_report(options.report, opened, quality)}")
