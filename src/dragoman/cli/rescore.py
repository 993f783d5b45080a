"""`dragoman rescore`: neural scores as features of Moses n-best lists."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options, add_output
from dragoman.cli.shared.parsing import Parser, language, precision
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.progress import Console
    from dragoman.scoring.nbest import NBestEntry
    from dragoman.workflows.smt_features import RescoringFeatures

SUMMARY = "add neural scores to n-best lists"
DESCRIPTION = (
    "Reads a Moses n-best list and adds features. Each model adds the log-probability of the hypothesis\n"
    "given the source. Each language model adds that of the hypothesis alone. Logarithms are natural, and\n"
    "EOS is included. --length adds the number of words. Everything else in the list is unchanged."
)
EXAMPLES = (
    "dragoman rescore dev.nbest.gz --source dev.fr --model RUN -o dev.rescored.gz",
    "dragoman rescore dev.nbest --source dev.fr --model RUN1 RUN2 --reverse RUN3 --feature Net > dev.rescored",
    "dragoman rescore dev.nbest --lm LM --length > dev.rescored",
    "dragoman rescore dev.nbest.gz --source dev.raw.fr --model RUN --tokenised en -o dev.rescored.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `rescore`."""
    from dragoman.requests.shared import COMPRESSION, NBEST

    parser.add_argument("nbest", metavar="NBEST", help=f"{NBEST}; {COMPRESSION}; - for standard input")
    parser.add_argument("--source", metavar="SRC", help="source sentences; sentence ids count its lines from 0")
    add_feature_options(parser)
    add_output(parser, "the n-best list")
    add_general_options(parser)


def add_feature_options(parser: Parser) -> None:
    """Declare the features to add."""
    parser.add_argument("--model", nargs="+", default=[], metavar="RUN", help="source-to-target runs; one value each")
    parser.add_argument(
        "--reverse", nargs="+", default=[], metavar="RUN", help="target-to-source runs; feature NAMEReverse"
    )
    parser.add_argument(
        "--lm", nargs="+", default=[], metavar="LM", help="language models (need no --source); feature NAMELM"
    )
    parser.add_argument(
        "--length",
        action="store_true",
        help="add the number of words as feature NAMELength; with a tuned weight it makes up for the preference of "
        "log-probabilities for short hypotheses",
    )
    parser.add_argument(
        "--ensemble", action="store_true", help="combine the runs of --model: average the probabilities of each token"
    )
    parser.add_argument(
        "--tokenised",
        type=language,
        metavar="LANG",
        help="hypotheses are tokenised text of this language, --model and --reverse were trained on raw text: join the "
        "words as the Moses detokeniser does before scoring",
    )
    parser.add_argument("--feature", default="Neural", metavar="NAME", help="name of the new feature")
    parser.add_argument(
        "--normalised", action="store_true", help="divide log-probabilities by the number of tokens, EOS included"
    )
    parser.add_argument(
        "--precision",
        type=precision,
        metavar="{fp32,bf16}",
        default="fp32",
        help="precision of matrix products; bf16 is faster on some CPUs and GPUs",
    )


def run(options: argparse.Namespace) -> None:
    """Write the list with the new features."""
    require_sense(options)

    from dragoman.progress import Console
    from dragoman.scoring.lists import NBestSentence, add_features, with_sources
    from dragoman.scoring.nbest import by_sentence, read_nbest
    from dragoman.text.lines import read_lines, replace_output
    from dragoman.workflows.smt_features import open_features

    features = open_features(features_of(options), device=options.device, threads=options.threads)
    lists = by_sentence(read_nbest(options.nbest))
    if options.source is None:
        sentences: Iterable[NBestSentence] = (NBestSentence("", entries) for entries in lists)
    else:
        sentences = with_sources(lists, read_lines(options.source), options.source)
    rescored = add_features(sentences, features, options.nbest)
    with replace_output(options.output, keep_partial=True) as file:
        for line in _counted(rescored, Console(quiet=options.quiet)):
            file.write(line + "\n")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse a command that reads standard input twice, and features that make no sense."""
    if options.nbest == options.source == "-":
        raise ConfigError("NBEST and --source cannot both be standard input")
    require_sensible_features(options)


def require_sensible_features(options: argparse.Namespace) -> None:
    """Refuse a command without features, one that lacks or ignores the source, and names that no list can hold."""
    if not re.fullmatch(r"[^\s=:|]+", options.feature):
        raise ConfigError(f"--feature {options.feature!r}: feature names contain no space, `=`, `:` or `|`")
    if not (options.model or options.reverse or options.lm or options.length):
        raise ConfigError("--model, --reverse, --lm or --length is required (see dragoman rescore --help)")
    if (options.model or options.reverse) and options.source is None:
        raise ConfigError("--model and --reverse require --source")
    if options.source is not None and not (options.model or options.reverse):
        raise ConfigError("--source requires --model or --reverse; language models do not use it")
    if options.tokenised is not None and not (options.model or options.reverse):
        raise ConfigError("--tokenised requires --model or --reverse; language models score the text of the list")
    if options.ensemble and len(options.model) < 2:
        raise ConfigError("--ensemble requires several runs in --model")


def features_of(options: argparse.Namespace) -> RescoringFeatures:
    """The features that the command line gives."""
    from dragoman.workflows.smt_features import RescoringFeatures

    return RescoringFeatures(**{field.name: getattr(options, field.name) for field in fields(RescoringFeatures)})


def _counted(lists: Iterable[Sequence[NBestEntry]], console: Console) -> Iterator[str]:
    """The lines of the lists, with a progress counter on a terminal."""
    done = 0
    with console.counter("hypotheses") as advance:
        for entries in lists:
            yield from (entry.line for entry in entries)
            done += len(entries)
            advance(done)
