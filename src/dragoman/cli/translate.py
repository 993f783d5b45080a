"""`dragoman translate`: lines in, translations out."""

from __future__ import annotations

import argparse
import logging
import math
from typing import TYPE_CHECKING, TypedDict, cast

from dragoman.cli.shared.options import (
    add_ensemble_options,
    add_general_options,
    add_input,
    add_output,
    add_runs,
)
from dragoman.cli.shared.parsing import Parser, output_file, positive_int
from dragoman.cli.shared.runs import make_translator, open_several, require_several_runs
from dragoman.cli.shared.search_options import add_sampling_options, add_search_options, spelt
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Container
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dragoman.runs.opening import Run
    from dragoman.translation.options import TranslationOptions
    from dragoman.translation.result import Translation
    from dragoman.translation.translator import Translator

    Chooser = Callable[[Sequence[Translation]], Sequence[Translation]]

SUMMARY = "translate text"
DESCRIPTION = (
    "Translates raw text line by line: every input line gives one output line, an empty line an empty\n"
    "one. Reads standard input and writes standard output by default; files may be compressed (.gz,\n"
    ".xz, .zst). At a terminal, and wherever a pipe pauses, the lines so far are answered at once.\n"
    "Search options default to the run's configuration. Several runs with the same target vocabulary\n"
    "form an ensemble; defaults then come from the first run."
)
EXAMPLES = (
    "dragoman translate RUN < new.de > new.en",
    "dragoman translate RUN",
    "dragoman translate RUN -i new.de -o new.en --beam 10 --alignments new.align",
    "dragoman translate RUN --paragraphs < letter.de > letter.en",
    "dragoman translate RUN -i new.de --nbest 5 --beam 5 --format nbest > new.nbest",
    "dragoman translate RUN -i new.de --sample --temperature 0.8 --seed 7",
    "dragoman translate RUN1 RUN2 RUN3 -i new.de --combine log-probabilities",
    "dragoman translate RUN -i new.de --glossary terms.tsv",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary --unk-log new.unk",
)

log = logging.getLogger(__name__)


def add_options(parser: Parser) -> None:
    """Declare the options of `translate`."""
    add_runs(parser)
    _add_files(parser)
    search = add_search_options(parser)
    add_no_shortlist(search)
    search.add_argument(
        "--mbr",
        choices=("chrf", "bleu"),
        help="minimum Bayes risk: rank the --nbest translations by expected score under this metric",
    )
    _add_constraints(parser)
    add_sampling_options(parser)
    _add_unknown_words(parser)
    add_ensemble_options(parser)
    add_general_options(parser)


def add_no_shortlist(container: Container) -> None:
    """Declare `--no-shortlist`."""
    container.add_argument(
        "--no-shortlist", action="store_true", help="ignore the shortlist of an exported folder: full vocabulary"
    )


def add_ban(container: Container) -> None:
    """Declare `--ban WORDS`."""
    container.add_argument(
        "--ban", action="append", default=[], metavar="WORDS", help="never produce this word or phrase; may be repeated"
    )


def _add_files(parser: Parser) -> None:
    group = parser.add_argument_group("input and output")
    add_input(group)
    add_output(group, "the translations")
    group.add_argument(
        "--format",
        choices=("text", "jsonl", "nbest"),
        default="text",
        help="text: translations only; jsonl: one JSON object per line with scores, tokens, alignment and attention; "
        "nbest: Moses n-best list",
    )
    group.add_argument("--nbest", type=positive_int, default=1, metavar="N", help="translations per sentence")
    group.add_argument(
        "--paragraphs",
        action="store_true",
        help="lines hold several sentences: translate each alone and join them again; spaces and lines without words "
        "stay as they are",
    )
    group.add_argument(
        "--chunk-size",
        type=positive_int,
        metavar="N",
        help="lines read at once, sorted by length and then batched; fewer where the input pauses (default: 2000)",
    )
    group.add_argument(
        "--alignments",
        type=output_file,
        metavar="FILE",
        help="write the word alignments of the raw lines to this file, Pharaoh format",
    )
    group.add_argument(
        "--attention",
        type=output_file,
        metavar="FILE.npz",
        help="write the alignment weights to this file: one array per line, named by the line number from 0",
    )


def _add_constraints(parser: Parser) -> None:
    group = parser.add_argument_group("lexical constraints")
    add_ban(group)
    group.add_argument("--ban-file", metavar="FILE", help="never produce these words or phrases, one per line")
    group.add_argument(
        "--prefix", metavar="FILE", help="target prefixes that translations start with, one line per input line"
    )
    group.add_argument(
        "--constraints",
        metavar="FILE",
        help="words or phrases that the translation must contain, one line per input line: separated by tabs, or a "
        "JSON list in FILE.jsonl",
    )
    group.add_argument(
        "--glossary",
        metavar="FILE.tsv",
        help="source terms and translations, separated by tabs: where a line has the term, also inflected, its "
        "translation must contain the other",
    )


def _add_unknown_words(parser: Parser) -> None:
    group = parser.add_argument_group("unknown word replacement")
    group.add_argument(
        "--replace-unk",
        action="store_true",
        help="replace unknown words by the dictionary translation or a copy of the aligned source word",
    )
    group.add_argument(
        "--dictionary", metavar="FILE", help="bilingual dictionary: source word, target word, optional count, by tabs"
    )
    group.add_argument(
        "--unk-rule",
        choices=("copy", "dictionary", "lowercase-dictionary"),
        help="copy: copy the source word; dictionary: look it up, else copy; lowercase-dictionary: the same, but copy "
        "capitalised words (default: dictionary)",
    )
    group.add_argument(
        "--unk-log",
        type=output_file,
        metavar="FILE",
        help="list the replacements: line, segment, source word, replacement and method, separated by tabs",
    )


def run(options: argparse.Namespace) -> None:
    """Translate the input as a stream."""
    require_sense(options)
    if options.paragraphs:  # it needs an extra: imported before a model or an output is opened
        import dragoman.translation.paragraphs  # noqa: F401

    from dragoman.workflows.constraint_files import read_constraints
    from dragoman.workflows.input_lines import InputLines, with_first_read
    from dragoman.workflows.translation_outputs import Outputs
    from dragoman.workflows.unexpected_text import checked_lines

    models = open_several(options.runs, options, shortlist=not options.no_shortlist)
    translator = make_translator(models, options).with_options(**_options_besides_search(options))
    choose = _chooser(options, models.first)
    constraints = read_constraints(options.prefix, options.constraints)
    constraints = None if constraints is None else with_first_read(constraints)
    count = unfinished = 0
    with InputLines(options.input, "translate", quiet=options.quiet) as lines, Outputs(options) as outputs:
        stream = checked_lines(outputs.flushed_before(lines), options.input, options.runs[0], models.first)
        reading = _Reading(read_ahead=options.chunk_size, paused=lines.paused)
        if options.paragraphs:
            for text, sentences, truncated in _paragraphs(translator, stream, models.first, reading):
                outputs.write_text(text)
                count, unfinished = count + sentences, unfinished + truncated
        else:
            found = translator.translate_lines(stream, options.nbest, constraints=constraints, **reading)
            for number, n_best in enumerate(map(choose, found)):
                outputs.write(number, n_best)
                count, unfinished = count + 1, unfinished + (not n_best[0].finished)
    if unfinished:
        log.warning(
            "%d of %d translations (%.1f %%) were truncated at the maximum length; raise --max-length-factor or "
            "--max-length-extra",
            unfinished,
            count,
            100 * unfinished / count,
        )


class _Reading(TypedDict):
    """How lines are read ahead, as `Translator.translate_lines` takes it."""

    read_ahead: int | None
    paused: Callable[[], bool] | None


def _paragraphs(
    translator: Translator, lines: Iterable[str], run: Run, reading: _Reading
) -> Iterator[tuple[str, int, int]]:
    from dragoman.translation.paragraphs import translate_paragraphs

    return translate_paragraphs(translator, lines, run.config.text.source.language, **reading)


def _options_besides_search(options: argparse.Namespace) -> TranslationOptions:
    """The options of sampling, banned and unknown words that the command line gives, as a translator takes them."""
    from dragoman.config.sampling import Sampling
    from dragoman.config.section import keys_of
    from dragoman.workflows.constraint_files import banned_words

    names = (*keys_of(Sampling), "sample", "glossary", "replace_unk", "dictionary", "unk_rule")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return cast("TranslationOptions", {**given, "ban": banned_words(options.ban, options.ban_file)})


def _chooser(options: argparse.Namespace, run: Run) -> Chooser:
    """The order of the translations of a line: by score, or by expected utility."""
    if options.mbr is None:
        return lambda translations: translations
    from dragoman.evaluation.minimum_risk import by_expected_utility, sentence_utility
    from dragoman.evaluation.spacing import warn_of_lines_without_spaces
    from dragoman.evaluation.tokenizers import WITHOUT_SPACES
    from dragoman.text.scripts import is_unsegmented
    from dragoman.workflows.evaluation import tokenizer_of

    tokenizer = tokenizer_of(run.config)
    utility, alike = sentence_utility(options.mbr, tokenizer), options.sample and not options.distinct
    told = options.mbr != "bleu" or tokenizer in WITHOUT_SPACES

    def choose(translations: Sequence[Translation]) -> Sequence[Translation]:
        nonlocal told
        if not told and is_unsegmented(translation.text for translation in translations):
            told = True
            warn_of_lines_without_spaces("translations", f"BLEU with tokenizer {tokenizer}", "use --mbr chrf")
        best = max(translation.log_probability for translation in translations)
        weights = [1.0 if alike else math.exp(each.log_probability - best) for each in translations]
        order = by_expected_utility([translation.text for translation in translations], weights, utility)
        return [translations[place] for place in order]

    return choose


def _require_plain_text(options: argparse.Namespace) -> None:
    """Refuse options that belong to single sentences together with --paragraphs."""
    if options.format != "text" or options.nbest > 1:
        raise ConfigError("--paragraphs writes one translation per line; leave --format and --nbest out")
    for name in ("alignments", "attention", "unk_log", "prefix", "constraints"):
        if getattr(options, name) is not None:
            raise ConfigError(f"{spelt(name)} is about single sentences; leave it or --paragraphs out")


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    from dragoman.translation.options import require_consistent

    given = {name: value for name, value in vars(options).items() if value is not None}
    require_consistent(given, samples=options.sample, replaces=options.replace_unk, spell=spelt)
    for name in ("constraints", "glossary"):
        if options.sample and getattr(options, name) is not None:
            raise ConfigError(f"--{name} requires beam search; leave --sample out")
    require_several_runs(options, options.runs)
    if options.paragraphs:
        _require_plain_text(options)
    if options.mbr is not None and options.nbest == 1:
        raise ConfigError("--mbr requires several translations per sentence; add --nbest N")
    if options.nbest > 1 and options.format == "text" and options.mbr is None:
        raise ConfigError(
            f"--nbest {options.nbest}: --format text has one translation per line; use --format nbest or jsonl"
        )
    files = (options.input, options.prefix, options.constraints, options.glossary, options.dictionary, options.ban_file)
    if files.count("-") > 1:
        raise ConfigError("standard input is read twice; give a file for all but one of the inputs")
