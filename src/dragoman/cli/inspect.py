"""`dragoman inspect`: statistics and problems of a corpus before training."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dragoman.cli.shared.options import add_corpus_options, add_general_options
from dragoman.cli.shared.parsing import Parser, natural, output_file, positive_int

SUMMARY = "check a parallel corpus for problems"
DESCRIPTION = (
    "Reads a corpus twice and reports lengths, vocabulary coverage, repetitions, lines in the wrong\n"
    "language or script, encoding errors, and overlap with the --dev and --test sets, with examples and\n"
    "advice. The corpus is not changed and nothing is downloaded; no extras are needed."
)
EXAMPLES = (
    "dragoman inspect train.de train.en",
    "dragoman inspect train.tsv.gz --dev dev.de dev.en --test test.de test.en --listing trouble.tsv",
    "dragoman inspect train.de train.en --subwords 8000 --json > inspection.json",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `inspect`."""
    from dragoman.requests.shared import COMPRESSION, PAIRS

    parser.add_argument(
        "corpus",
        nargs="+",
        type=Path,
        metavar="FILE",
        help=f"{PAIRS}; {COMPRESSION}",
    )
    parser.add_argument(
        "--dev",
        nargs="+",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="development set; may be repeated",
    )
    parser.add_argument(
        "--test", nargs="+", type=Path, action="append", default=[], metavar="FILE", help="test set; may be repeated"
    )
    parser.add_argument(
        "--subwords",
        type=positive_int,
        metavar="N",
        help="also train a joint subword model of N entries and report its statistics",
    )
    parser.add_argument(
        "--examples", type=natural, default=3, metavar="N", help="examples to show for each kind of finding"
    )
    parser.add_argument(
        "--listing",
        type=output_file,
        metavar="FILE",
        help="list every finding: place, kind, side, detail, source and target, separated by tabs",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_corpus_options(parser)
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Inspect the corpus and print the findings."""
    from contextlib import nullcontext

    from dragoman.inspection.inspect import inspect_corpus
    from dragoman.inspection.presentation import text, to_json
    from dragoman.progress import Console
    from dragoman.text.lines import replace_output

    _require_files(options)
    held_out = {**_named("dev", options.dev), **_named("test", options.test)}
    listing = nullcontext() if options.listing is None else replace_output(options.listing)
    with listing as file, Console(quiet=options.quiet).counter("pairs, twice") as progress:
        inspection = inspect_corpus(
            [options.corpus],
            held_out,
            subwords=options.subwords,
            examples=options.examples,
            listing=file,
            progress=progress,
        )
    print(json.dumps(to_json(inspection), ensure_ascii=False, indent=2) if options.json else text(inspection))


def _require_files(options: argparse.Namespace) -> None:
    """Refuse a corpus that cannot be read twice."""
    from dragoman.errors import InputError

    for path in options.corpus:
        if str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            raise InputError(f"{path}: is no regular file; the corpus is read twice, so give a file")


def _named(name: str, sets: list[list[Path]]) -> dict[str, list[Path]]:
    """dev, or dev 1, dev 2 where there are several."""
    return {name if len(sets) == 1 else f"{name} {number}": files for number, files in enumerate(sets, 1)}
