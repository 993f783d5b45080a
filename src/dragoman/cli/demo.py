"""`dragoman demo`: the main job in a few minutes, without a download."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float

if TYPE_CHECKING:
    from dragoman.translation.translator import Translation

SUMMARY = "train on an embedded corpus, translate, write a report; no download"
DESCRIPTION = (
    "Trains a small model on a translation task made of the Unicode CLDR data (dates, times, amounts, names, lists),\n"
    "measures it on lines it has not seen, shows some with their alignments, and writes a report. Under 3 minutes on\n"
    "2 cores."
)
EXAMPLES = ("dragoman demo", "dragoman demo --from de --to ja --out de-ja")
SHOWN = 6


def add_options(parser: Parser) -> None:
    """Declare the options of `demo`."""
    parser.add_argument("--from", dest="source", default="en", metavar="LOCALE", help="source language, of the CLDR's")
    parser.add_argument("--to", dest="target", default="ko", metavar="LOCALE", help="target language, of the CLDR's")
    parser.add_argument("--out", type=Path, default=Path("demo-run"), metavar="RUN", help="the run folder to write")
    parser.add_argument("--overwrite", action="store_true", help="start anew where a run is")
    parser.add_argument("--minutes", type=positive_float, metavar="N", help="train for at most so long")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Do it all, print the figures and some translations."""
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
    print(f"translate more: dragoman translate {options.out}\nreport: {made.report}")


def _shown(translation: Translation) -> str:
    """A translation, and under it each word with the source word it came from."""
    source, target = translation.source.split(), translation.text.split()
    links = "   ".join(f"{target[j]} < {source[i]}" for i, j in sorted(translation.alignment, key=lambda link: link[1]))
    return f"\n{translation.source}\n{translation.text}\n    {links}"
