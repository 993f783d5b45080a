"""`dragoman aer`: how far word alignments agree with gold ones."""

from __future__ import annotations

import argparse
import json

from dragoman.cli.shared.parsing import Parser, add_general_options

SUMMARY = "measure word alignments against gold ones"
DESCRIPTION = (
    "Prints the alignment error rate, precision, recall and F of the links of HYP, over all sentences, against those\n"
    "of GOLD, which may mark links as sure or only possible. Marks in HYP mean nothing.\n\n"
    "formats:\n"
    "  pharaoh  a line a sentence, links 3-4, possible ones 3p4 or 3?4, words counted from 0\n"
    "  talp     the same, words counted from 1\n"
    "  naacl    a line a link, `SENTENCE SOURCE TARGET S|P`, all counted from 1\n"
    "Unless it is given, the format is found out: a file of Pharaoh's shape with a word 0 counts from 0."
)
EXAMPLES = (
    "dragoman aer test.gold test.align",
    "dragoman aer --gold-format talp test.gold test.align --json",
    "dragoman aer test.naacl - < test.align",
)

_FORMATS = ("pharaoh", "talp", "naacl")


def add_options(parser: Parser) -> None:
    """Declare the options of `aer`."""
    parser.add_argument("gold", metavar="GOLD", help="gold alignments; may be .gz, .xz or .zst")
    parser.add_argument("hypothesis", metavar="HYP", help="alignments to measure, the same; - for standard input")
    parser.add_argument("--gold-format", choices=_FORMATS, help="how GOLD is written (default: found out)")
    parser.add_argument("--hyp-format", choices=_FORMATS, help="how HYP is written (default: found out)")
    parser.add_argument(
        "--one-based",
        action="store_true",
        help="words count from 1 in a file of Pharaoh's shape that has no word 0 and no format given",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Compare, print."""
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
