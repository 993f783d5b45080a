"""Requests for learning from corrections."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dragoman.config.section import Count, Section, doc
from dragoman.requests.shared import (
    CORPORA,
    GENERAL,
    PAIRS,
    Compute,
    Corpora,
    CorpusOptions,
    Request,
    Rule,
    about_files_of,
    given,
    lacking,
    too_many_files,
)


class Corrections(Section):
    """The corrections, and what becomes of them."""

    pairs: Annotated[Corpora, doc(f"corrections to learn, in their order: {PAIRS}; may be repeated")] = ()
    learned: Annotated[
        str | None,
        doc(
            "folder that keeps the corrections and the new weights (default: RUN.learned)",
            metavar="FOLDER",
            kind="folder",
        ),
    ] = None
    list: Annotated[bool, doc("print the corrections: number, source and translation, separated by tabs")] = False
    undo: Annotated[Count | None, doc("remove correction N, and learn the others again without it", metavar="N")] = None


class LearntRun(Section):
    """The run that is written."""

    out: Annotated[str | None, doc("run folder to write, with the new weights", metavar="RUN", kind="folder")] = None
    overwrite: Annotated[bool, doc("replace an existing run")] = False


class LearningRequest(Request, kw_only=True):
    """Corrections for a run to learn."""

    run: Annotated[str, doc("run folder, which is not changed", metavar="RUN", positional=True)]
    corrections: Annotated[Corrections, doc("corrections")] = Corrections()
    result: Annotated[LearntRun, doc("run")] = LearntRun()
    corpora: CORPORA = CorpusOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            (),
            lambda values: lacking("pairs", "list", "undo", "out")(values),
            "nothing to do: give {pairs} FILE, {undo} N, {list} or {out} RUN",
        ),
        Rule(("undo",), given("pairs"), "{option} and {pairs}: give one after the other"),
        Rule(("overwrite",), lacking("out"), "{option} requires {out} RUN"),
        too_many_files("pairs"),
        about_files_of("pairs"),
    )
