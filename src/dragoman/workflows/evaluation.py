"""Evaluates a run: translates a test set and scores the translations against its references."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.config.schema import Config, SearchConfig, SideConfig
from dragoman.corpora.pairs import Pair
from dragoman.errors import ConfigError, InputError
from dragoman.evaluation import bleu
from dragoman.evaluation.error_rates import Symbols
from dragoman.evaluation.evaluate import Evaluation, ReferencePerplexity, Slice, SliceTable, evaluate
from dragoman.evaluation.metrics import Preparation, bleu_tokens
from dragoman.evaluation.robustness import Translated, measure_robustness
from dragoman.evaluation.slices import (
    GROUP,
    Slicing,
    by_length,
    by_length_groups,
    by_length_window,
    by_rarity,
    mean_ranks,
)
from dragoman.evaluation.tokenised_text import (
    warn_of_decomposed_text,
    warn_of_lines_without_spaces,
    warn_of_tokenised_text,
)
from dragoman.evaluation.tokenizers import WITHOUT_SPACES, Tokenizer, fitting_tokenizer
from dragoman.progress import Console
from dragoman.runs.opening import Run
from dragoman.text.languages import language_of_file
from dragoman.text.raw_lines import is_blank
from dragoman.text.scripts import is_unsegmented
from dragoman.text.segmentation import DEFAULT_RULES, train_segmentation
from dragoman.text.vocabulary import SPECIALS, UNK
from dragoman.text.words import words_in
from dragoman.translation.result import Translation

log = logging.getLogger(__name__)

SLICES: Mapping[str, Callable[[Sequence[Pair], int], Slicing]] = {
    "source-length": lambda pairs, size: by_length([pair.source for pair in pairs], "source"),
    "reference-length": lambda pairs, size: by_length([pair.target for pair in pairs], "reference"),
    "source-groups": lambda pairs, size: by_length_groups([pair.source for pair in pairs], "source", size),
    "reference-groups": lambda pairs, size: by_length_groups([pair.target for pair in pairs], "reference", size),
    "source-window": lambda pairs, size: by_length_window([pair.source for pair in pairs], "source"),
    "reference-window": lambda pairs, size: by_length_window([pair.target for pair in pairs], "reference"),
}
"""Slicings of a test set by name; the second argument is the group size. `rarity` is not among them: it needs
frequencies."""


@dataclass(frozen=True)
class MeasureOptions:
    """What to compute besides the scores of the whole test set.

    >>> from dragoman.workflows.evaluation import MeasureOptions
    >>> run, pairs = dragoman.open_run("RUN"), list(dragoman.read_test_set(["test.low", "test.up"]))
    >>> measured = dragoman.measure(run, pairs, options=MeasureOptions(slices=["reference-length"]))
    >>> [table.name for table in measured.evaluation.slicings]
    ['reference length in words']
    """

    slices: Sequence[str] = ("source-length",)
    """Keys of `SLICES`, or `rarity`."""
    group: int = GROUP
    """Sentences per group."""
    ranks: Mapping[str, int] | None = None
    """Frequency ranks of source words for `rarity`; None: those of the run's source vocabulary."""
    without_unknown: bool = False
    """Also evaluate the pairs without unknown words on either side, translated with UNK blocked."""
    tokenizer: Tokenizer | None = None
    """Tokenizer of BLEU; None: the one that fits the language of the references (see `tokenizer_for`)."""
    language: str | None = None
    """ISO 639 code of the language of the references; None: the target language of the run."""
    robustness: bool = False
    """Also translate changed lines of the test set (see `measure_robustness`)."""
    robustness_lines: Sequence[str] = ()
    """Lines of another kind of text, for `robustness`."""
    symbols: Symbols | None = None
    """The symbols that words consist of, for error rates of single words; None: see `symbols_for`."""


@dataclass(frozen=True)
class RunEvaluation:
    """A test set, its translations by a run, and their evaluation.

    >>> pairs = list(dragoman.read_test_set(["test.low", "test.up"]))
    >>> measured = dragoman.measure(dragoman.open_run("RUN"), pairs)
    >>> len(measured.translations) == len(measured.references) == measured.evaluation.sentences
    True
    """

    search: SearchConfig
    """The search settings used."""
    references: Sequence[str]
    """The first reference of each pair."""
    translations: Sequence[Translation]
    """In the order of the pairs."""
    evaluation: Evaluation
    """All scores."""


def measure(
    run: Run,
    pairs: Sequence[Pair],
    *,
    search: SearchConfig | None = None,
    options: MeasureOptions | None = None,
    console: Console | None = None,
    warn: bool = True,
) -> RunEvaluation:
    """Translate the sources and score the translations; also compute the perplexity of the references.

    Args:
        run: from `open_run`.
        pairs: the test set, such as `list(read_test_set(...))`; metrics take all references of a pair.
        search: how to translate; None: the configuration of the run.
        options: what to measure besides; None: scores of the whole and by length of the source.
        console: where progress goes; None for standard error.
        warn: warn of references that are empty or unfit for BLEU, and of text that looks tokenised.

    Returns:
        the translations and their evaluation; `evaluation.score("BLEU")` is one score, `evaluation.table()` shows all.
        BLEU, chrF and TER are those of sacreBLEU, in percent; perplexity is per target token, EOS included.

    Raises:
        InputError: there are no pairs.

    >>> pairs = list(dragoman.read_test_set(["test.low", "test.up"]))
    >>> measured = dragoman.measure(dragoman.open_run("RUN"), pairs)
    >>> measured.evaluation.score("chrF") > 50
    True
    """
    _require_pairs(pairs)
    console, options = console or Console(), options or MeasureOptions()
    search = search or run.config.search
    translations = translate(run, [pair.source for pair in pairs], search, console)
    evaluation = measure_given([translation.text for translation in translations], pairs, run, options, warn=warn)
    if options.without_unknown:
        evaluation = _add_pairs_without_unknown(evaluation, run, pairs, search, options, console)
    if options.robustness:
        evaluation = replace(
            evaluation,
            robustness=measure_robustness(
                pairs,
                lambda lines: _texts(translate(run, lines, search, console)),
                tokenizer=tokenizer_for(options, run),
                known=dict(zip((pair.source for pair in pairs), _texts(translations), strict=True)),
                other=options.robustness_lines,
            ),
        )
    return RunEvaluation(search, [pair.target for pair in pairs], translations, evaluation)


def _texts(translations: Iterable[Translation]) -> list[Translated]:
    return [Translated(translation.text, translation.finished) for translation in translations]


def measure_given(
    hypotheses: Sequence[str],
    pairs: Sequence[Pair],
    run: Run | None = None,
    options: MeasureOptions | None = None,
    *,
    warn: bool = True,
) -> Evaluation:
    """Score given translations; with a run also compute its perplexity on the references.

    Metrics take all references of a pair; perplexity and slices take its target, the first one.

    Raises:
        InputError: there are no pairs, or the number of translations differs.
        ConfigError: slices by rarity are requested without frequencies and without a run.
    """
    _require_pairs(pairs)
    options = options or MeasureOptions()
    symbols = options.symbols or (None if run is None else symbols_for(run.config))
    if warn:
        warn_of_empty_references(pairs)
        warn_of_decomposed_text(hypotheses, [pair.target for pair in pairs])
    if warn and symbols is None:
        warn_of_references_unfit_for_bleu(tokenizer_for(options, run), pairs)
        warn_of_tokenised_text(hypotheses, [pair.target for pair in pairs], tokenizer_for(options, run))
    return evaluate(
        hypotheses,
        [pair.references for pair in pairs],
        slicings=[_slicing(name, pairs, run, options) for name in options.slices],
        perplexity=None if run is None else _perplexity(run, ((pair.source, pair.target) for pair in pairs)),
        tokenizer=tokenizer_for(options, run),
        tokenised=bleu_preparation(options, run),
        symbols=symbols,
    )


def translate(run: Run, sources: Sequence[str], search: SearchConfig, console: Console) -> list[Translation]:
    """Return the best translation of each line."""
    translations = []
    with console.counter("translated", total=len(sources)) as progress:
        for n_best in run.translator(search).translate_lines(sources):
            translations.append(n_best[0])
            progress(len(translations))
    return translations


def tokenizer_for(options: MeasureOptions, run: Run | None = None) -> Tokenizer:
    """Return the tokenizer of BLEU: the given one, else the one that fits the given language, else that of the run."""
    if options.tokenizer is not None:
        return options.tokenizer
    if options.language is not None or run is None:
        return fitting_tokenizer(options.language).name
    return tokenizer_of(run.config)


def symbols_for(config: Config) -> Symbols | None:
    """Return what the outputs of a run for single words are made of; None for a run that translates sentences."""
    if config.text.source.segmentation not in ("letters", "characters"):
        return None
    symbols: dict[str, Symbols] = {"letters": "characters", "characters": "characters", "whitespace": "phones"}
    return symbols.get(config.text.target.segmentation)


def settle(options: MeasureOptions, run: Run | None, references: Sequence[Path]) -> tuple[MeasureOptions, list[str]]:
    """Return the options with the language of the references and the tokenizer that fits it, and lines to print.

    The language is the given one, else the target language of the run, else the one that the files of references are
    named after.
    """
    known = run and run.config.text.target.language
    codes = {language_of_file(path) for path in references}
    named = codes.pop() if len(codes) == 1 else None
    language = options.language or known or named
    origin = "as given" if options.language else "from the run" if known else "from the file name"
    settled = replace(options, language=language)
    tokenizer = tokenizer_for(replace(settled, language=options.language) if known else settled, run)
    rules = (
        "" if language or tokenizer in WITHOUT_SPACES or tokenizer == "none" else f" and Moses rules: {DEFAULT_RULES}"
    )
    line = f"references: language {f'{language}, {origin}' if language else 'unknown (--language)'}; BLEU tokenizer: "
    note = "" if options.tokenizer is not None else fitting_tokenizer(language).note
    notes = [note] if note and tokenizer == "char" else []
    return replace(settled, tokenizer=tokenizer), [f"{line}{tokenizer}{rules}", *notes]


def tokenizer_of(config: Config) -> Tokenizer:
    """Return the tokenizer with which a run measures BLEU: that of its validations."""
    configured = config.training.validation.tokenizer
    return fitting_tokenizer(config.text.target.language).name if configured == "auto" else configured


def bleu_preparation(options: MeasureOptions, run: Run | None = None) -> Preparation | None:
    """Return the tokenisation of tokenised BLEU: none, or the Moses rules; None for text without spaces."""
    tokenizer = tokenizer_for(options, run)
    if tokenizer == "none":
        return Preparation("as-given", str)
    if tokenizer in WITHOUT_SPACES:
        return None
    language = options.language or (run and run.config.text.target.language) or DEFAULT_RULES
    words = train_segmentation(SideConfig(segmentation="words", language=language), [])
    return Preparation(f"moses-{language}", lambda line: " ".join(words.segment(line).pieces))


def warn_of_empty_references(pairs: Sequence[Pair]) -> None:
    """Warn of sentences without a reference: metrics count all of a translation as wrong there, chrF leaves it out."""
    empty = [pair for pair in pairs if all(is_blank(reference) for reference in pair.references)]
    if empty:
        log.warning(
            "%s of %s references are empty, the first at %s: BLEU and TER count these translations as wrong, chrF "
            "does not count them; leave these sentences out",
            f"{len(empty):,}",
            f"{len(pairs):,}",
            empty[0].origin,
        )


def warn_of_references_unfit_for_bleu(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> None:
    """Warn of references without spaces that the tokenizer of BLEU takes for words, or without its 4-grams."""
    if tokenizer not in WITHOUT_SPACES and is_unsegmented(pair.target for pair in pairs):
        warn_of_lines_without_spaces(
            "references",
            f"BLEU with tokenizer {tokenizer}",
            "give their language (evaluate --language, train --languages), or a tokenizer such as zh or char",
        )
        return
    tokenise = bleu_tokens(tokenizer)
    if not any(len(tokenise(reference).split()) >= bleu.ORDER for pair in pairs for reference in pair.references):
        log.warning(
            "no reference has four tokens, and BLEU counts 4-grams: it is 0, or more only where a translation is too "
            "long; go by chrF (in training: training.validation.metric=chrf)"
        )


def _require_pairs(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise InputError("the test set is empty; it needs at least one pair")


def _slicing(name: str, pairs: Sequence[Pair], run: Run | None, options: MeasureOptions) -> Slicing:
    if name != "rarity":
        return SLICES[name](pairs, options.group)
    if options.ranks is not None:
        return by_rarity(mean_ranks((words_in(pair.source) for pair in pairs), options.ranks), options.group)
    if run is None:
        raise ConfigError("slices by rarity need word frequencies: give a run, or --frequencies FILE")
    # The vocabulary is sorted by frequency, after the special tokens.
    tokens = [run.source.encode(pair.source).ids for pair in pairs]
    rarest = len(run.source.vocabulary)
    ranks = [[rarest if index == UNK else index - len(SPECIALS) + 1 for index in ids] for ids in tokens]
    return by_rarity([sum(line) / len(line) if line else 0.0 for line in ranks], options.group)


def _add_pairs_without_unknown(
    evaluation: Evaluation,
    run: Run,
    pairs: Sequence[Pair],
    search: SearchConfig,
    options: MeasureOptions,
    console: Console,
) -> Evaluation:
    """Add a slicing: all pairs, and those without unknown words, translated without producing any.

    Bahdanau et al. 2015, table 1, "No UNK". The references keep their original words.
    """
    known = [
        pair
        for pair in pairs
        if UNK not in run.source.encode(pair.source).ids and UNK not in run.target.encode(pair.target).ids
    ]
    slices = [Slice("all", evaluation.sentences, evaluation.scores)]
    if known:
        blocked = search.replaced(block_unknown=True)
        hypotheses = [one.text for one in translate(run, [pair.source for pair in known], blocked, console)]
        options = replace(
            options,
            slices=(),
            tokenizer=tokenizer_for(options, run),
            language=options.language or run.config.text.target.language,
            symbols=options.symbols or symbols_for(run.config),
        )
        of_known = measure_given(hypotheses, known, None, options, warn=False)
        slices.append(Slice("without, none produced", len(known), of_known.scores))
    return replace(evaluation, slicings=(*evaluation.slicings, SliceTable("unknown words", tuple(slices))))


def _perplexity(run: Run, pairs: Iterable[tuple[str, str]]) -> ReferencePerplexity:
    nll, tokens, sentences = 0.0, 0, 0
    for scored in run.scorer().score(pairs):
        nll -= scored.log_probability
        tokens += len(scored.token_log_probabilities)
        sentences += 1
    return ReferencePerplexity(nll, tokens, sentences)
