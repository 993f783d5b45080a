"""Requests for many files: what workers on several machines compute."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import field

from dragoman.config.section import Count, Section, doc, keys_of
from dragoman.requests.alignment import (
    REVERSE_RULES,
    UNITS,
    LinkedUnits,
    OneBased,
    Reverse,
    Symmetrize,
    Threshold,
    TokenCounts,
)
from dragoman.requests.rescoring import (
    FEATURE_RULES,
    RescoringFeatures,
    ReverseModels,
    ScoringModels,
    UnknownWordScore,
)
from dragoman.requests.shared import (
    CORPORA,
    ENSEMBLE,
    ENSEMBLE_RULES,
    PRINTED,
    SEARCH_HEADING,
    CorpusOptions,
    EnsembleOptions,
    Quiet,
    Request,
    Runs,
    SearchChanges,
)
from dragoman.requests.translation import NoShortlist, Words

_WHERE = (
    "plain or compressed (.gz, .xz, .zst), on this machine or a URI (s3://, gs://, hdfs://); with * and ?, in "
    "quotation marks"
)
_BESIDE = "as many files as --input, in the same order"

Patterns = tuple[str, ...]
PairPatterns = Annotated[
    Patterns, doc(f"source sentences, or pairs (.tsv, .csv, .jsonl, .json); {_WHERE}", metavar="PATTERN")
]
Folder = Annotated[
    str, doc("folder with an output file for each input file, of its name", metavar="DIR", kind="folder")
]


class TextFiles(Section, kw_only=True):
    """Texts."""

    input: Annotated[Patterns, doc(f"text to translate, one sentence a line; {_WHERE}", metavar="PATTERN")]
    output: Folder


class PairFiles(Section, kw_only=True):
    """Pairs, or the two sides of them."""

    input: PairPatterns
    target: Annotated[Patterns, doc(f"target sentences: {_BESIDE}", metavar="PATTERN")] = ()
    output: Folder


class ListFiles(Section, kw_only=True):
    """N-best lists, and the sentences that they are translations of."""

    input: Annotated[Patterns, doc(f"Moses n-best list; {_WHERE}", metavar="PATTERN")]
    source: Annotated[
        Patterns,
        doc(f"source sentences; sentence ids count their lines from 0: {_BESIDE}", metavar="PATTERN"),
    ] = ()
    output: Folder


class TableFiles(Section, kw_only=True):
    """Phrase tables."""

    input: Annotated[Patterns, doc(f"Moses phrase tables; {_WHERE}", metavar="PATTERN")]
    output: Folder


class ClusterWorkers(Section):
    """Where workers run."""

    address: Annotated[
        str | None,
        doc(
            "Ray cluster: HOST:PORT, or auto for the one that this machine belongs to (default: Ray is started on this "
            "machine, for this command)",
            metavar="ADDRESS",
        ),
    ] = None
    workers: Annotated[Count | None, doc("workers, one thread each (default: one for each CPU)")] = None


INPUT_AND_OUTPUT = doc("input and output")
WORKERS = Annotated[ClusterWorkers, doc("workers")]


class _ManyFiles(Request, kw_only=True):
    """What all verbs over many files have."""

    verb: ClassVar[str]
    """Its name in `dragoman.cluster.verbs`."""

    def worker_options(self) -> dict[str, Any]:
        """The models and what else a worker is opened with."""
        read_here = ("input", "target", "source", "output", "address", "workers", "columns", "encoding", "quiet")
        return {name: value for name, value in self.options().items() if name not in read_here}


class ClusterSearch(Section):
    """How workers search."""

    search: SearchChanges = field(default_factory=dict)
    no_shortlist: NoShortlist = False
    ban: Words = ()


class ClusterTranslation(_ManyFiles, kw_only=True):
    """Translations of many files."""

    files: Annotated[TextFiles, INPUT_AND_OUTPUT]
    workers: WORKERS = ClusterWorkers()
    runs: Runs
    searching: Annotated[ClusterSearch, doc(SEARCH_HEADING)] = ClusterSearch()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = ENSEMBLE_RULES
    verb: ClassVar = "translate"

    def worker_options(self) -> dict[str, Any]:
        """As for all, with the search apart."""
        searching, ensemble = self.searching, self.ensemble
        return {
            "runs": self.runs,
            "search": dict(searching.search),
            "shortlist": not searching.no_shortlist,
            "more": {"ban": searching.ban},
            "combine": ensemble.combine,
            "weights": ensemble.weights,
        }


class ClusterScoring(_ManyFiles, kw_only=True):
    """Log-probabilities of given translations in many files."""

    files: Annotated[PairFiles, INPUT_AND_OUTPUT]
    workers: WORKERS = ClusterWorkers()
    runs: Runs
    token_counts: TokenCounts = False
    corpora: CORPORA = CorpusOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = ENSEMBLE_RULES
    verb: ClassVar = "score"


class ClusterAlignment(_ManyFiles, kw_only=True):
    """Links between the words of many files."""

    files: Annotated[PairFiles, INPUT_AND_OUTPUT]
    workers: WORKERS = ClusterWorkers()
    runs: Runs
    one_based: OneBased = False
    threshold: Threshold = None
    reverse: Reverse = ()
    symmetrize: Symmetrize = None
    units: Annotated[LinkedUnits, UNITS] = LinkedUnits()
    corpora: CORPORA = CorpusOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = (*REVERSE_RULES, *ENSEMBLE_RULES)
    verb: ClassVar = "align"

    def worker_options(self) -> dict[str, Any]:
        """As for all, with the unit by its name."""
        named = super().worker_options().items()
        return {**{name: value for name, value in named if name not in keys_of(LinkedUnits)}, "unit": self.units.unit}


class ClusterRescoring(_ManyFiles, kw_only=True):
    """Many n-best lists with more features."""

    files: Annotated[ListFiles, INPUT_AND_OUTPUT]
    workers: WORKERS = ClusterWorkers()
    features: RescoringFeatures = RescoringFeatures()
    general: PRINTED = Quiet()

    rules: ClassVar = FEATURE_RULES
    verb: ClassVar = "rescore"


class ClusterColumns(_ManyFiles, kw_only=True):
    """Many phrase tables with more scores."""

    files: Annotated[TableFiles, INPUT_AND_OUTPUT]
    workers: WORKERS = ClusterWorkers()
    model: ScoringModels
    reverse: ReverseModels = ()
    unknown: UnknownWordScore = False
    general: PRINTED = Quiet()

    verb: ClassVar = "phrase-table"


ClusterRequest = ClusterTranslation | ClusterScoring | ClusterAlignment | ClusterRescoring | ClusterColumns
