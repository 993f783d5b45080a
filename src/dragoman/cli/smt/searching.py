"""What the verbs that search have in common: the system, its weights, and how much is looked at."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.parsing import Parser, positive_float, positive_int
from dragoman.smt.settings import Beam

if TYPE_CHECKING:
    from dragoman.smt.translation import Searcher, System
    from dragoman.tuning.weights import Weights


def add_system(parser: Parser) -> None:
    """Declare the system."""
    parser.add_argument("system", metavar="SYSTEM", help="a folder with a moses.ini, or such a file")


def add_search_options(parser: Parser, weights: str) -> None:
    """Declare the options of search; `weights` is the help for the file of weights."""
    parser.add_argument("--weights", metavar="FILE", help=weights)
    search = parser.add_argument_group("search")
    search.add_argument(
        "--stack", type=positive_int, default=Beam.stack, metavar="N", help="hypotheses kept in each stack"
    )
    search.add_argument(
        "--pop-limit", type=positive_int, default=Beam.pop_limit, metavar="N", help="hypotheses tried for each stack"
    )
    search.add_argument(
        "--threshold",
        type=positive_float,
        default=Beam.threshold,
        metavar="T",
        help="drop hypotheses worse than the best of their stack by T times the sum of the weights' magnitudes",
    )


def beam(options: argparse.Namespace) -> Beam:
    """How much is looked at."""
    return Beam(options.stack, options.pop_limit, options.threshold)


def given_weights(options: argparse.Namespace) -> Weights | None:
    """Those of the file that was named."""
    from dragoman.tuning.weights import read_weights

    return None if options.weights is None else read_weights(options.weights)


def open_system(options: argparse.Namespace) -> System:
    """With its tables loaded."""
    from dragoman.smt.translation import System

    return System.open(options.system)


def open_searcher(options: argparse.Namespace) -> Searcher:
    """The system under the weights asked for."""
    weights = given_weights(options)  # first: tables take a while to load
    system = open_system(options)
    if weights is None:
        return system.searcher(system.configuration.weights, str(system.configuration.path), beam(options))
    return system.searcher(weights, options.weights, beam(options))
