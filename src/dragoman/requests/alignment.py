"""Requests for alignments and scores of given translations."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from dragoman.alignment.symmetrize import DEFAULT_METHOD, METHODS, Aligner, SymmetrizationMethod
from dragoman.config.section import Probability, Section, doc
from dragoman.requests.shared import (
    CORPORA,
    ENSEMBLE,
    ENSEMBLE_RULES,
    GENERAL,
    PAIRS,
    Compute,
    CorpusOptions,
    EnsembleOptions,
    PairsRequest,
    Request,
    Rule,
    Runs,
    Values,
    given,
    is_given,
    lacking,
    output,
)
from dragoman.text.words import AlignmentUnit

Threshold = Annotated[
    Probability | None,
    doc("print all links with a weight of at least T instead of the largest for each target word", metavar="T"),
]
Reverse = Annotated[tuple[str, ...], doc("target-to-source run; may be repeated", metavar="RUN2", repeat=True)]
Symmetrize = Annotated[
    SymmetrizationMethod | None,
    doc(f"symmetrization heuristic: {', '.join(METHODS)} (default: {DEFAULT_METHOD})", metavar="METHOD"),
]
Segments = Annotated[bool, doc("link the model's segments instead of words", one_of="unit")]
TokenCounts = Annotated[bool, doc("after each score, by a tab, the number of target tokens, EOS included")]
OneBased = Annotated[bool, doc("count words from 1 in Pharaoh format")]


UNITS = doc("what links count, in place of words between spaces")


class LinkedUnits(Section):
    """What links are between."""

    segments: Segments = False
    characters: Annotated[
        bool,
        doc(
            "link single letters of scripts without spaces (Chinese, Japanese, Thai, ...); other scripts keep words",
            one_of="unit",
        ),
    ] = False
    morphemes: Annotated[
        bool,
        doc(
            "link the morphemes of Korean words, as mecab-ko finds them (needs the extra `ko`); other words stay whole",
            one_of="unit",
        ),
    ] = False
    unicode_spaces: Annotated[
        bool,
        doc(
            "let any Unicode space end a word (no-break, ideographic, ...), not the space and the tab alone",
            one_of="unit",
        ),
    ] = False

    @property
    def unit(self) -> AlignmentUnit:
        """What links count."""
        units: dict[AlignmentUnit, bool] = {
            "segments": self.segments,
            "characters": self.characters,
            "morphemes": self.morphemes,
            "unicode-words": self.unicode_spaces,
        }
        return next((unit for unit, chosen in units.items() if chosen), "words")


class WrittenUnits(LinkedUnits):
    """What links are between, and the file that shows it."""

    write_tokens: Annotated[
        str | None,
        doc(
            "write what the links count to this file: source and target of each pair, divided by a tab, with a space "
            "between tokens",
            metavar="FILE",
            kind="output",
        ),
    ] = None


class StatisticalAlignment(Section):
    """Alignment without a model."""

    aligner: Annotated[
        Aligner | None,
        doc("align with this aligner, in both directions if --symmetrize is given (needs the extra `align`)"),
    ] = None
    train: Annotated[
        tuple[tuple[str, ...], ...],
        doc(f"additional text to train the aligner on: {PAIRS}; may be repeated", metavar="FILE"),
    ] = ()


REVERSE_RULES = (
    Rule(
        ("symmetrize",),
        lacking("reverse", "aligner"),
        "{option} requires a run of the opposite direction; give it with {reverse} RUN2",
    ),
    Rule(("train",), lacking("aligner"), "{option} requires a statistical aligner; choose one with {aligner}"),
    Rule(
        ("segments",),
        lambda values: is_given(values["reverse"]) and not is_given(values.get("aligner")),
        "{option} has no meaning with {reverse}: two models divide text in two ways",
    ),
)


class AlignmentRequest(PairsRequest, kw_only=True):
    """Links between the words of given translations."""

    output: Annotated[str, output("the alignments")] = "-"
    format: Annotated[
        Literal["pharaoh", "talp", "naacl"],
        doc(
            "pharaoh: i-j, words counted from 0; talp: the same, counted from 1; naacl: one link per line, counted "
            "from 1"
        ),
    ] = "pharaoh"
    matrix: Annotated[
        str | None,
        doc(
            "write the word-to-word weights to this file: arrays N and N.eos for line N, counted from 0",
            metavar="FILE.npz",
            kind="output",
        ),
    ] = None
    one_based: OneBased = False
    threshold: Threshold = None
    reverse: Reverse = ()
    symmetrize: Symmetrize = None
    units: Annotated[WrittenUnits, UNITS] = WrittenUnits()
    baseline: Annotated[StatisticalAlignment, doc("statistical word alignment")] = StatisticalAlignment()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        *REVERSE_RULES,
        Rule(
            ("threshold", "matrix", "segments", "reverse", "combine", "weights"),
            given("aligner"),
            "{option} has no effect with {aligner} {values[aligner]}; leave it out",
        ),
        *ENSEMBLE_RULES,
    )

    @classmethod
    def arranged(cls, values: Values) -> Values:
        """As for `PairsRequest`; with a statistical aligner all names are files."""
        if values["aligner"] is None:
            return super().arranged(values)
        return {**values, "runs": (), "pairs": [*values["runs"], *values["pairs"]]}


class ClusterAlignment(Request, kw_only=True):
    """Links between the words of many files, as workers compute them."""

    runs: Runs
    one_based: OneBased = False
    threshold: Threshold = None
    reverse: Reverse = ()
    symmetrize: Symmetrize = None
    units: Annotated[LinkedUnits, UNITS] = LinkedUnits()
    corpora: CORPORA = CorpusOptions()
    ensemble: ENSEMBLE = EnsembleOptions()

    rules: ClassVar = (*REVERSE_RULES, *ENSEMBLE_RULES)


class ScoringRequest(PairsRequest, kw_only=True):
    """Log-probabilities of given translations."""

    token_counts: TokenCounts = False
    ensemble: ENSEMBLE = EnsembleOptions()
    output: Annotated[str, output("the scores, one a line,")] = "-"
    general: GENERAL = Compute()

    rules: ClassVar = ENSEMBLE_RULES


class ClusterScoring(Request, kw_only=True):
    """Log-probabilities of given translations in many files, as workers compute them."""

    runs: Runs
    token_counts: TokenCounts = False
    corpora: CORPORA = CorpusOptions()
    ensemble: ENSEMBLE = EnsembleOptions()

    rules: ClassVar = ENSEMBLE_RULES
