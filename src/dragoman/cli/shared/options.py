"""Options and groups of options that several verbs share: the same name means the same thing everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, output_file, positive_float, threads

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Container

PAIRS_HELP = "SRC TGT, or one file with both sides (.tsv, .csv, .jsonl, .json, .tmx, .xliff, .po)"
NBEST_HELP = "Moses n-best list"
COMPRESSION_HELP = "may be compressed (.gz, .xz, .zst)"


def add_general_options(parser: Parser, *, device: bool = True) -> None:
    """Declare the options of every verb, with `device` also those of a verb that runs a model."""
    group = parser.add_argument_group("general")
    if device:
        group.add_argument(
            "--device",
            choices=("auto", "cpu", "cuda"),
            default="auto",
            help="where the model runs; auto: the GPU if there is one",
        )
        group.add_argument("--threads", type=threads, metavar="N", help="CPU threads (default: one per core)")
    group.add_argument("--quiet", action="store_true", help="print errors only")


def add_corpus_options(parser: Parser) -> None:
    """Declare how corpora are read."""
    from dragoman.cli.shared.requests import add_request
    from dragoman.requests.shared import CorpusOptions

    add_request(parser.add_argument_group("how corpora are read"), CorpusOptions)


def add_output(container: Container, what: str) -> None:
    """Declare `-o/--output`, standard output by default."""
    container.add_argument(
        "-o", "--output", type=output_file, default="-", metavar="FILE", help=f"write {what} to this file"
    )


def add_input(container: Container, what: str = "text to translate, one sentence a line") -> None:
    """Declare `-i/--input`, standard input by default."""
    container.add_argument("-i", "--input", default="-", metavar="FILE", help=what)


def add_run(parser: Parser) -> None:
    """Declare the positional RUN of a verb that uses one trained model."""
    parser.add_argument("run", metavar="RUN", help="run folder or exported folder")


def add_runs(parser: Parser) -> None:
    """Declare the positional RUN of a verb that can combine several trained models."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folder or exported folder; several form an ensemble"
    )


def add_ensemble_options(parser: Parser) -> None:
    """Declare how the predictions of several runs are combined."""
    group = parser.add_argument_group("ensemble")
    group.add_argument(
        "--combine",
        choices=("probabilities", "log-probabilities", "logits"),
        help="quantity that is averaged over the runs at each step (default: probabilities)",
    )
    group.add_argument(
        "--weights",
        type=positive_float,
        nargs="+",
        metavar="W",
        help="weight of each run in the average, in the order of the runs (default: equal)",
    )


def add_language_model_and_text(parser: Parser) -> None:
    """Declare a language model and the text that it scores."""
    parser.add_argument("run", metavar="LM", help="run folder written by `dragoman lm train`")
    add_input(parser, f"text, one sentence a line; {COMPRESSION_HELP}")
