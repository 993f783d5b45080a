"""Options and groups of options that several verbs share: the same name means the same thing everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, output_file

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Container


def add_general_options(parser: Parser, *, device: bool = True) -> None:
    """Declare the options of every verb, with `device` also those of a verb that runs a model."""
    from dragoman.cli.shared.requests import add_request
    from dragoman.requests.shared import Compute, Quiet

    add_request(parser.add_argument_group("general"), Compute if device else Quiet)


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
    from dragoman.cli.shared.requests import add_request
    from dragoman.requests.shared import EnsembleOptions

    add_request(parser.add_argument_group("ensemble"), EnsembleOptions)


def add_language_model_and_text(parser: Parser) -> None:
    """Declare a language model and the text that it scores."""
    from dragoman.requests.shared import COMPRESSION

    parser.add_argument("run", metavar="LM", help="run folder written by `dragoman lm train`")
    add_input(parser, f"text, one sentence a line; {COMPRESSION}")
