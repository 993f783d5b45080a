"""`dragoman demo`: training, translation and a report in a few minutes, without a download."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder, positive_float
from dragoman.errors import Interrupted
from dragoman.text.words import words_in

if TYPE_CHECKING:
    from dragoman.translation.result import Translation


SUMMARY = "train on a built-in corpus, translate and write a report, without a download"
DESCRIPTION = (
    "Trains a small model on a corpus generated from the Unicode CLDR (dates, times, amounts, names,\n"
    "lists), evaluates it on held-out lines, shows some translations with their alignments, and writes\n"
    "a report. Takes under 3 minutes on 2 cores. It translates into the language of your locale, which\n"
    "you can judge."
)
EXAMPLES = ("dragoman demo", "dragoman demo --from de --to ja --out de-ja")
SHOWN = 6
LEARNT = 50.0
"""Percentage of test lines exactly right from which on the demo says that the model translates its corpus."""


def add_options(parser: Parser) -> None:
    """Declare the options of `demo`."""
    parser.add_argument(
        "--from",
        dest="source",
        metavar="LOCALE",
        help="CLDR locale of the source language (default: en, or de for a target in English)",
    )
    parser.add_argument(
        "--to",
        dest="target",
        metavar="LOCALE",
        help="CLDR locale of the target language (default: the language of your locale, or en)",
    )
    parser.add_argument(
        "--out", type=output_folder, default=Path("demo-run"), metavar="RUN", help="run folder to write"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing run")
    parser.add_argument("--minutes", type=positive_float, metavar="N", help="stop training after N minutes")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Train, evaluate, and print the scores with some translations."""
    from dragoman.model.devices import set_threads
    from dragoman.progress import Console
    from dragoman.workflows.demo import demonstrate

    set_threads(options.threads)
    run = shlex.quote(str(options.out))
    try:
        made = demonstrate(
            options.out,
            source=options.source,
            target=options.target,
            minutes=options.minutes,
            overwrite=options.overwrite,
            device=options.device,
            console=Console(quiet=options.quiet),
        )
    except Interrupted as stopped:  # its message names an option of `train`
        resume = f"`{this_command()} train --out {run} --resume`"
        raise Interrupted(str(stopped).replace("--resume", resume)) from None
    shown = _longer(made.quality.translations)
    print(
        f"{len(shown)} of the longer test lines with their translations. Below, each word of the translation < the "
        "word of the source that it attends to most."
    )
    for translation in shown:
        print(_shown(translation))
    evaluation = made.quality.evaluation
    print(
        f"\n{evaluation.score('exact match'):.1f} % of {evaluation.sentences} test lines exactly right, BLEU "
        f"{evaluation.score('BLEU'):.1f}, chrF {evaluation.score('chrF'):.1f}\n"
        f"test set: {made.overlap}\n"
        f"{_ability(evaluation.score('exact match'))}: dates, times, durations, amounts, names of countries and "
        "languages, and lists\nof these. It cannot translate anything else; for that, train on your own text."
    )
    print(f"translate more: {this_command()} translate {run}\nreport: {made.report}")


def _ability(exact: float) -> str:
    """What the model can do, by its percentage of test lines exactly right."""
    if exact < LEARNT:
        return "The training was too short: the model has not yet learnt what is in its corpus"
    return "The model translates what is in its corpus"


def _longer(translations: Sequence[Translation]) -> list[Translation]:
    """The longest line of each of `SHOWN` equal parts: short ones, such as "12 feet", show little."""
    size = max(1, -(-len(translations) // SHOWN))
    parts = (translations[start : start + size] for start in range(0, len(translations), size))
    return [max(part, key=lambda translation: len(translation.source)) for part in parts]


def _shown(translation: Translation) -> str:
    """A translation, and below it each word with the source word aligned to it."""
    source, target = words_in(translation.source), words_in(translation.text)
    links = "   ".join(f"{target[j]} < {source[i]}" for i, j in sorted(translation.alignment, key=lambda link: link[1]))
    return f"\n{translation.source}\n{translation.text}\n    {links}"


def this_command() -> str:
    """`dragoman` where the shell finds this program by that name, else the path of it, quoted for the shell."""
    script = sys.argv[0]
    program = shutil.which("dragoman")
    if Path(script).name != "dragoman":  # python -m dragoman
        beside = Path(sys.executable).with_name("dragoman")
        if program is not None and beside.exists() and os.path.samefile(program, beside):
            return "dragoman"
        return f"{shlex.quote(_short(sys.executable))} -m dragoman"
    if program is not None and os.path.exists(script) and os.path.samefile(program, script):
        return "dragoman"
    return shlex.quote(_short(script))


def _short(path: str) -> str:
    """The path from the current folder if it lies below, else as it is."""
    below = os.path.relpath(path)
    return path if below.startswith("..") else below if os.sep in below else os.path.join(".", below)
