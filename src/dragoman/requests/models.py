"""Requests for trained models: their check, their export, and the import of those of other toolkits."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from dragoman.config.section import Count, Section, doc
from dragoman.requests.shared import (
    CORPORA,
    ENSEMBLE,
    GENERAL,
    PAIRS,
    PRINTED,
    SEVERAL_RUNS_RULES,
    Compute,
    CorpusOptions,
    EnsembleOptions,
    Quiet,
    Request,
    Rule,
    Run,
    about_files_of,
    given,
    lacking,
    language_pair,
)


class CheckRequest(Request, kw_only=True):
    """Questions about a trained model."""

    run: Run
    files: Annotated[tuple[str, ...], doc(f"{PAIRS} (default: the dev set stored in the run)", positional=True)] = ()
    sentences: Annotated[Count, doc("number of pairs to use, evenly spaced in the files")] = 200
    json: Annotated[bool, doc("print one JSON object")] = False
    corpora: CORPORA = CorpusOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            ("files",),
            lambda values: len(values["files"]) > 2,
            lambda values: (
                f"{len(values['files'])} files are given; give two (source and target), or one with both sides"
            ),
        ),
    )


class WebSite(Section):
    """A web site in place of a folder."""

    web: Annotated[
        bool,
        doc(
            "write static files for any web host: a page that translates in the visitor's browser, in int8, also "
            "without a network after the first visit"
        ),
    ] = False
    languages: Annotated[
        tuple[str, ...] | None,
        language_pair("languages of the site, such as de en (default: the languages of the run)"),
    ] = None


class ShortlistOptions(Section):
    """The target words that are scored for a sentence."""

    shortlist: Annotated[
        Count | None,
        doc(
            "restrict the target vocabulary of a sentence to the K most frequent words and the likeliest translations "
            "of its source words",
            metavar="K",
        ),
    ] = None
    shortlist_corpus: Annotated[
        tuple[str, ...],
        doc(f"corpus to learn word translations from: {PAIRS} (default: training data stored in the run)"),
    ] = ()


class ExportRequest(Request, kw_only=True):
    """A folder or a web site that translates without torch."""

    runs: Annotated[tuple[str, ...], doc("run folder; several form an ensemble", metavar="RUN", positional=True)]
    out: Annotated[str, doc("folder to write", metavar="DIR", kind="folder")]
    int8: Annotated[bool, doc("quantise matrix products to 8-bit integers")] = False
    overwrite: Annotated[bool, doc("replace an existing exported folder")] = False
    site: Annotated[WebSite, doc("web site")] = WebSite()
    words: Annotated[ShortlistOptions, doc("shortlist")] = ShortlistOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    corpora: CORPORA = CorpusOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(("shortlist",), given("web"), "{option} has no effect with {web}; leave one of them out"),
        Rule(("languages",), lacking("web"), "{option} requires {web}"),
        *SEVERAL_RUNS_RULES,
        Rule(("shortlist_corpus",), lacking("shortlist"), "{option} requires {shortlist} K"),
        Rule(
            ("shortlist_corpus",),
            lambda values: len(values["shortlist_corpus"]) > 2,
            "{option}: give two files (source and target), or one with both sides",
        ),
        about_files_of("shortlist_corpus"),
    )


class JoeyNmtFiles(Section):
    """What a checkpoint of JoeyNMT does not contain."""

    config: Annotated[str | None, doc("configuration file (default: config.yaml beside CHECKPOINT)")] = None
    vocabulary: Annotated[
        tuple[str, ...],
        doc(
            "vocabulary files (default: src_vocab.txt and trg_vocab.txt beside CHECKPOINT)",
            metavar=("SRC", "TGT"),
            nargs=2,
        ),
    ] = ()


class SegmentationModels(Section):
    """How text is divided."""

    source_model: Annotated[str | None, doc("SentencePiece model of the source side")] = None
    target_model: Annotated[str | None, doc("SentencePiece model of the target side")] = None


class ImportRequest(Request, kw_only=True):
    """A model of another toolkit, to become a run."""

    checkpoint: Annotated[
        str, doc("checkpoint: .ckpt (JoeyNMT) or .pt (OpenNMT-py)", metavar="CHECKPOINT", positional=True)
    ]
    toolkit: Annotated[Literal["joeynmt", "opennmt"], doc("toolkit of the checkpoint", flag="--from")]
    out: Annotated[str, doc("run folder to write", metavar="RUN", kind="folder")]
    overwrite: Annotated[bool, doc("replace an existing run")] = False
    joeynmt: Annotated[JoeyNmtFiles, doc("JoeyNMT")] = JoeyNmtFiles()
    text: Annotated[SegmentationModels, doc("segmentation")] = SegmentationModels()
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(
            ("config", "vocabulary"),
            lambda values: values["toolkit"] == "opennmt",
            "{config} and {vocabulary} require --from joeynmt; an OpenNMT-py checkpoint contains both",
        ),
    )
