"""`dragoman evaluate`: scores of the translations of a test set."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import COMPRESSION_HELP, add_general_options, add_run
from dragoman.cli.shared.parsing import Parser, language, output_file, output_folder, positive_int
from dragoman.cli.shared.search_options import add_search_options, given_search_options, override_search
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.evaluation.significance import Comparisons
    from dragoman.progress import Console
    from dragoman.runs.opening import Run
    from dragoman.text.corpus import Pair
    from dragoman.workflows.evaluation import MeasureOptions
    from dragoman.workflows.reports import EvaluatedSystem

SUMMARY = "evaluate a run or given translations on a test set"
DESCRIPTION = (
    "Translates a test set and scores the translations against the references: BLEU, tokenised BLEU,\n"
    "chrF, TER and exact match with their signatures, scores on slices of the test set, and the\n"
    "perplexity of the references. With --hyp it scores given translations instead; RUN may then be\n"
    "left out, and there is no perplexity without it. Search options default to the run's\n"
    "configuration."
)
EXAMPLES = (
    "dragoman evaluate RUN test.de test.en",
    "dragoman evaluate RUN test.de test.en --beam 1 --json > scores.json",
    "dragoman evaluate RUN test.tsv --report report --output test.hyp",
    "dragoman evaluate RUN test.de test.en.0 test.en.1 test.en.2",
    "dragoman evaluate RUN test.de test.en --against RUN2 --report report",
    "dragoman evaluate test.de test.en --hyp one.hyp --against other.hyp --by reference-groups --by rarity",
)

TOKENIZERS = ("13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab")
"""The tokenizers of BLEU, as `--tokenizer` names them."""

_SLICES = (
    "source-length",
    "reference-length",
    "source-groups",
    "reference-groups",
    "source-window",
    "reference-window",
    "rarity",
)


def tokenizer(text: str) -> str:
    """Parse the name of a tokenizer of BLEU."""
    if text in TOKENIZERS:
        return text
    if text.startswith(("flores", "spm", "spBLEU")):
        raise argparse.ArgumentTypeError(
            f"{text} downloads a model when it is first used, and nothing is downloaded here; choose one of "
            f"{', '.join(TOKENIZERS)}, or segment both files and use none"
        )
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(TOKENIZERS)}")


def add_options(parser: Parser) -> None:
    """Declare the options of `evaluate`."""
    add_run(parser)
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help='SRC REF [REF2 ...], or one .tsv file (source and references in columns) or .jsonl file ("source", '
        f'"target", a string or a list); {COMPRESSION_HELP}',
    )
    parser.add_argument("--hyp", metavar="FILE", help="score these translations, one line per pair")
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="RUN2|FILE",
        help="test the significance of the difference to another run or a file of translations; may be repeated",
    )
    parser.add_argument(
        "--tokenizer",
        type=tokenizer,
        metavar="T",
        help=f"sacreBLEU tokenizer for BLEU: {', '.join(TOKENIZERS)}; none is for tokenised text (default: that of "
        "the run's validations, which fits its target language; without a run the one that fits --language)",
    )
    parser.add_argument(
        "--language",
        metavar="LANG",
        type=language,
        help="language of the references, such as ja (default: target language of the run, else that of the file name)",
    )
    parser.add_argument(
        "--error-rates",
        choices=("phones", "characters"),
        help="also the error rates of single words: WER, and PER of phones (symbols between spaces) or CER of "
        "characters (default: as fits a run that reads letters or characters)",
    )
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="write the translations to this file")
    parser.add_argument(
        "--report",
        type=output_folder,
        metavar="DIR",
        help="write scores and translations as a web page, DIR/report.html",
    )
    parts = parser.add_argument_group("slices of the test set")
    parts.add_argument(
        "--by",
        action="append",
        choices=_SLICES,
        metavar="SLICING",
        help="score slices by length (fixed bins, groups of equal size, or windows of 10 lengths) or by the rarity of "
        f"source words: {', '.join(_SLICES)}; may be repeated (default: source-length)",
    )
    parts.add_argument("--group", type=positive_int, default=200, metavar="N", help="sentences per group")
    parts.add_argument(
        "--frequencies",
        metavar="FILE",
        help="source words for --by rarity, most frequent first or with counts (default: the vocabulary of the run)",
    )
    parts.add_argument(
        "--without-unknown",
        action="store_true",
        help="also score the pairs without unknown words, translated with the unknown word blocked",
    )
    add_search_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate, measure, compare, print."""
    require_sense(options)

    from dragoman.evaluation.slices import read_ranks
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run
    from dragoman.text.corpus import read_test_set
    from dragoman.text.lines import write_lines
    from dragoman.workflows.evaluation import MeasureOptions, settle
    from dragoman.workflows.reports import write_evaluation_report
    from dragoman.workflows.unexpected_text import checked_pairs

    console = Console(quiet=options.quiet)
    measuring = MeasureOptions(
        slices=tuple(dict.fromkeys(options.by or ("source-length",))),
        group=options.group,
        ranks=None if options.frequencies is None else read_ranks(options.frequencies),
        without_unknown=options.without_unknown,
        tokenizer=options.tokenizer,
        language=options.language,
        symbols=options.error_rates,
    )
    # With --hyp the first name may be that of a file: there is no RUN then.
    no_run = options.hyp is not None and not os.path.isdir(options.run)
    files = [Path(options.run), *options.files] if no_run else options.files
    if not files:
        raise ConfigError(f"evaluate {options.run}: give a test set, the source and its references")
    pairs = list(read_test_set(files))
    opened = None if no_run else open_run(options.run, device=options.device, threads=options.threads)
    measuring, lines = settle(measuring, opened, [] if len(files) == 1 else files[1:])
    for line in lines:
        console.info(line)
    if opened is not None:
        pairs = list(checked_pairs(pairs, files, options.run, opened))
    system = _measure(options, pairs, opened, measuring, console)
    if options.output is not None:
        write_lines(options.output, system.hypotheses)
    others = [_measure_other(name, options, pairs, measuring, console) for name in options.against]
    comparisons = _compare(system, others, pairs, measuring)
    _print(options, system.evaluation, comparisons)
    if options.report is not None:
        path = write_evaluation_report(options.report, pairs, [system, *others], comparisons)
        console.info(f"report: {path}")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    if options.hyp is not None:
        for name in (*given_search_options(options), "output", "without_unknown"):
            if getattr(options, name):
                raise ConfigError(f"--{name.replace('_', '-')} has no effect with --hyp; leave one of them out")
    if options.frequencies is not None and "rarity" not in (options.by or ()):
        raise ConfigError("--frequencies requires --by rarity")
    for name in options.against:
        if options.against.count(name) > 1:
            raise ConfigError(f"--against {name} is given {options.against.count(name)} times; once is enough")


def _measure(
    options: argparse.Namespace, pairs: Sequence[Pair], opened: Run | None, measuring: MeasureOptions, console: Console
) -> EvaluatedSystem:
    """The translations to evaluate: given ones, or those of the run."""
    from dragoman.text.lines import read_lines
    from dragoman.workflows.evaluation import measure, measure_given
    from dragoman.workflows.reports import EvaluatedSystem, evaluated_run

    if options.hyp is not None:
        hypotheses = list(read_lines(options.hyp))
        return EvaluatedSystem(options.hyp, hypotheses, measure_given(hypotheses, pairs, opened, measuring), opened)
    assert opened is not None
    quality = measure(
        opened, pairs, search=override_search(opened.config.search, options), options=measuring, console=console
    )
    return evaluated_run(opened, quality)


def _measure_other(
    name: str, options: argparse.Namespace, pairs: Sequence[Pair], measuring: MeasureOptions, console: Console
) -> EvaluatedSystem:
    """The translations to compare with: those of a run, or the lines of a file."""
    from dragoman.evaluation.tokenised_text import warn_of_tokenised_text
    from dragoman.runs.opening import open_run
    from dragoman.text.lines import read_lines
    from dragoman.workflows.evaluation import measure_given, tokenizer_for, translate
    from dragoman.workflows.reports import EvaluatedSystem

    if measuring.ranks is None:  # the ranks of one run's vocabulary are not another's
        measuring = replace(measuring, slices=[by for by in measuring.slices if by != "rarity"])
    if not os.path.isdir(name):
        hypotheses = list(read_lines(name))
        evaluation = measure_given(hypotheses, pairs, None, measuring, warn=False)
        warn_of_tokenised_text(hypotheses, [pair.target for pair in pairs], tokenizer_for(measuring), name)
        return EvaluatedSystem(name, hypotheses, evaluation)
    other = open_run(name, device=options.device, threads=options.threads)
    search = override_search(other.config.search, options)
    found = translate(other, [pair.source for pair in pairs], search, console)
    hypotheses = [translation.text for translation in found]
    return EvaluatedSystem(
        name, hypotheses, measure_given(hypotheses, pairs, None, measuring, warn=False), other, found
    )


def _compare(
    system: EvaluatedSystem, others: Sequence[EvaluatedSystem], pairs: Sequence[Pair], measuring: MeasureOptions
) -> list[Comparisons]:
    from dragoman.evaluation.evaluate import corpus_metrics
    from dragoman.evaluation.significance import compare
    from dragoman.workflows.evaluation import bleu_preparation, tokenizer_for

    references = [pair.references for pair in pairs]
    return [
        compare(
            system.hypotheses,
            other.hypotheses,
            references,
            corpus_metrics(tokenizer_for(measuring), bleu_preparation(measuring)),
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
