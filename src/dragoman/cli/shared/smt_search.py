"""What the verbs that search have in common: the system, its weights, and how much is looked at."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, positive_float, positive_int
from dragoman.smt.settings import DecoderSettings

if TYPE_CHECKING:
    from dragoman.smt.system import Searcher


def add_system(parser: Parser) -> None:
    """Declare the system."""
    parser.add_argument("system", metavar="SYSTEM", help="a folder with a moses.ini, or such a file")


def add_weights(parser: Parser) -> None:
    """Declare the weights to search with."""
    parser.add_argument(
        "--weights", metavar="FILE", help="weights, lines `Name= weight ...` (default: those of the system)"
    )


def add_search_options(parser: Parser) -> None:
    """Declare how much is looked at."""
    search = parser.add_argument_group("search")
    search.add_argument(
        "--stack", type=positive_int, default=DecoderSettings.stack, metavar="N", help="hypotheses kept in each stack"
    )
    search.add_argument(
        "--pop-limit",
        type=positive_int,
        default=DecoderSettings.pop_limit,
        metavar="N",
        help="hypotheses tried for each stack",
    )
    search.add_argument(
        "--threshold",
        type=positive_float,
        default=DecoderSettings.threshold,
        metavar="T",
        help="drop hypotheses worse than the best of their stack by T times the sum of the weights' magnitudes",
    )


def decoder_settings(options: argparse.Namespace) -> DecoderSettings:
    """How much is looked at."""
    return DecoderSettings(options.stack, options.pop_limit, options.threshold)


def open_searcher(options: argparse.Namespace) -> Searcher:
    """The system under the weights asked for."""
    from dragoman.smt.system import PhraseSystem
    from dragoman.tuning.feature_weights import read_weights

    weights = None if options.weights is None else read_weights(options.weights)  # first: tables take a while to load
    system = PhraseSystem.open(options.system)
    if weights is None:
        return system.searcher(system.configuration.weights, str(system.configuration.path), decoder_settings(options))
    return system.searcher(weights, options.weights, decoder_settings(options))
