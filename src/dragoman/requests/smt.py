"""Requests for phrase-based systems: their training, their tuning, and translations by them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from dragoman.alignment.symmetrize import DEFAULT_METHOD, Aligner, SymmetrizationMethod
from dragoman.config.section import Count, Positive, Section, doc
from dragoman.requests.shared import (
    CORPORA,
    PAIRS,
    PRINTED,
    Corpora,
    CorpusOptions,
    Input,
    Quiet,
    Request,
    Rule,
    TokenisedReferences,
    Unsigned,
    given,
    output,
)

ALIGNER: Aligner = "eflomal"
DISTORTION_LIMIT = 6
"""As in Moses."""

System = Annotated[str, doc("folder with a moses.ini, or the moses.ini itself", metavar="SYSTEM", positional=True)]
FeatureWeights = Annotated[
    str | None, doc("feature weights, lines `Name= weight ...` (default: the weights of the system)")
]


class WordAlignment(Section):
    """The links between the words of the training text."""

    alignments: Annotated[
        tuple[str, ...],
        doc("word alignments in Pharaoh format to use instead of an aligner; one file for each --train", repeat=True),
    ] = ()
    aligner: Annotated[Aligner | None, doc(f"word aligner, run in both directions (default: {ALIGNER})")] = None
    symmetrize: Annotated[SymmetrizationMethod | None, doc(f"symmetrization heuristic (default: {DEFAULT_METHOD})")] = (
        None
    )


class SystemModels(Section):
    """What a system is made of."""

    max_phrase_length: Annotated[Count, doc("maximum length of a phrase, in words")] = 7
    order: Annotated[int, Meta(ge=2, le=6), doc("order of the n-gram language model, 2 to 6")] = 5  # what KenLM reads
    monolingual: Annotated[tuple[str, ...], doc("additional target-language text for the language model")] = ()
    distortion_limit: Annotated[
        Unsigned, doc("distortion limit of the decoder, in words; the value is written to moses.ini")
    ] = DISTORTION_LIMIT


class SystemTrainingRequest(Request, kw_only=True):
    """The training of a phrase-based system."""

    train: Annotated[Corpora, doc(f"training corpus: {PAIRS}; may be repeated")]
    out: Annotated[str, doc("folder to write; must not exist", metavar="SYSTEM", kind="folder")]
    words: Annotated[WordAlignment, doc("word alignment")] = WordAlignment()
    models: Annotated[SystemModels, doc("models")] = SystemModels()
    corpora: CORPORA = CorpusOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(
            ("alignments",),
            lambda values: len(values["alignments"]) != len(values["train"]),
            lambda values: (
                f"{{option}}: {len(values['alignments'])} files for {len(values['train'])} of {{train}}; give one for "
                "each"
            ),
        ),
        Rule(("aligner", "symmetrize"), given("alignments"), "{option} has no effect with {alignments}; leave it out"),
    )


class DecoderSettings(Section):
    """Beam sizes of the stack decoder."""

    stack: Annotated[Count, doc("hypotheses kept per stack")] = 100
    pop_limit: Annotated[Count, doc("cube pruning: hypotheses popped per stack")] = 200
    threshold: Annotated[
        Positive,
        doc(
            "prune hypotheses that score T times the sum of absolute weights below the best of their stack", metavar="T"
        ),
    ] = 1.0


SEARCH = Annotated[DecoderSettings, doc("search")]


class SystemTuning(Section):
    """How weights are found by minimum error rate training (MERT)."""

    initial_weights: Annotated[str | None, doc("weights to start from (default: the weights of the system)")] = None
    iterations: Annotated[Count, doc("maximum number of MERT iterations; each translates the development set")] = 6
    nbest: Annotated[Count, doc("translations per sentence")] = 100
    restarts: Annotated[Unsigned, doc("random restarts per iteration, in addition to the current weights")] = 4
    seed: Annotated[Unsigned, doc("seed of the random restarts")] = 1


class SystemTuningRequest(Request, kw_only=True):
    """The tuning of a phrase-based system."""

    system: System
    source: Annotated[str, doc("source side of the development set", metavar="SRC")]
    reference: TokenisedReferences
    output: Annotated[
        str | None,
        doc("write the weights to this file (default: into the moses.ini of the system)", short="-o", kind="output"),
    ] = None
    tuning: Annotated[SystemTuning, doc("tuning")] = SystemTuning()
    search: SEARCH = DecoderSettings()
    general: PRINTED = Quiet()


class PhraseTranslationRequest(Request, kw_only=True):
    """Translations by a phrase-based system."""

    system: System
    input: Input = "-"
    output: Annotated[str, output("the translations")] = "-"
    alignments: Annotated[
        str | None,
        doc("write the word alignments of the phrase pairs used to this file, Pharaoh format", kind="output"),
    ] = None
    feature_weights: FeatureWeights = None
    search: SEARCH = DecoderSettings()
    general: PRINTED = Quiet()


class NBestRequest(Request, kw_only=True):
    """N-best lists of a phrase-based system."""

    system: System
    input: Input = "-"
    output: Annotated[str, output("the n-best lists")] = "-"
    nbest: Annotated[Count, doc("translations per sentence")] = 100
    distinct: Annotated[bool, doc("list each distinct translation once, with its best derivation")] = False
    with_alignments: Annotated[bool, doc("add word alignments as one more column, Pharaoh format")] = False
    feature_weights: FeatureWeights = None
    search: SEARCH = DecoderSettings()
    general: PRINTED = Quiet()
