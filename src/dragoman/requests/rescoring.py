"""Requests for n-best lists and phrase tables: neural scores, weights, the best hypotheses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

from dragoman.config.section import Count, Positive, Section, doc
from dragoman.errors import ConfigError
from dragoman.requests.shared import (
    COMPRESSION,
    GENERAL,
    NBEST,
    PRINTED,
    Compute,
    Quiet,
    Request,
    Rule,
    TokenisedReferences,
    Unsigned,
    given,
    is_given,
    lacking,
    output,
)
from dragoman.text.languages import language_code

Precision = Literal["fp32", "bf16"]
MetricName = Literal["bleu", "chrf"]
OneList = Annotated[str, doc(f"{NBEST}; {COMPRESSION}; - for standard input", metavar="NBEST", positional=True)]


def _precision(text: str) -> str:
    """A precision by the names that configurations take."""
    from dragoman.config.building import choose, no_choice

    chosen, known = choose(text, get_args(Precision)), get_args(Precision)
    if chosen not in known:
        raise ConfigError(f"expected {' or '.join(known)}, not {text!r}{no_choice(text, known)}")
    return str(chosen)


class RescoringFeatures(Section):
    """The features to add to n-best lists."""

    model: Annotated[tuple[str, ...], doc("source-to-target runs; one value each", metavar="RUN")] = ()
    reverse: Annotated[tuple[str, ...], doc("target-to-source runs; feature NAMEReverse", metavar="RUN")] = ()
    lm: Annotated[tuple[str, ...], doc("language models (need no --source); feature NAMELM", metavar="LM")] = ()
    length: Annotated[
        bool,
        doc(
            "add the number of words as feature NAMELength; with a tuned weight it makes up for the preference of "
            "log-probabilities for short hypotheses"
        ),
    ] = False
    ensemble: Annotated[bool, doc("combine the runs of --model: average the probabilities of each token")] = False
    tokenised: Annotated[
        str | None,
        doc(
            "hypotheses are tokenised text of this language, --model and --reverse were trained on raw text: join the "
            "words as the Moses detokeniser does before scoring",
            metavar="LANG",
            kind=language_code,
        ),
    ] = None
    feature: Annotated[str, doc("name of the new feature", metavar="NAME")] = "Neural"
    normalised: Annotated[bool, doc("divide log-probabilities by the number of tokens, EOS included")] = False
    precision: Annotated[
        Precision,
        doc(
            "precision of matrix products; bf16 is faster on some CPUs and GPUs", metavar="{fp32,bf16}", kind=_precision
        ),
    ] = "fp32"


FEATURE_RULES = (
    Rule(
        ("feature",),
        lambda values: not re.fullmatch(r"[^\s=:|]+", values["feature"]),
        "{option} {values[feature]!r}: feature names contain no space, `=`, `:` or `|`",
    ),
    Rule(
        (),
        lacking("model", "reverse", "lm", "length"),
        "{model}, {reverse}, {lm} or {length} is required (see dragoman rescore --help)",
    ),
    Rule(
        (),
        lambda values: given("model", "reverse")(values) and not is_given(values["source"]),
        "{model} and {reverse} require {source}",
    ),
    Rule(
        ("source",),
        lacking("model", "reverse"),
        "{option} requires {model} or {reverse}; language models do not use it",
    ),
    Rule(
        ("tokenised",),
        lacking("model", "reverse"),
        "{option} requires {model} or {reverse}; language models score the text of the list",
    ),
    Rule(
        ("normalised",), lacking("model", "reverse", "lm"), "{option} requires {model}, {reverse} or {lm}, not {length}"
    ),
    Rule(("ensemble",), lambda values: len(values["model"]) < 2, "{option} requires several runs in {model}"),
)


class RescoringRequest(Request, kw_only=True):
    """An n-best list with more features."""

    nbest: OneList
    source: Annotated[str | None, doc("source sentences; sentence ids count its lines from 0", metavar="SRC")] = None
    features: RescoringFeatures = RescoringFeatures()
    output: Annotated[str, output("the n-best list")] = "-"
    general: GENERAL = Compute()

    rules: ClassVar = FEATURE_RULES


class RerankingCriterion(Section):
    """By what hypotheses are chosen."""

    feature_weights: Annotated[
        str | None, doc("weighted sum of the features, with weights from lines `Name= weight ...`", one_of="score")
    ] = None
    average: Annotated[
        tuple[str, ...], doc("unweighted mean of the total score and these features", metavar="NAME", one_of="score")
    ] = ()
    oracle: Annotated[
        tuple[str, ...], doc("sentence-level --metric against these references", metavar="REF", one_of="score")
    ] = ()
    mbr: Annotated[bool, doc("minimum Bayes risk: expected --metric under that score")] = False
    # Outside the union, which typing takes for that of `--mbr` of `translate`, with its order of the choices.
    metric: Annotated[MetricName, doc("sentence-level metric of --oracle and --mbr (default: bleu)")] | None = None
    mbr_scale: Annotated[Positive | None, doc("scaling factor of scores for --mbr (default: 1)", metavar="F")] = None
    mbr_size: Annotated[Count | None, doc("hypotheses per sentence to consider for --mbr (default: 100)")] = None


class RerankingRequest(Request, kw_only=True):
    """The best hypothesis of each sentence."""

    nbest: OneList
    criterion: Annotated[RerankingCriterion, doc("criterion (default: total score of the list)")] = RerankingCriterion()
    sentences: Annotated[Count | None, doc("number of sentences, if the list may lack hypotheses of the last ones")] = (
        None
    )
    output: Annotated[str, output("the hypotheses")] = "-"
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(("oracle",), given("mbr"), "{option} and {mbr} exclude each other; leave one of them out"),
        Rule(("metric",), lacking("mbr", "oracle"), "{option} requires {oracle} or {mbr}"),
        Rule(("mbr_scale", "mbr_size"), lacking("mbr"), "{option} requires {mbr}"),
    )


class TuningRequest(Request, kw_only=True):
    """Weights for the features of n-best lists."""

    nbest: Annotated[tuple[str, ...], doc(f"{NBEST}s; {COMPRESSION}", metavar="NBEST", positional=True)]
    reference: TokenisedReferences
    method: Annotated[Literal["mert", "mira", "pro"], doc("tuning algorithm")] = "mert"
    metric: Annotated[MetricName, doc("metric to maximise")] = "bleu"
    initial_weights: Annotated[str | None, doc("weights to start from, 0 for missing features (default: equal)")] = None
    runs: Annotated[Count, doc("number of runs with different seeds")] = 3
    restarts: Annotated[Unsigned | None, doc("random restarts per run of mert (default: 20)")] = None
    seed: Annotated[Unsigned, doc("seed of the first run")] = 1
    test: Annotated[
        str | None, doc("n-best list of a test set, to score the weights of each run on", metavar="NBEST")
    ] = None
    test_reference: Annotated[tuple[str, ...], doc("references of the test set", metavar="REF")] = ()
    against: Annotated[
        tuple[str, ...], doc("weights of another system, one file per tuning run; missing features get weight 0")
    ] = ()
    output: Annotated[str, output("the weights")] = "-"
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(
            ("test", "test_reference"),
            lambda values: not (is_given(values["test"]) and is_given(values["test_reference"])),
            "{test} and {test_reference} require each other",
        ),
        Rule(("restarts",), lambda values: values["method"] != "mert", "{option} requires {method} mert"),
    )


ScoringModels = Annotated[tuple[str, ...], doc("source-to-target runs; one score each", metavar="RUN")]
ReverseModels = Annotated[
    tuple[str, ...], doc("target-to-source runs; one score p(source | target) each", metavar="RUN")
]
UnknownWordScore = Annotated[bool, doc("add exp(number of target words unknown to the first model) as a score")]
TABLE_NAME = "TranslationModel0"


class PhraseTableRequest(Request, kw_only=True):
    """A phrase table with more scores, or its pairs."""

    table: Annotated[
        str,
        doc(
            f"Moses phrase table, {COMPRESSION}; or a folder with the moses.ini of a phrase-based system",
            metavar="TABLE",
            positional=True,
        ),
    ]
    model: ScoringModels = ()
    reverse: ReverseModels = ()
    unknown: UnknownWordScore = False
    filter: Annotated[
        tuple[str, ...],
        doc(
            "write only the phrase pairs whose source phrase occurs in these texts, tokenised as for the system",
            metavar="SRC",
        ),
    ] = ()
    output: Annotated[
        str | None,
        doc(
            "phrase table to write, or folder of the new system; scores are collected in TABLE2.scores",
            metavar="TABLE2",
            short="-o",
            kind="output",
        ),
    ] = None
    name: Annotated[
        str | None, doc(f"name of the table in the printed lines (default: {TABLE_NAME})", metavar="NAME")
    ] = None
    write_pairs: Annotated[
        str | None,
        doc(
            "write the distinct phrase pairs for `dragoman train --train` instead of scoring",
            metavar="FILE.tsv",
            kind="output",
        ),
    ] = None
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            (),
            lambda values: values["table"] == "-",
            "the phrase table is read twice; give a file instead of standard input",
        ),
        Rule(
            ("write_pairs",),
            given("model", "reverse", "unknown", "output", "filter", "name"),
            "{option} computes no scores; leave the other options out",
        ),
        Rule(
            ("write_pairs",),
            lambda values: ".tsv" not in Path(values["write_pairs"]).suffixes,
            "{option} {values[write_pairs]}: give a name that ends in .tsv, by which `dragoman train` recognises pairs",
        ),
        Rule(
            (),
            lambda values: values["write_pairs"] is None and not (values["model"] and values["output"] is not None),
            "{model} and {output} are required, or {write_pairs} (see dragoman phrase-table --help)",
        ),
    )
