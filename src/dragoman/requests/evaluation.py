"""The request for the evaluation of a run or of given translations."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from dragoman.config.schema import SearchConfig
from dragoman.config.section import Count, Section, doc, keys_of
from dragoman.evaluation.slices import GROUP
from dragoman.evaluation.tokenizers import TOKENIZERS, Tokenizer, tokenizer_name
from dragoman.requests.shared import (
    COMPRESSION,
    CORPORA,
    GENERAL,
    SEARCH_HEADING,
    Compute,
    CorpusOptions,
    Request,
    Rule,
    Run,
    SearchOptions,
    given,
    lacking,
    literal,
)
from dragoman.text.languages import language_code

SlicingName = Literal[
    "source-length",
    "reference-length",
    "source-groups",
    "reference-groups",
    "source-window",
    "reference-window",
    "rarity",
]


class Slices(Section):
    """Parts of the test set that have scores of their own."""

    by: Annotated[
        tuple[SlicingName, ...],
        doc(
            "score slices by length (fixed bins, groups of equal size, or windows of 10 lengths) or by the rarity of "
            "source words: source-length, reference-length, source-groups, reference-groups, source-window, "
            "reference-window, rarity; may be repeated (default: source-length)",
            metavar="SLICING",
            repeat=True,
        ),
    ] = ()
    group: Annotated[Count | None, doc(f"sentences per group (default: {GROUP})")] = None
    frequencies: Annotated[
        str | None,
        doc("source words for --by rarity, most frequent first or with counts (default: the vocabulary of the run)"),
    ] = None
    without_unknown: Annotated[
        bool, doc("also score the pairs without unknown words, translated with the unknown word blocked")
    ] = False


class RobustnessOptions(Section):
    """The test set as people might write it."""

    robustness: Annotated[
        bool,
        doc(
            "also score 400 lines as people write them: other case, no marks or diacritics, typing errors, other "
            "spaces and characters; count the URLs, placeholders, numbers and names that come out unchanged"
        ),
    ] = False
    robustness_lines: Annotated[
        str | None,
        doc("translate the first 1,000 lines of another kind of text; count loops and truncated translations"),
    ] = None


class EvaluationRequest(Request, kw_only=True):
    """Scores of the translations of a test set."""

    run: Run
    files: Annotated[
        tuple[str, ...],
        doc(
            "SRC REF [REF2 ...], or one file with both sides: .tsv (source and references in columns), .jsonl "
            f'("source", "target", a string or a list), .csv, .json; {COMPRESSION}',
            positional=True,
        ),
    ] = ()
    hyp: Annotated[str | None, doc("score these translations, one line per pair")] = None
    against: Annotated[
        tuple[str, ...],
        doc(
            "test the significance of the difference to another run or a file of translations; may be repeated",
            metavar="RUN2|FILE",
            repeat=True,
        ),
    ] = ()
    tokenizer: Annotated[
        Tokenizer | None,
        doc(
            f"sacreBLEU tokenizer for BLEU: {', '.join(TOKENIZERS)}; none is for tokenised text (default: that of "
            "the run's validations; without a run, the one for --language)",
            metavar="T",
            kind=tokenizer_name,
        ),
    ] = None
    language: Annotated[
        str | None,
        doc(
            "language of the references, such as ja (default: target language of the run, else that of the file name)",
            metavar="LANG",
            kind=language_code,
        ),
    ] = None
    error_rates: Annotated[
        Literal["phones", "characters"] | None,
        doc(
            "also the error rates of single words: WER, and PER of phones (symbols between spaces) or CER of "
            "characters (default: as fits a run that reads letters or characters)"
        ),
    ] = None
    json: Annotated[bool, doc("print the scores as JSON")] = False
    output: Annotated[str | None, doc("write the translations to this file", short="-o", kind="output")] = None
    report: Annotated[
        str | None, doc("write scores and translations as a web page, DIR/report.html", metavar="DIR", kind="folder")
    ] = None
    slices: Annotated[Slices, doc("slices of the test set")] = Slices()
    unusual: Annotated[RobustnessOptions, doc("text as people write it")] = RobustnessOptions()
    searching: Annotated[SearchOptions, doc(SEARCH_HEADING)] = SearchOptions()
    corpora: CORPORA = CorpusOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            (*keys_of(SearchConfig), "output", "without_unknown", "robustness"),
            given("hyp"),
            "{option} has no effect with {hyp}; leave one of them out",
        ),
        Rule(("robustness_lines",), lacking("robustness"), "{option} requires {robustness}"),
        Rule(
            ("group",),
            lambda values: not {"source-groups", "reference-groups", "rarity"}.intersection(values["by"]),
            "{option} requires {by} source-groups, reference-groups or rarity",
        ),
        Rule(("frequencies",), lambda values: "rarity" not in values["by"], "{option} requires {by} rarity"),
        Rule(
            ("against",),
            lambda values: len(set(values["against"])) < len(values["against"]),
            lambda values: _repeated(values["against"]),
        ),
    )


def _repeated(names: tuple[str, ...]) -> str:
    name = next(name for name in names if names.count(name) > 1)
    count = names.count(name)
    return f"{{option}} {literal(name)} is given {count} times; once is enough"
