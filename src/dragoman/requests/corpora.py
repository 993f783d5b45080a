"""Requests for corpora: inspected, or as files of another kind."""

from __future__ import annotations

from typing import Annotated

from dragoman.config.section import Count, doc
from dragoman.requests.shared import (
    COMPRESSION,
    CORPORA,
    PAIRS,
    PRINTED,
    Corpora,
    CorpusOptions,
    Quiet,
    Request,
    Unsigned,
    language_pair,
)


class InspectionRequest(Request, kw_only=True):
    """Statistics and problems of a corpus."""

    corpus: Annotated[tuple[str, ...], doc(f"{PAIRS}; {COMPRESSION}", positional=True)]
    dev: Annotated[Corpora, doc("development set; may be repeated")] = ()
    test: Annotated[Corpora, doc("test set; may be repeated")] = ()
    subwords: Annotated[
        Count | None, doc("also train a joint subword model of N entries and report its statistics")
    ] = None
    examples: Annotated[Unsigned, doc("examples to show for each kind of finding")] = 3
    listing: Annotated[
        str | None,
        doc("list every finding: place, kind, side, detail, source and target, separated by tabs", kind="output"),
    ] = None
    json: Annotated[bool, doc("print the results as JSON")] = False
    corpora: CORPORA = CorpusOptions()
    general: PRINTED = Quiet()


class ConversionRequest(Request, kw_only=True):
    """A corpus, and the files to write it to."""

    files: Annotated[
        tuple[str, ...],
        doc(
            f"first the corpus: {PAIRS}; {COMPRESSION}. Then what to write: SRC TGT, or one such file", positional=True
        ),
    ]
    languages: Annotated[
        tuple[str, ...] | None,
        language_pair(
            "languages of the text, which .tmx and .xliff name (default: those of the names of files or columns)"
        ),
    ] = None
    corpora: CORPORA = CorpusOptions()
    general: PRINTED = Quiet()
