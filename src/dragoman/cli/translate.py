"""`dragoman translate`: lines in, translations out."""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from dragoman.cli.score import add_several_runs, require_several
from dragoman.cli.shared.files import require_outputs_apart
from dragoman.cli.shared.parsing import (
    Parser,
    add_general_options,
    finite_float,
    natural,
    non_negative_float,
    positive_float,
    positive_int,
    probability,
)
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.config.schema import SearchConfig
    from dragoman.runs.opening import Run
    from dragoman.search.sampling import Sampling
    from dragoman.translation.translator import Translation, Translator
    from dragoman.translation.unknown_words import UnknownWordReplacer

    Chooser = Callable[[Sequence[Translation]], Sequence[Translation]]

SUMMARY = "translate lines of text"
DESCRIPTION = (
    "Translates raw text, a line in, a line out, in order; a blank line stays blank. Standard input to standard\n"
    "output by default; files may be .gz, .xz or .zst. What is not said about the search is as the run has it.\n"
    "Several runs with one target vocabulary choose each word together; what is said of the run is then the first's."
)
EXAMPLES = (
    "dragoman translate RUN < new.de > new.en",
    "dragoman translate RUN -i new.de -o new.en --beam 10 --alignments new.align",
    "dragoman translate RUN -i new.de --nbest 5 --beam 5 --format nbest > new.nbest",
    "dragoman translate RUN -i new.de --sample --temperature 0.8 --seed 7",
    "dragoman translate RUN1 RUN2 RUN3 -i new.de --combine log-probabilities",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary --unk-log new.unk",
)

log = logging.getLogger(__name__)

Item = TypeVar("Item")


def add_options(parser: Parser) -> None:
    """Declare the options of `translate`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or one that was exported; or several")
    add_several_runs(parser)
    _add_files(parser)
    _add_search(parser)
    _add_constraints(parser)
    _add_unknown_words(parser)
    _add_sampling(parser)
    add_general_options(parser)


def _add_files(parser: Parser) -> None:
    group = parser.add_argument_group("input and output")
    group.add_argument("-i", "--input", default="-", metavar="FILE", help="lines to translate")
    group.add_argument("-o", "--output", default="-", metavar="FILE", help="where translations go")
    group.add_argument(
        "--format",
        choices=("text", "jsonl", "nbest"),
        default="text",
        help="text: the translation; jsonl: everything, an object a line; nbest: Moses n-best lists",
    )
    group.add_argument(
        "--batch",
        type=positive_int,
        metavar="N",
        help="lines read ahead, sorted by length and answered together; 1 answers each at once (default: 2000)",
    )
    group.add_argument("--alignments", metavar="FILE", help="write word alignments of the raw lines, Pharaoh format")
    group.add_argument(
        "--attention", metavar="FILE.npz", help="write alignment weights: an array for each line, named by its number"
    )


def _add_search(parser: Parser) -> None:
    group = parser.add_argument_group("search (default: as the run's configuration has it)")
    group.add_argument("--beam", type=positive_int, metavar="K", help="hypotheses kept; 1 is greedy")
    group.add_argument("--nbest", type=positive_int, default=1, metavar="N", help="translations for each line")
    group.add_argument("--normalisation", choices=("none", "mean", "gnmt", "power"), help="of scores by length")
    group.add_argument("--alpha", type=non_negative_float, metavar="A", help="exponent of the length for gnmt, power")
    group.add_argument(
        "--word-penalty", type=finite_float, metavar="W", help="off the score for each segment; below 0 a reward"
    )
    group.add_argument(
        "--coverage-penalty", type=non_negative_float, metavar="B", help="weight of the coverage penalty"
    )
    group.add_argument("--finish", choices=("refill", "shrink"), help="what becomes of a finished hypothesis's place")
    group.add_argument(
        "--max-length-factor", type=positive_float, metavar="F", help="longest output over source length"
    )
    group.add_argument("--max-length-extra", type=natural, metavar="N", help="segments added to that")
    group.add_argument(
        "--min-length-factor", type=non_negative_float, metavar="F", help="shortest output over source length"
    )
    group.add_argument(
        "--no-shortlist", action="store_true", help="any word may follow, though the exported folder has a shortlist"
    )
    group.add_argument("--block-unknown", action="store_true", default=None, help="never produce the unknown word")
    group.add_argument(
        "--no-repeat-ngram", type=natural, metavar="N", help="no N segments in a row come twice; 0: they may"
    )
    group.add_argument(
        "--diversity", type=non_negative_float, metavar="G", help="handicap of a candidate for each better sibling"
    )
    group.add_argument(
        "--mbr", choices=("chrf", "bleu"), help="of --nbest N put first what agrees most with all, by this metric"
    )


def _add_constraints(parser: Parser) -> None:
    group = parser.add_argument_group("what translations hold")
    group.add_argument("--ban", action="append", default=[], metavar="WORDS", help="never write these; may come again")
    group.add_argument("--ban-file", metavar="FILE", help="never write these, a word or phrase a line")
    group.add_argument("--prefix", metavar="FILE", help="what each translation begins with, a line for each input line")
    group.add_argument(
        "--constraints",
        metavar="FILE",
        help="words or phrases that must appear, a line for each input line: divided by tabs, or in FILE.jsonl a list",
    )


def _add_unknown_words(parser: Parser) -> None:
    group = parser.add_argument_group("unknown words")
    group.add_argument(
        "--replace-unk", action="store_true", help="put a translation or a copy of the aligned source word instead"
    )
    group.add_argument("--dictionary", metavar="FILE", help="source word, target word and perhaps a count, with tabs")
    group.add_argument(
        "--unk-rule",
        choices=("copy", "dictionary", "lowercase-dictionary"),
        help="the last copies what begins with a capital (default: dictionary, which copies what it lacks)",
    )
    group.add_argument("--unk-log", metavar="FILE", help="line, segment, source word, replacement and how, with tabs")


def _add_sampling(parser: Parser) -> None:
    group = parser.add_argument_group("sampling")
    group.add_argument("--sample", action="store_true", help="draw translations from the model instead of searching")
    group.add_argument("--temperature", type=positive_float, metavar="T", help="below 1 sharper (default: 1)")
    group.add_argument("--top-k", type=positive_int, metavar="K", help="draw among the K most probable (default: all)")
    group.add_argument(
        "--top-p", type=probability, metavar="P", help="draw among those that together have P (default: 1)"
    )
    group.add_argument("--distinct", action="store_true", help="draw no translation of a line twice")
    group.add_argument("--seed", type=natural, metavar="N", help="the same seed draws the same (default: 1)")


def run(options: argparse.Namespace) -> None:
    """Translate the input as a stream."""
    _require_sense(options)

    from dragoman.cli.shared.constraints import read_constraints
    from dragoman.cli.shared.outputs import Outputs
    from dragoman.runs.opening import open_run
    from dragoman.text.lines import read_lines

    shortlist = len(options.runs) == 1 and not options.no_shortlist  # words that one lists another may not
    runs = [
        open_run(name, device=options.device, threads=options.threads, shortlist=shortlist) for name in options.runs
    ]
    translator = _translator(options, runs)
    choose = _chooser(options)
    constraints = read_constraints(options.prefix, options.constraints)
    constraints = None if constraints is None else _begun(constraints)
    lines = _begun(read_lines(options.input))
    count = unfinished = 0
    with Outputs(options) as outputs:
        given = outputs.flushed_before(lines)
        found = translator.translate_lines(given, options.nbest, constraints=constraints, read_ahead=options.batch)
        for number, n_best in enumerate(map(choose, found)):
            outputs.write(number, n_best)
            count, unfinished = count + 1, unfinished + (not n_best[0].finished)
    if unfinished:
        log.warning(
            "%d of %d translations (%.1f %%) did not end within the longest length and were cut off there; "
            "--max-length-factor and --max-length-extra allow for more",
            unfinished,
            count,
            100 * unfinished / count,
        )


def _translator(options: argparse.Namespace, runs: Sequence[Run]) -> Translator:
    """One run's, or that of all of them together."""
    from dragoman.cli.shared.constraints import banned_words
    from dragoman.translation.ensemble import Ensemble, require_same_target
    from dragoman.translation.translator import Translator

    first = runs[0]
    search = _search(options, first.config.search)
    if all(run.config.model.decoder.context != "attended" for run in runs):
        for name in ("alignments", "attention", "replace_unk", "coverage_penalty"):
            if getattr(options, name):
                raise ConfigError(
                    f"--{name.replace('_', '-')}: the model of {options.runs[0]} has no attention, so there is nothing "
                    + ("to write" if name in ("alignments", "attention") else "to go by")
                )
    sampling, banned, unknown = _sampling(options), banned_words(options.ban, options.ban_file), _unknown(options)
    if len(runs) == 1:
        return Translator(first.engine, first.source, first.target, search, sampling, banned=banned, unknown=unknown)
    require_same_target(options.runs, [run.target.vocabulary for run in runs])
    members = [(run.engine, run.source) for run in runs]
    ensemble = Ensemble(members, options.combine or "probabilities", options.weights)
    return Translator.of_ensemble(ensemble, first.target, search, sampling, banned=banned, unknown=unknown)


def _chooser(options: argparse.Namespace) -> Chooser:
    """What puts the translations of a line in order: as they come, or by expected utility."""
    if options.mbr is None:
        return lambda translations: translations
    from dragoman.evaluation.minimum_risk import by_expected_utility, sentence_utility

    utility, alike = sentence_utility(options.mbr), options.sample and not options.distinct

    def choose(translations: Sequence[Translation]) -> Sequence[Translation]:
        best = max(translation.log_probability for translation in translations)
        weights = [1.0 if alike else math.exp(each.log_probability - best) for each in translations]
        order = by_expected_utility([translation.text for translation in translations], weights, utility)
        return [translations[place] for place in order]

    return choose


def _unknown(options: argparse.Namespace) -> UnknownWordReplacer | None:
    if not options.replace_unk:
        return None
    from dragoman.alignment.dictionary import read_dictionary
    from dragoman.translation.unknown_words import UnknownWordReplacer

    dictionary = {} if options.dictionary is None else read_dictionary(options.dictionary)
    return UnknownWordReplacer(options.unk_rule or "dictionary", dictionary)


def _require_sense(options: argparse.Namespace) -> None:
    """Refuse options that would be without effect, and outputs that would destroy the input."""
    drawing = [name for name in ("temperature", "top_k", "top_p", "seed") if getattr(options, name) is not None]
    drawing += ["distinct"] * options.distinct
    if drawing and not options.sample:
        raise ConfigError(f"--{drawing[0].replace('_', '-')} is about sampling; add --sample")
    if options.sample and options.beam is not None:
        raise ConfigError("--beam is about searching, --sample draws instead; leave one of them out")
    if options.sample and options.constraints is not None:
        raise ConfigError("--constraints are for searching, --sample draws instead; leave one of them out")
    replacing = [name for name in ("dictionary", "unk_rule", "unk_log") if getattr(options, name) is not None]
    if replacing and not options.replace_unk:
        raise ConfigError(f"--{replacing[0].replace('_', '-')} is about unknown words; add --replace-unk")
    if options.replace_unk and options.dictionary is None and options.unk_rule not in (None, "copy"):
        raise ConfigError(f"--unk-rule {options.unk_rule}: looks words up; give --dictionary FILE")
    require_several(options, options.runs)
    if options.mbr is not None and options.nbest == 1:
        raise ConfigError("--mbr chooses among several translations; add --nbest N")
    if options.nbest > 1 and options.format == "text" and options.mbr is None:
        raise ConfigError(
            f"--nbest {options.nbest}: plain text has one translation a line; add --format nbest or --format jsonl"
        )
    given = (options.input, options.prefix, options.constraints, options.dictionary, options.ban_file)
    inputs = [name for name in given if name is not None]
    if inputs.count("-") > 1:
        raise ConfigError("standard input is read twice; give a file for all but one of the inputs")
    require_outputs_apart((options.output, options.alignments, options.attention, options.unk_log), inputs)


def _search(options: argparse.Namespace, config: SearchConfig) -> SearchConfig:
    """The run's settings with those of the command line over them."""
    names = (
        *(
            "beam",
            "normalisation",
            "alpha",
            "word_penalty",
            "coverage_penalty",
            "finish",
            "max_length_factor",
            "max_length_extra",
        ),
        *("min_length_factor", "block_unknown", "no_repeat_ngram", "diversity"),
    )
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    search = config.replaced(**given)
    if options.alpha is not None and search.normalisation not in ("gnmt", "power"):
        raise ConfigError("--alpha: is the exponent of --normalisation gnmt or power, and has no meaning without them")
    return search


def _sampling(options: argparse.Namespace) -> Sampling | None:
    if not options.sample:
        return None
    from dragoman.search.sampling import Sampling

    names = ("temperature", "top_k", "top_p", "seed", "distinct")
    return Sampling(**{name: getattr(options, name) for name in names if getattr(options, name) is not None})


def _begun(stream: Iterator[Item]) -> Iterator[Item]:
    """The same items, the first one already read: a missing input is found before any output is touched."""
    first = list(islice(stream, 1))
    return chain(first, stream)
