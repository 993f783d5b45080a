"""Options and groups of options that several verbs share: the same name means the same thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.cli.shared.parsing import Parser, output_file, output_folder, positive_float, positive_int, threads

if TYPE_CHECKING:
    from argparse import Namespace
    from argparse import _ActionsContainer as Container

ALIGNERS = ("ibm1", "ibm2", "hmm", "fast-align", "eflomal")
"""The statistical word aligners, as `--aligner` names them."""

SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
"""The symmetrization heuristics, as `--symmetrize` names them."""

DEFAULT_SYMMETRIZATION: Final = "grow-diag-final-and"

PAIRS_HELP = "SRC TGT, or one .tsv or .jsonl file"
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


def add_pairs(parser: Parser) -> None:
    """Declare the positional files of a verb that reads given translations."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=f"{PAIRS_HELP}; {COMPRESSION_HELP}")


def add_corpora(container: Container, option: str, what: str) -> None:
    """Declare an option for parallel corpora of one or two files each."""
    container.add_argument(
        option,
        nargs="+",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help=f"{what}: {PAIRS_HELP}; may be repeated",
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


def add_training_run_options(parser: Parser) -> None:
    """Declare the run folder that training writes, its length and time limit, and what happens to an existing run."""
    run = parser.add_argument_group("run")
    run.add_argument("--out", required=True, type=output_folder, metavar="RUN", help="run folder to write")
    add_length(run)
    existing = run.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="continue the run in RUN exactly where it stopped")
    existing.add_argument("--overwrite", action="store_true", help="replace an existing run")


def add_length(container: Container) -> None:
    """Declare `--updates N` and `--minutes N`; `length_settings` reads them."""
    container.add_argument(
        "--updates",
        type=positive_int,
        metavar="N",
        help="train for N updates in place of training.epochs; schedules are spread over them",
    )
    container.add_argument(
        "--minutes", type=positive_float, metavar="N", help="stop training after N minutes and keep the best weights"
    )


def length_settings(options: Namespace) -> list[str]:
    """The settings KEY=VALUE that --updates and --minutes stand for."""
    given = (("updates", options.updates), ("minutes", options.minutes))
    return [f"training.{name}={value}" for name, value in given if value is not None]


def add_language_model_and_text(parser: Parser) -> None:
    """Declare a language model and the text that it scores."""
    parser.add_argument("run", metavar="LM", help="run folder written by `dragoman lm train`")
    add_input(parser, f"text, one sentence a line; {COMPRESSION_HELP}")
