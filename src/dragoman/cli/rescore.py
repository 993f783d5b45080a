"""`dragoman rescore`: neural scores as features of Moses n-best lists."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.progress import Console
    from dragoman.runs.opening import Run
    from dragoman.scoring.lists import Feature
    from dragoman.scoring.nbest import Entry
    from dragoman.scoring.token_scores import TokenScores

SUMMARY = "add neural scores to n-best lists"
DESCRIPTION = (
    "Reads a Moses n-best list and writes it with more features: for each model the log-probability of the\n"
    "hypothesis given the source, or by a language model of the hypothesis alone; natural logarithm, end of sentence\n"
    "included. The rest of each line stays as it was."
)
EXAMPLES = (
    "dragoman rescore dev.nbest.gz --source dev.fr --model RUN -o dev.rescored.gz",
    "dragoman rescore dev.nbest --source dev.fr --model RUN1 RUN2 --reverse RUN3 --add Net > dev.rescored",
    "dragoman rescore dev.nbest --lm LM > dev.rescored",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `rescore`."""
    parser.add_argument("nbest", metavar="NBEST", help="a Moses n-best list, .gz, .xz or .zst too; - is standard input")
    parser.add_argument("--source", metavar="SRC", help="source lines; ids count them from 0")
    parser.add_argument("--model", nargs="+", default=[], metavar="RUN", help="run folders, a value for each")
    parser.add_argument(
        "--reverse", nargs="+", default=[], metavar="RUN", help="runs from target to source; the feature NAMEReverse"
    )
    parser.add_argument(
        "--lm", nargs="+", default=[], metavar="LM", help="language models, which need no --source; the feature NAMELM"
    )
    parser.add_argument(
        "--ensemble", action="store_true", help="one value for all of --model: of each word the mean probability"
    )
    parser.add_argument("--add", default="Neural", metavar="NAME", help="name of the new feature")
    parser.add_argument(
        "--normalised", action="store_true", help="divide by the number of segments, end of sentence counted"
    )
    parser.add_argument(
        "--precision", choices=("fp32", "bf16"), default="fp32", help="of products; some processors are faster in bf16"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the list goes")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Write the list with the new features."""
    if not re.fullmatch(r"[^\s=:|]+", options.add):
        raise ConfigError(f"--add {options.add!r}: the name of a feature has no blank, `=`, `:` or `|` in it")
    if options.nbest == options.source == "-":
        raise ConfigError("the list and --source cannot both be standard input; give a file for one of them")
    _require_models(options)

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


def _require_models(options: argparse.Namespace) -> None:
    """Refuse a command that has nothing to add, or lacks or ignores the source."""
    if not (options.model or options.reverse or options.lm):
        raise ConfigError("nothing to add: give --model, --reverse or --lm (see dragoman rescore --help)")
    if (options.model or options.reverse) and options.source is None:
        raise ConfigError("--source is missing: translation models score hypotheses of source lines")
    if options.source is not None and not (options.model or options.reverse):
        raise ConfigError("--source is not looked at by language models; leave it out, or give --model")
    if options.ensemble and len(options.model) < 2:
        raise ConfigError("--ensemble is about several of --model")


def _features(options: argparse.Namespace) -> list[tuple[str, Sequence[Feature]]]:
    """What is added, by name."""
    from dragoman.scoring.lists import ensemble_feature, forward_feature, reverse_feature
    from dragoman.scoring.token_scores import log_probability, mean_log_probability

    value = mean_log_probability if options.normalised else log_probability
    features: list[tuple[str, Sequence[Feature]]] = []
    runs = [_open(path, options) for path in options.model]
    scorers = [one.scorer() for one in runs]
    if options.ensemble:
        _require_one_vocabulary(runs, options.model)
        features.append((options.add, [ensemble_feature(scorers, value)]))
    elif runs:
        features.append((options.add, [forward_feature(scorer, value) for scorer in scorers]))
    if options.reverse:
        others = [_open(path, options).scorer() for path in options.reverse]
        features.append((f"{options.add}Reverse", [reverse_feature(scorer, value) for scorer in others]))
    if options.lm:
        features.append((f"{options.add}LM", [_language_feature(path, options, value) for path in options.lm]))
    return features


def _language_feature(path: str, options: argparse.Namespace, value: Callable[[TokenScores], float]) -> Feature:
    from dragoman.model.devices import choose_precision
    from dragoman.runs.language_model import open_language_run
    from dragoman.scoring.language_model import language_model_feature

    opened = open_language_run(path, device=options.device, threads=options.threads)
    opened.model.set_precision(choose_precision(options.precision, opened.model.device))
    return language_model_feature(opened.scorer(), value)


def _open(path: str, options: argparse.Namespace) -> Run:
    """A translation model that computes in the precision asked for; an exported one needs no torch."""
    from dragoman.runs.opening import open_run

    opened = open_run(path, device=options.device, threads=options.threads)
    if options.precision != "fp32":
        model = opened.model()

        from dragoman.model.devices import choose_precision

        model.set_precision(choose_precision(options.precision, model.device))
    return opened


def _counted(lists: Iterable[Sequence[Entry]], console: Console) -> Iterator[str]:
    """The lines of the lists, counted on a terminal."""
    done = 0
    with console.counter("hypotheses") as advance:
        for entries in lists:
            yield from (entry.line for entry in entries)
            done += len(entries)
            advance(done)


def _require_one_vocabulary(runs: Sequence[Run], names: Sequence[str]) -> None:
    """The words whose probabilities are averaged must be the same ones, and text must be cut into them alike."""
    from dragoman.translation.ensemble import require_same_target

    require_same_target(names, [one.target.vocabulary for one in runs])
    files = [{path.name: path.read_bytes() for path in one.folder.text.glob("target.*")} for one in runs]
    for other, name in zip(files, names, strict=True):
        if other != files[0]:
            raise ConfigError(
                f"--ensemble: {name} and {names[0]} cut target text differently; leave --ensemble out and "
                "give their values weights"
            )
