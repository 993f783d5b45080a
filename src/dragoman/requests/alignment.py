"""Requests for alignments and scores of given translations."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dragoman.alignment.symmetrize import DEFAULT_METHOD, METHODS, Aligner, SymmetrizationMethod
from dragoman.config.section import Count, Probability, Section, doc
from dragoman.requests.shared import (
    COMPRESSION,
    ENSEMBLE,
    ENSEMBLE_RULES,
    GENERAL,
    PAIRS,
    PRINTED,
    Compute,
    EnsembleOptions,
    Pairs,
    PairsRequest,
    Quiet,
    Request,
    Rule,
    Values,
    given,
    is_given,
    lacking,
    output,
)
from dragoman.text.links import LinkFormat
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
        tuple[tuple[str, ...], ...], doc(f"additional text to train the aligner on: {PAIRS}; may be repeated")
    ] = ()


REVERSE_RULES = (
    Rule(
        ("symmetrize",),
        lacking("reverse", "aligner"),
        "{option} requires a run of the opposite direction; give it with {reverse} RUN2",
    ),
    Rule(
        ("segments",),
        lambda values: is_given(values["reverse"]) and not is_given(values.get("aligner")),
        "{option} has no meaning with {reverse}: two models divide text in two ways",
    ),
)


class AlignmentRequest(PairsRequest, kw_only=True):
    """Links between the words of given translations."""

    pairs: Pairs = ()  # one file with both sides is enough for a statistical aligner, which has no run
    output: Annotated[str, output("the alignments")] = "-"
    format: Annotated[
        LinkFormat,
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
        Rule(("train",), lacking("aligner"), "{option} requires a statistical aligner; choose one with {aligner}"),
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


class ScoringRequest(PairsRequest, kw_only=True):
    """Log-probabilities of given translations."""

    token_counts: TokenCounts = False
    ensemble: ENSEMBLE = EnsembleOptions()
    output: Annotated[str, output("the scores, one a line,")] = "-"
    general: GENERAL = Compute()

    rules: ClassVar = ENSEMBLE_RULES


class AerRequest(Request, kw_only=True):
    """Alignments that are compared with gold alignments."""

    gold: Annotated[str, doc(f"gold alignments; {COMPRESSION}", metavar="GOLD", positional=True)]
    hypothesis: Annotated[str, doc("alignments to score; - for standard input", metavar="HYP", positional=True)]
    gold_format: Annotated[LinkFormat | None, doc("format of GOLD (default: detected)")] = None
    hyp_format: Annotated[LinkFormat | None, doc("format of HYP (default: detected)")] = None
    one_based: Annotated[bool, doc("count words from 1 in files of undeclared format that have no word 0")] = False
    json: Annotated[bool, doc("print the scores as JSON")] = False
    general: PRINTED = Quiet()


class SymmetrizationRequest(Request, kw_only=True):
    """The alignments of two directions, to be combined."""

    forward: Annotated[str, doc("alignments of the source-to-target model", metavar="FORWARD", positional=True)]
    backward: Annotated[str, doc("alignments of the target-to-source model", metavar="BACKWARD", positional=True)]
    symmetrize: Annotated[SymmetrizationMethod, doc("symmetrization heuristic")] = DEFAULT_METHOD
    swapped: Annotated[bool, doc("links in BACKWARD have the target word first")] = False
    output: Annotated[str, output("the alignments")] = "-"
    general: PRINTED = Quiet()


class DictionaryRequest(Request, kw_only=True):
    """A dictionary from aligned text."""

    source: Annotated[str, doc("source side of the corpus", metavar="SRC", positional=True)]
    target: Annotated[str, doc("target side of the corpus", metavar="TGT", positional=True)]
    links: Annotated[str, doc("word alignments, Pharaoh format", metavar="LINKS", positional=True)]
    min_count: Annotated[
        Count | None,
        doc(
            "drop word pairs aligned fewer than N times (default: 10, as in Luong et al. 2015; in fewer than 10,000 "
            "lines one for each thousand)"
        ),
    ] = None
    output: Annotated[str, output("the dictionary")] = "-"
    general: PRINTED = Quiet()
