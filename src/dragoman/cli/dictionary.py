"""`dragoman dictionary`: a dictionary of words out of aligned text, for replacing unknown words."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_int

SUMMARY = "learn a dictionary from aligned text"
DESCRIPTION = (
    "Prints for each source word the target word it is linked to most often, and how often, between tabs; rarer pairs\n"
    "than --minimum are left out. Links are in Pharaoh format, whoever made them: `dragoman align`, or an aligner.\n"
    "Words are what stands between blanks, without the punctuation around them."
)
EXAMPLES = (
    "dragoman align RUN train.de train.en > train.align",
    "dragoman dictionary train.de train.en train.align > de-en.dictionary",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `dictionary`."""
    parser.add_argument("source", type=Path, metavar="SRC", help="lines of the source language")
    parser.add_argument("target", type=Path, metavar="TGT", help="their translations")
    parser.add_argument("links", type=Path, metavar="LINKS", help="their word alignments")
    parser.add_argument(
        "--minimum", type=positive_int, default=10, metavar="N", help="links that a pair needs (Luong et al. 2015: 10)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the dictionary goes")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Count, and print the best of each word."""
    from dragoman.alignment.dictionary import learn_dictionary, write_dictionary
    from dragoman.text.corpus import read_pairs

    pairs = read_pairs([[options.source, options.target]], [options.links])
    sentences = ((pair.source, pair.target, pair.links or []) for pair in pairs)
    write_dictionary(options.output, learn_dictionary(sentences, options.minimum))
