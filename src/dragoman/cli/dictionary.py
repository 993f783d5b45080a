"""`dragoman dictionary`: a bilingual dictionary from aligned text, for unknown word replacement."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options, add_output
from dragoman.cli.shared.parsing import Parser, positive_int
from dragoman.text.scripts import SpacingWatch

if TYPE_CHECKING:
    from dragoman.text.links import Link

SUMMARY = "extract a bilingual dictionary from word-aligned text"
DESCRIPTION = (
    "Prints for each source word the target word that it is aligned to most often, and the count,\n"
    "separated by tabs. Alignments are in Pharaoh format, from `dragoman align` or any word aligner.\n"
    "Words are separated by spaces and lose surrounding punctuation; punctuation is never paired with a\n"
    "word. Warns if most pairs are hardly more frequent than chance."
)
EXAMPLES = (
    "dragoman align RUN train.de train.en > train.align",
    "dragoman dictionary train.de train.en train.align > de-en.dictionary",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary",
)

log = logging.getLogger(__name__)


def add_options(parser: Parser) -> None:
    """Declare the options of `dictionary`."""
    parser.add_argument("source", type=Path, metavar="SRC", help="source side of the corpus")
    parser.add_argument("target", type=Path, metavar="TGT", help="target side of the corpus")
    parser.add_argument("links", type=Path, metavar="LINKS", help="word alignments, Pharaoh format")
    parser.add_argument(
        "--min-count",
        type=positive_int,
        metavar="N",
        help="drop word pairs aligned fewer than N times (default: 10, as in Luong et al. 2015; in fewer than 10,000 "
        "lines one for each thousand)",
    )
    add_output(parser, "the dictionary")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Count the aligned word pairs and print the most frequent one of each source word."""
    from dragoman.alignment.dictionary import CHANCE, learn_dictionary, write_dictionary
    from dragoman.corpora.corpus import read_pairs
    from dragoman.progress import Console

    pairs = read_pairs([[options.source, options.target]], [options.links])
    watch = SpacingWatch("segment the text before it is aligned")

    def sentences() -> Iterator[tuple[str, str, Sequence[Link]]]:
        for pair in pairs:
            watch.add(pair.source, pair.target)
            yield pair.source, pair.target, pair.links or []

    learned = learn_dictionary(sentences(), options.min_count)
    write_dictionary(options.output, learned.words)
    Console(quiet=options.quiet).info(
        f"dictionary: {len(learned.words):,} source words, of pairs with {learned.minimum} or more links in "
        f"{learned.sentences:,} lines"
    )
    if not learned.words:
        log.warning(
            "the dictionary is empty: the most frequent pair of words has %d of %d links%s",
            learned.most,
            learned.minimum,
            "; lower --min-count" if learned.most else "; the alignments link no words to each other",
        )
    watch.warn()
    if 2 * learned.by_chance > len(learned.words):
        log.warning(
            "%d of %d pairs are linked hardly more often (less than %g times) than random links would be: the model "
            "that aligned the text is perhaps undertrained",
            learned.by_chance,
            len(learned.words),
            CHANCE,
        )
