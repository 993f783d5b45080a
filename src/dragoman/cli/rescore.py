"""`dragoman rescore`: neural scores as features of Moses n-best lists."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import COMPRESSION_HELP, NBEST_HELP, add_general_options, add_output
from dragoman.cli.shared.parsing import Parser, language
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.progress import Console
    from dragoman.runs.opening import Run
    from dragoman.scoring.lists import Feature
    from dragoman.scoring.nbest import Entry
    from dragoman.scoring.token_scores import TokenScores

SUMMARY = "add neural scores to n-best lists"
DESCRIPTION = (
    "Reads a Moses n-best list and writes it with additional features: for each model the\n"
    "log-probability of the hypothesis given the source, for each language model that of the\n"
    "hypothesis; natural logarithm, EOS included. Everything else in the list is unchanged."
)
EXAMPLES = (
    "dragoman rescore dev.nbest.gz --source dev.fr --model RUN -o dev.rescored.gz",
    "dragoman rescore dev.nbest --source dev.fr --model RUN1 RUN2 --reverse RUN3 --feature Net > dev.rescored",
    "dragoman rescore dev.nbest --lm LM > dev.rescored",
    "dragoman rescore dev.nbest.gz --source dev.raw.fr --model RUN --tokenised en -o dev.rescored.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `rescore`."""
    parser.add_argument("nbest", metavar="NBEST", help=f"{NBEST_HELP}; {COMPRESSION_HELP}; - for standard input")
    parser.add_argument("--source", metavar="SRC", help="source sentences; sentence ids count its lines from 0")
    parser.add_argument("--model", nargs="+", default=[], metavar="RUN", help="source-to-target runs; one value each")
    parser.add_argument(
        "--reverse", nargs="+", default=[], metavar="RUN", help="target-to-source runs; feature NAMEReverse"
    )
    parser.add_argument(
        "--lm", nargs="+", default=[], metavar="LM", help="language models (need no --source); feature NAMELM"
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
        choices=("fp32", "bf16"),
        default="fp32",
        help="precision of matrix products; bf16 is faster on some CPUs and GPUs",
    )
    add_output(parser, "the n-best list")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Write the list with the new features."""
    require_sense(options)

    from dragoman.progress import Console
    from dragoman.scoring.lists import Sentence, add_features, with_sources
    from dragoman.scoring.nbest import by_sentence, read_nbest
    from dragoman.text.lines import read_lines, replace_output

    features = _features(options)
    lists = by_sentence(read_nbest(options.nbest))
    if options.source is None:
        sentences: Iterable[Sentence] = (Sentence("", entries) for entries in lists)
    else:
        sentences = with_sources(lists, read_lines(options.source), options.source)
    rescored = add_features(sentences, features, options.nbest)
    with replace_output(options.output, keep_partial=True) as file:
        for line in _counted(rescored, Console(quiet=options.quiet)):
            file.write(line + "\n")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse a command without models, one that lacks or ignores the source, and names that no list can hold."""
    if not re.fullmatch(r"[^\s=:|]+", options.feature):
        raise ConfigError(f"--feature {options.feature!r}: feature names contain no space, `=`, `:` or `|`")
    if options.nbest == options.source == "-":
        raise ConfigError("NBEST and --source cannot both be standard input")
    if not (options.model or options.reverse or options.lm):
        raise ConfigError("--model, --reverse or --lm is required (see dragoman rescore --help)")
    if (options.model or options.reverse) and options.source is None:
        raise ConfigError("--model and --reverse require --source")
    if options.source is not None and not (options.model or options.reverse):
        raise ConfigError("--source requires --model or --reverse; language models do not use it")
    if options.tokenised is not None and not (options.model or options.reverse):
        raise ConfigError("--tokenised requires --model or --reverse; language models score the text of the list")
    if options.ensemble and len(options.model) < 2:
        raise ConfigError("--ensemble requires several runs in --model")


def _features(options: argparse.Namespace) -> list[tuple[str, Sequence[Feature]]]:
    """The features to add, by name."""
    from dragoman.scoring.lists import ensemble_feature, forward_feature, of_joined_words, reverse_feature
    from dragoman.scoring.token_scores import log_probability, mean_log_probability

    value = mean_log_probability if options.normalised else log_probability
    features: list[tuple[str, Sequence[Feature]]] = []
    runs = [_open(path, options) for path in options.model]
    scorers = [one.scorer() for one in runs]
    if options.ensemble:
        _require_one_vocabulary(runs, options.model)
        features.append((options.feature, [ensemble_feature(scorers, value)]))
    elif runs:
        features.append((options.feature, [forward_feature(scorer, value) for scorer in scorers]))
    if options.reverse:
        others = [_open(path, options).scorer() for path in options.reverse]
        features.append((f"{options.feature}Reverse", [reverse_feature(scorer, value) for scorer in others]))
    if options.tokenised is not None:
        from dragoman.text.segmentation.words import WordSegmentation

        join = WordSegmentation(options.tokenised).join
        features = [(name, [of_joined_words(one, join) for one in group]) for name, group in features]
    if options.lm:
        features.append((f"{options.feature}LM", [_language_feature(path, options, value) for path in options.lm]))
    return features


def _language_feature(path: str, options: argparse.Namespace, value: Callable[[TokenScores], float]) -> Feature:
    from dragoman.model.devices import choose_precision
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.language_model import language_model_feature

    opened = open_language_run(path, device=options.device, threads=options.threads)
    opened.model.set_precision(choose_precision(options.precision, opened.model.device))
    return language_model_feature(opened.scorer(), value)


def _open(path: str, options: argparse.Namespace) -> Run:
    """A translation model with its products in the given precision; an exported one needs no torch."""
    from dragoman.runs.opening import open_run

    opened = open_run(path, device=options.device, threads=options.threads)
    if options.precision != "fp32":
        model = opened.model()

        from dragoman.model.devices import choose_precision

        model.set_precision(choose_precision(options.precision, model.device))
    return opened


def _counted(lists: Iterable[Sequence[Entry]], console: Console) -> Iterator[str]:
    """The lines of the lists, with a progress counter on a terminal."""
    done = 0
    with console.counter("hypotheses") as advance:
        for entries in lists:
            yield from (entry.line for entry in entries)
            done += len(entries)
            advance(done)


def _require_one_vocabulary(runs: Sequence[Run], names: Sequence[str]) -> None:
    """Refuse runs that differ in target vocabulary or segmentation."""
    from dragoman.translation.ensemble import require_same_target

    require_same_target(names, [one.target.vocabulary for one in runs])
    files = [{path.name: path.read_bytes() for path in one.folder.text.glob("target.*")} for one in runs]
    for other, name in zip(files, names, strict=True):
        if other != files[0]:
            raise ConfigError(
                f"--ensemble: {name} and {names[0]} segment target text differently; leave --ensemble out and "
                "weight their features instead"
            )
