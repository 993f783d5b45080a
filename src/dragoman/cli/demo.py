"""`dragoman demo`: training, translation and a report in a few minutes, without a download."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.invocation import this_command
from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, positive_float
from dragoman.text.words import words_in

if TYPE_CHECKING:
    from dragoman.translation.translator import Translation

SUMMARY = "train on a built-in corpus, translate and write a report, without a download"
DESCRIPTION = (
    "Trains a small model on a corpus generated from the Unicode CLDR (dates, times, amounts, names,\n"
    "lists), evaluates it on held-out lines, shows some translations with their alignments, and writes\n"
    "a report. Takes under 3 minutes on 2 cores."
)
EXAMPLES = ("dragoman demo", "dragoman demo --from de --to ja --out de-ja")
SHOWN = 6


def add_options(parser: Parser) -> None:
    """Declare the options of `demo`."""
    parser.add_argument(
        "--from", dest="source", default="en", metavar="LOCALE", help="CLDR locale of the source language"
    )
    parser.add_argument(
        "--to", dest="target", default="ko", metavar="LOCALE", help="CLDR locale of the target language"
    )
    parser.add_argument("--out", type=Path, default=Path("demo-run"), metavar="RUN", help="run folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing run")
    parser.add_argument("--minutes", type=positive_float, metavar="N", help="stop training after N minutes")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Train, evaluate, and print the scores with some translations."""
    from dragoman.model.devices import set_threads
    from dragoman.progress import Console
    from dragoman.workflows.demo import demonstrate

    set_threads(options.threads)
    made = demonstrate(
        options.out,
        source=options.source,
        target=options.target,
        minutes=options.minutes,
        overwrite=options.overwrite,
        device=options.device,
        console=Console(quiet=options.quiet),
    )
    translations = made.quality.translations
    for translation in translations[:: max(1, len(translations) // SHOWN)][:SHOWN]:
        print(_shown(translation))
    evaluation = made.quality.evaluation
    print(
        f"\n{evaluation.sentences} test lines, none of them seen in training: {evaluation.score('exact match'):.1f} % "
        f"exact match, BLEU {evaluation.score('BLEU'):.1f}, chrF {evaluation.score('chrF'):.1f}"
    )
    run = shlex.quote(str(options.out))
    print(f"translate more: {this_command()} translate {run}\nreport: {made.report}")


def _shown(translation: Translation) -> str:
    """A translation, and below it each word with the source word aligned to it."""
    source, target = words_in(translation.source), words_in(translation.text)
    links = "   ".join(f"{target[j]} < {source[i]}" for i, j in sorted(translation.alignment, key=lambda link: link[1]))
    return f"\n{translation.source}\n{translation.text}\n    {links}"
