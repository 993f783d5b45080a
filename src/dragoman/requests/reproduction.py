"""The request for an experiment of the papers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dragoman.config.section import Count, Positive, Section, doc
from dragoman.requests.shared import (
    COMPRESSION,
    CORPORA,
    PAIRS,
    Corpora,
    CorpusOptions,
    Quiet,
    Request,
    Rule,
    Values,
    language_pair,
    literal,
)
from dragoman.systems import DeviceName

LIST = "list"
"""What stands in place of an experiment to name all of them."""


class ExperimentText(Section):
    """The text on which an experiment is repeated."""

    train: Annotated[Corpora, doc(f"training set: {PAIRS}; {COMPRESSION}; may be repeated")] = ()
    dev: Annotated[Corpora, doc(f"development set: {PAIRS}; {COMPRESSION}; may be repeated")] = ()
    test: Annotated[Corpora, doc(f"test set: {PAIRS}; {COMPRESSION}; may be repeated")] = ()
    join: Annotated[
        Count, doc("construct longer pairs by joining up to N pairs of the same set (default: 1)", metavar="N")
    ] = 1
    languages: Annotated[
        tuple[str, ...] | None,
        language_pair("languages of the text (default: those of the file names, such as train.de train.en)"),
    ] = None
    gold: Annotated[str | None, doc("gold word links of the test set, for AER")] = None


class ExperimentRun(Section):
    """The folder of an experiment, and how long and where it runs; None: as the experiment says."""

    out: Annotated[str | None, doc("folder for runs, outputs and pages", metavar="DIR", kind="folder")] = None
    scale: Annotated[Positive | None, doc("scale of all models, as in `dragoman train`", metavar="F")] = None
    updates: Annotated[
        Count | None, doc("maximum number of updates of each training", metavar="N", one_of="budget")
    ] = None
    minutes: Annotated[Positive | None, doc("minutes of each training", metavar="M", one_of="budget")] = None
    quick: Annotated[bool, doc("a first look: 1,000 updates, small models, one seed, no verdicts", one_of="budget")] = (
        False
    )
    seeds: Annotated[Count | None, doc("train every model with seeds 1 to K", metavar="K")] = None
    jobs: Annotated[Count, doc("steps at a time, a thread each (default: 1)", metavar="N")] = 1
    device: Annotated[
        DeviceName, doc("where the models run; auto: the GPU if there is one; --jobs says how many share it")
    ] = "auto"
    pages_only: Annotated[bool, doc("run nothing; write the pages of what is done so far")] = False
    set: Annotated[tuple[str, ...], doc("settings of all translation models", metavar="KEY=VALUE")] = ()


def _missing(values: Values) -> list[str]:
    return [name for name in ("train", "dev", "test", "out") if not values[name]]


class ReproductionRequest(Request, kw_only=True):
    """The repetition of an experiment on a corpus of one's own."""

    experiment: Annotated[
        str, doc("name of an experiment, its YAML file, or `list`", metavar="EXPERIMENT", positional=True)
    ]
    text: Annotated[ExperimentText, doc("corpora")] = ExperimentText()
    corpora: CORPORA = CorpusOptions()
    run: Annotated[ExperimentRun, doc("run")] = ExperimentRun()
    general: Annotated[Quiet, doc("general")] = Quiet()

    rules: ClassVar = (
        Rule(
            (),
            lambda values: values["experiment"] != LIST and bool(_missing(values)),
            lambda values: (
                f"reproduce {literal(values['experiment'])}: give {', '.join(f'{{{one}}}' for one in _missing(values))}"
            ),
        ),
        Rule(
            ("quick",),
            lambda values: (values["seeds"] or 1) > 1,
            "{option} has one seed and decides nothing; leave out {seeds}, or give {updates} and {scale}",
        ),
        Rule(
            ("gold",),
            lambda values: values["join"] > 1,
            "{option}: its links are those of single pairs; leave out {join}",
        ),
    )
