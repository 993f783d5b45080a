"""The options of every verb, for those without a request."""

from __future__ import annotations

from dragoman.cli.shared.parsing import Parser


def add_general_options(parser: Parser, *, device: bool = True) -> None:
    """Declare the options of every verb, with `device` also those of a verb that runs a model."""
    from dragoman.cli.shared.requests import add_request
    from dragoman.requests.shared import Compute, Quiet

    add_request(parser.add_argument_group("general"), Compute if device else Quiet)
