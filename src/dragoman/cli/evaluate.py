"""`dragoman evaluate`: how good the translations of a test set are."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.score import add_pair_options
from dragoman.cli.shared.parsing import Parser, add_general_options, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.evaluation.significance import Comparisons
    from dragoman.progress import Console
    from dragoman.runs.opening import Run
    from dragoman.text.corpus import Pair
    from dragoman.workflows.evaluation import MeasureOptions
    from dragoman.workflows.reports import EvaluatedSystem

SUMMARY = "measure a run on a test set"
DESCRIPTION = (
    "Translates a test set and measures the translations against the references: BLEU, tokenised BLEU, chrF, TER,\n"
    "exact match, with the signatures that let others repeat them; also by parts of the test set; and the perplexity\n"
    "of the references. With --hyp it measures given translations; without RUN there is then no perplexity."
)
EXAMPLES = (
    "dragoman evaluate RUN test.de test.en",
    "dragoman evaluate RUN test.de test.en --beam 1 --json > figures.json",
    "dragoman evaluate RUN test.tsv --report figures --output test.hyp",
    "dragoman evaluate RUN test.de test.en --against RUN2 --report figures",
    "dragoman evaluate test.de test.en --hyp one.hyp --against other.hyp --by reference-groups --by rarity",
)

_SLICES = (
    "source-length",
    "reference-length",
    "source-groups",
    "reference-groups",
    "source-window",
    "reference-window",
    "rarity",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `evaluate`."""
    add_pair_options(parser)
    parser.add_argument("--beam", type=positive_int, metavar="K", help="hypotheses kept (default: the run's)")
    parser.add_argument("--hyp", metavar="FILE", help="measure these translations, a line for each pair")
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="RUN2|FILE",
        help="test whether the difference to another run, or to a file of translations, is due to chance; may be "
        "repeated",
    )
    parser.add_argument(
        "--tokenizer",
        choices=("13a", "none", "intl", "char", "zh"),
        default="13a",
        help="what BLEU takes for words: zh or char for text without blanks, none for text that is tokenised",
    )
    parser.add_argument(
        "--language",
        metavar="LANG",
        help="of the references, for tokenised BLEU (default: the run's, or en without a run)",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the translations")
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write figures and translations as a page, DIR/report.html"
    )
    parts = parser.add_argument_group("parts of the test set")
    parts.add_argument(
        "--by",
        action="append",
        choices=_SLICES,
        help="divide by length in fixed bins, in groups of equal size, or in overlapping windows of 10 lengths; or by "
        "how rare the words of the source are; may be repeated (default: source-length)",
    )
    parts.add_argument("--group", type=positive_int, default=200, metavar="N", help="sentences of a group")
    parts.add_argument(
        "--frequencies",
        metavar="FILE",
        help="words of the source, the most frequent first, or with their counts (default: the run's vocabulary)",
    )
    parts.add_argument(
        "--without-unknown",
        action="store_true",
        help="also the pairs without unknown words, translated without producing one",
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate, measure, compare, print."""
    _require_sense(options)

    from dragoman.evaluation.slices import read_ranks
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import write_lines
    from dragoman.workflows.evaluation import MeasureOptions
    from dragoman.workflows.reports import write_evaluation_report

    console = Console(quiet=options.quiet)
    measuring = MeasureOptions(
        slices=tuple(dict.fromkeys(options.by or ("source-length",))),
        group=options.group,
        ranks=None if options.frequencies is None else read_ranks(options.frequencies),
        without_unknown=options.without_unknown,
        tokenizer=options.tokenizer,
        language=options.language,
    )
    # With given translations and two names, RUN SRC are really SRC REF, unless the first is a folder.
    no_run = options.hyp is not None and len(options.files) == 1 and not os.path.isdir(options.run)
    pairs = list(read_pairs([[Path(options.run), *options.files] if no_run else options.files]))
    opened = None if no_run else open_run(options.run, device=options.device, threads=options.threads)
    system = _measure(options, pairs, opened, measuring, console)
    if options.output is not None:
        write_lines(options.output, system.hypotheses)
    if measuring.language is None and opened is not None:
        measuring = replace(measuring, language=opened.config.text.target.language)
    others = [_measure_other(name, options, pairs, measuring, console) for name in options.against]
    comparisons = _compare(system, others, pairs, measuring)
    _print(options, system.evaluation, comparisons)
    if options.report is not None:
        path = write_evaluation_report(options.report, pairs, [system, *others], comparisons)
        console.info(f"report: {path}")


def _require_sense(options: argparse.Namespace) -> None:
    """Refuse options that would be without effect."""
    if options.hyp is not None:
        for name in ("beam", "output", "without_unknown"):
            if getattr(options, name):
                raise ConfigError(
                    f"--{name.replace('_', '-')} is about the run's own translations, and --hyp gives others; "
                    "leave one of them out"
                )
    if options.frequencies is not None and "rarity" not in (options.by or ()):
        raise ConfigError("--frequencies is about --by rarity, and has no meaning without it")
    for name in options.against:
        if options.against.count(name) > 1:
            raise ConfigError(f"--against {name} is given {options.against.count(name)} times; once is enough")


def _measure(
    options: argparse.Namespace, pairs: Sequence[Pair], opened: Run | None, measuring: MeasureOptions, console: Console
) -> EvaluatedSystem:
    """The translations that all this is about: given ones, or the run's own."""
    from dragoman.text.lines import read_lines
    from dragoman.workflows.evaluation import measure, measure_given
    from dragoman.workflows.reports import EvaluatedSystem, evaluated_run

    if options.hyp is not None:
        hypotheses = list(read_lines(options.hyp))
        return EvaluatedSystem(options.hyp, hypotheses, measure_given(hypotheses, pairs, opened, measuring), opened)
    assert opened is not None
    quality = measure(opened, pairs, beam=options.beam, options=measuring, console=console)
    return evaluated_run(opened, quality)


def _measure_other(
    name: str, options: argparse.Namespace, pairs: Sequence[Pair], measuring: MeasureOptions, console: Console
) -> EvaluatedSystem:
    """The translations to compare with: those of a run, or the lines of a file."""
    from dragoman.runs.opening import open_run
    from dragoman.text.lines import read_lines
    from dragoman.workflows.evaluation import measure_given, translate
    from dragoman.workflows.reports import EvaluatedSystem

    if measuring.ranks is None:  # the ranks of one run's vocabulary are not another's
        measuring = replace(measuring, slices=[by for by in measuring.slices if by != "rarity"])
    if not os.path.isdir(name):
        hypotheses = list(read_lines(name))
        return EvaluatedSystem(name, hypotheses, measure_given(hypotheses, pairs, None, measuring))
    other = open_run(name, device=options.device, threads=options.threads)
    search = other.config.search
    if options.beam is not None:
        search = search.replaced(beam=options.beam)
    found = translate(other, [pair.source for pair in pairs], search, console)
    hypotheses = [translation.text for translation in found]
    return EvaluatedSystem(name, hypotheses, measure_given(hypotheses, pairs, None, measuring), other, found)


def _compare(
    system: EvaluatedSystem, others: Sequence[EvaluatedSystem], pairs: Sequence[Pair], measuring: MeasureOptions
) -> list[Comparisons]:
    from dragoman.evaluation.evaluate import corpus_metrics
    from dragoman.evaluation.significance import compare
    from dragoman.workflows.evaluation import bleu_preparation

    references = [pair.target for pair in pairs]
    return [
        compare(
            system.hypotheses,
            other.hypotheses,
            references,
            corpus_metrics(measuring.tokenizer, bleu_preparation(measuring)),
            other.name,
        )
        for other in others
    ]


def _print(options: argparse.Namespace, evaluation: Evaluation, comparisons: Sequence[Comparisons]) -> None:
    from dragoman.tables import columns

    if options.json:
        found = [comparison.to_json() for comparison in comparisons]
        print(json.dumps({**evaluation.to_json(), **({"comparisons": found} if found else {})}, indent=2))
    else:
        print("\n\n".join([evaluation.table(), *(columns(comparison.rows()) for comparison in comparisons)]))
