"""`dragoman demo`: training, translation and a report in a few minutes, without a download."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import Interrupted

if TYPE_CHECKING:
    from dragoman.requests.training import DemoRequest

SUMMARY = "train on a built-in corpus, translate and write a report, without a download"
DESCRIPTION = (
    "Trains a small model on a corpus generated from the Unicode CLDR (dates, times, amounts, names,\n"
    "lists), evaluates it on held-out lines, shows some translations with their alignments, and writes\n"
    "a report. Takes under 3 minutes on 2 cores. It translates into the language of your locale, which\n"
    "you can judge."
)
EXAMPLES = ("dragoman demo", "dragoman demo --from de --to ja --out de-ja")

LEARNT = 50.0
"""Percentage of test lines exactly right from which on the demo says that the model translates its corpus."""

REQUEST = "dragoman.requests.training.DemoRequest"


def run(request: DemoRequest) -> None:
    """Train, evaluate, and print the scores with some translations."""
    from dragoman.workflows.demo import demonstrate

    run = shlex.quote(request.out)
    try:
        made = demonstrate(request)
    except Interrupted as stopped:  # its message names an option of `train`
        resume = f"`{this_command()} train --out {run} --resume`"
        raise Interrupted(str(stopped).replace("--resume", resume)) from None
    shown = made.examples()
    print(
        f"{len(shown)} of the longer test lines with their translations. Below, each word of the translation < the "
        "word of the source that it attends to most."
    )
    for example in shown:
        print(example)
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
