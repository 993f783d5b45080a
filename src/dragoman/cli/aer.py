"""`dragoman aer`: the alignment error rate of word alignments."""

from __future__ import annotations

import argparse
import json

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser

SUMMARY = "compute the alignment error rate against gold alignments"
DESCRIPTION = (
    "Prints alignment error rate, precision, recall and F1 of the links in HYP against GOLD over all\n"
    "sentences. GOLD may distinguish sure and possible links; such marks in HYP are ignored.\n\n"
    "formats:\n"
    "  pharaoh  one sentence per line, links 3-4, possible links 3p4 or 3?4, words counted from 0\n"
    "  talp     as pharaoh, words counted from 1\n"
    "  naacl    one link per line, `SENTENCE SOURCE TARGET S|P`, everything counted from 1\n"
    "By default the format is detected; a file in Pharaoh or Talp style that has a word 0 is Pharaoh."
)
EXAMPLES = (
    "dragoman aer test.gold test.align",
    "dragoman aer --gold-format talp test.gold test.align --json",
    "dragoman aer test.naacl - < test.align",
)

_FORMATS = ("pharaoh", "talp", "naacl")


def add_options(parser: Parser) -> None:
    """Declare the options of `aer`."""
    from dragoman.requests.shared import COMPRESSION

    parser.add_argument("gold", metavar="GOLD", help=f"gold alignments; {COMPRESSION}")
    parser.add_argument("hypothesis", metavar="HYP", help="alignments to score; - for standard input")
    parser.add_argument("--gold-format", choices=_FORMATS, help="format of GOLD (default: detected)")
    parser.add_argument("--hyp-format", choices=_FORMATS, help="format of HYP (default: detected)")
    parser.add_argument(
        "--one-based",
        action="store_true",
        help="count words from 1 in files of undeclared format that have no word 0",
    )
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Compare the alignments and print the scores."""
    from dragoman.alignment.aer import agreement
    from dragoman.alignment.formats import MarkedLinks, read_alignments
    from dragoman.errors import ConfigError

    if options.gold == options.hypothesis == "-":
        raise ConfigError("GOLD and HYP cannot both be standard input")
    gold = read_alignments(options.gold, options.gold_format, one_based=options.one_based)
    hypothesis = read_alignments(options.hypothesis, options.hyp_format, one_based=options.one_based)
    # The NAACL format has no line for a sentence without links, so it cannot say that the last ones have none.
    sentences = [list(gold.sentences), list(hypothesis.sentences)]
    longest = max(map(len, sentences))
    for part, form in zip(sentences, (gold.format, hypothesis.format), strict=True):
        if form == "naacl":
            part.extend([MarkedLinks(frozenset(), frozenset())] * (longest - len(part)))
    result = agreement(sentences[0], [marked.possible for marked in sentences[1]])
    formats = {"gold_format": gold.format, "hyp_format": hypothesis.format}
    if options.json:
        print(json.dumps({**result.to_json(), **formats}, indent=2))
    else:
        print(f"{result.table()}\n\ngold {gold.format}, hypothesis {hypothesis.format}")
