"""`dragoman check`: does a model read its source, and does its attention look at it?"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_corpus_options, add_general_options, add_run
from dragoman.cli.shared.parsing import Parser, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.runs.opening import Run
    from dragoman.workflows.checking import Check

SUMMARY = "check that a model reads its source and that its attention looks at it"
DESCRIPTION = (
    "Asks five questions about a trained model, each answered by a measurement on sentence pairs: does\n"
    "the loss depend on the source, does the order of the source words matter, is the loss the same with\n"
    "and without padding, do the alignment weights depend on the annotations, and are they not uniform?\n"
    "The verdict is yes, weak, no, or - where the question has no meaning for the model."
)
EXAMPLES = (
    "dragoman check RUN",
    "dragoman check RUN test.de test.en --sentences 500",
    "dragoman check RUN --json",
)

_SENTENCES = 200


def add_options(parser: Parser) -> None:
    """Declare the options of `check`."""
    from dragoman.requests.shared import PAIRS

    add_run(parser)
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help=f"{PAIRS} (default: the dev set stored in the run)"
    )
    parser.add_argument(
        "--sentences",
        type=positive_int,
        default=_SENTENCES,
        metavar="N",
        help="number of pairs to use, evenly spaced in the files (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_corpus_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Measure and print the verdicts."""
    from dragoman.corpora.corpus import read_pairs
    from dragoman.runs.opening import open_run
    from dragoman.workflows.checking import check_run, evenly_spaced
    from dragoman.workflows.unexpected_text import checked_pairs

    if len(options.files) > 2:
        raise ConfigError(f"{len(options.files)} files are given; give two (source and target), or one with both sides")
    opened = open_run(options.run, device=options.device, threads=options.threads)
    files = options.files or [_dev_set(opened)]
    pairs = evenly_spaced(list(checked_pairs(read_pairs([files]), files, options.run, opened)), options.sentences)
    checks = check_run(opened, pairs)
    print(_as_json(len(pairs), checks) if options.json else _as_table(len(pairs), checks))


def _dev_set(run: Run) -> Path:
    """The raw text of the dev set of a run folder.

    Raises:
        ConfigError: the folder has none: it was exported or imported, or its data was deleted.
    """
    from dragoman.runs.layout import RunFolder

    if not isinstance(run.folder, RunFolder) or not run.folder.dev_text.is_file():
        raise ConfigError(f"{run.folder.path}: has no dev set; give pairs: dragoman check {run.folder.path} SRC TGT")
    return run.folder.dev_text


def _as_table(pairs: int, checks: Sequence[Check]) -> str:
    width = max(len(check.question) for check in checks)
    rows = [f"{check.question:<{width}}  {check.verdict:<4}  {check.explanation}" for check in checks]
    return "\n".join([f"{pairs} pairs", *rows])


def _as_json(pairs: int, checks: Sequence[Check]) -> str:
    return json.dumps({"pairs": pairs, "checks": [dataclasses.asdict(check) for check in checks]}, indent=1)
