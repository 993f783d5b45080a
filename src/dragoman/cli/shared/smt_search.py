"""Options of the verbs that decode with a phrase-based system: the system, its weights, pruning."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, positive_float, positive_int
from dragoman.smt.settings import DecoderSettings

if TYPE_CHECKING:
    from dragoman.smt.system import Searcher


def add_system(parser: Parser) -> None:
    """Declare the positional SYSTEM."""
    parser.add_argument("system", metavar="SYSTEM", help="folder with a moses.ini, or the moses.ini itself")


def add_weights(parser: Parser) -> None:
    """Declare the feature weights."""
    parser.add_argument(
        "--feature-weights",
        metavar="FILE",
        help="feature weights, lines `Name= weight ...` (default: the weights of the system)",
    )


def add_search_options(parser: Parser) -> None:
    """Declare the pruning options."""
    search = parser.add_argument_group("search")
    search.add_argument(
        "--stack", type=positive_int, default=DecoderSettings.stack, metavar="N", help="hypotheses kept per stack"
    )
    search.add_argument(
        "--pop-limit",
        type=positive_int,
        default=DecoderSettings.pop_limit,
        metavar="N",
        help="cube pruning: hypotheses popped per stack",
    )
    search.add_argument(
        "--threshold",
        type=positive_float,
        default=DecoderSettings.threshold,
        metavar="T",
        help="prune hypotheses that score T times the sum of absolute weights below the best of their stack",
    )


def decoder_settings(options: argparse.Namespace) -> DecoderSettings:
    """The pruning options as settings of the decoder."""
    return DecoderSettings(options.stack, options.pop_limit, options.threshold)


def open_searcher(options: argparse.Namespace) -> Searcher:
    """Open the system with the weights of the command line."""
    from dragoman.smt.system import PhraseSystem
    from dragoman.tuning.feature_weights import read_weights

    # The weights first: tables take a while to load.
    weights = None if options.feature_weights is None else read_weights(options.feature_weights)
    system = PhraseSystem.open(options.system)
    if weights is None:
        return system.searcher(system.configuration.weights, str(system.configuration.path), decoder_settings(options))
    return system.searcher(weights, options.feature_weights, decoder_settings(options))
