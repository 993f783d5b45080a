"""Common options of requests, and the rules by which options require and exclude each other.

The options are those of models, how they are combined, where they run, of search and of sampling.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from msgspec import Meta, field

from dragoman.config.sampling import Sampling
from dragoman.config.schema import Combination, SearchConfig
from dragoman.config.section import Positive, Section, doc, keys_of
from dragoman.errors import OptionError
from dragoman.systems import MAX_THREADS, DeviceName
from dragoman.text.languages import language_code

Values = Mapping[str, Any]
"""The values of options by name; what is left out is not given."""


class Rule(NamedTuple):
    """A condition under which options are refused."""

    options: tuple[str, ...]
    """The rule is about the first of these that is given; without any it is about all values."""
    broken: Callable[[Values], bool]
    message: str | Callable[[Values], str]
    """As in `OptionError`, or what makes it of the values."""


def is_given(value: object) -> bool:
    """Whether the value of an option is more than the absence of one."""
    return value is not None and value is not False and value != () and value != []


def given(*names: str) -> Callable[[Values], bool]:
    """The condition that one of some options is given."""
    return lambda values: any(is_given(values.get(name)) for name in names)


def lacking(*names: str) -> Callable[[Values], bool]:
    """The condition that none of some options is given."""
    return lambda values: not any(is_given(values.get(name)) for name in names)


def literal(text: str) -> str:
    """Text as it stands in a message."""
    return text.replace("{", "{{").replace("}", "}}")


def refuse(rules: Iterable[Rule], values: Values) -> None:
    """Check options against rules, in their order.

    Raises:
        OptionError: the options break one; the message is that of the first.
    """
    for rule in rules:
        names = [name for name in rule.options if is_given(values.get(name))] if rule.options else [""]
        if names and rule.broken(values):
            message = rule.message if isinstance(rule.message, str) else rule.message(values)
            raise OptionError(message, names[0], values)


PAIRS = "SRC TGT, or one file with both sides (.tsv, .csv, .xlsx, .jsonl, .json, .tmx, .xliff, .po)"
COMPRESSION = "may be compressed (.gz, .xz, .zst)"
NBEST = "Moses n-best list"

Run = Annotated[str, doc("run folder or exported folder", metavar="RUN", positional=True)]
Runs = Annotated[
    tuple[str, ...], doc("run folder or exported folder; several form an ensemble", metavar="RUN", positional=True)
]
Pairs = Annotated[tuple[str, ...], doc(f"{PAIRS}; {COMPRESSION}", positional=True)]
TokenisedReferences = Annotated[
    tuple[str, ...],
    doc("reference translations, tokenised; several files for several references", metavar="REF"),
]
Corpora = tuple[tuple[str, ...], ...]
INPUT = {"metavar": "FILE", "short": "-i"}


def output(what: str) -> Meta:
    """The description of `-o/--output`, the file to which `what` is written."""
    return doc(f"write {what} to this file", short="-o", kind="output")


Input = Annotated[str, doc("text to translate, one sentence a line", **INPUT)]
Threads = Annotated[int, Meta(ge=1, le=MAX_THREADS)]
Unsigned = Annotated[int, Meta(ge=0, le=2**32 - 1)]
"""A whole number of 32 bits, as the seeds of all generators are."""


def language_pair(description: str) -> Meta:
    """The description of an option that takes the codes of two languages, source and target."""
    return doc(description, metavar=("SRC", "TGT"), nargs=2, kind=language_code)


def too_many_files(name: str) -> Rule:
    """Refuse a corpus of more than two files."""

    def first(values: Values) -> tuple[str, ...] | None:
        return next((files for files in values[name] if len(files) > 2), None)

    def message(values: Values) -> str:
        files = first(values) or ()
        return (
            f"{{option}}: expected one or two files (source and target), not {len(files)}: {literal(' '.join(files))}; "
            "repeat {option} for each further corpus"
        )

    return Rule((name,), lambda values: first(values) is not None, message)


def about_files_of(name: str) -> Rule:
    """Refuse options of reading without the files that they are about."""
    return Rule(("columns", "encoding"), lacking(name), f"{{option}} requires {{{name}}}: it is about its files")


class CorpusOptions(Section):
    """How corpora are read."""

    columns: Annotated[
        tuple[str, ...] | None,
        doc(
            "columns of the two sides in files with both: names or numbers of columns, or keys (default: found from a "
            "header, from names of languages and from the text)",
            metavar=("SOURCE", "TARGET"),
            nargs=2,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        doc(
            "encoding of text that is not UTF-8 and has no byte order mark, such as cp949 (default: recognised where "
            "it is clear)",
            metavar="NAME",
        ),
    ] = None


CORPORA = Annotated[CorpusOptions, doc("how corpora are read")]


class Request(Section):
    """What a command is asked to do; the fields that are sections are groups of the help."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    @classmethod
    def arranged(cls, values: Values) -> Values:
        """Values as the command line has them, with positional names in their places."""
        return values

    def options(self) -> dict[str, Any]:
        """The values of all options by name."""
        return _flat(self)

    def check(self) -> None:
        """Check what its options require and exclude.

        Raises:
            OptionError: they break one of its rules.
        """
        refuse(self.rules, self.options())


class PairsRequest(Request, kw_only=True):
    """A request about given translations."""

    runs: Runs
    pairs: Pairs
    corpora: CORPORA = CorpusOptions()

    @classmethod
    def arranged(cls, values: Values) -> Values:
        """Separate runs from files: the files are the last name if it holds pairs, else the last two.

        An inflection table holds pairs where a folder stands before it: two files may be called `de.dev` and `en.dev`.
        """
        from dragoman.corpora.pair_files import INFLECTIONS, holds_pairs, pair_format

        names = [*values["runs"], *values["pairs"]]
        last = Path(names[-1])
        is_table = pair_format(last) in INFLECTIONS and all(map(os.path.isdir, names[-2:-1]))
        files = 1 if holds_pairs(last) or is_table else 2
        return {**values, "runs": names[:-files], "pairs": names[-files:]}


def _flat(section: Section) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, key in keys_of(type(section)).items():
        value = getattr(section, name)
        if isinstance(value, Section):
            values |= _flat(value)
        elif "keys" in key.spelling:
            values |= value
        else:
            values[name] = value
    return values


class Quiet(Section):
    """What is printed by a verb that runs no model."""

    quiet: Annotated[bool, doc("print errors only")] = False


class Compute(Section):
    """Where a model runs, and what is printed."""

    device: Annotated[DeviceName, doc("where the model runs; auto: the GPU if there is one")] = "auto"
    threads: Annotated[Threads | None, doc("CPU threads (default: one per core)")] = None
    quiet: Annotated[bool, doc("print errors only")] = False


class EnsembleOptions(Section):
    """How several models are combined."""

    combine: Annotated[
        Combination | None, doc("quantity that is averaged over the runs at each step (default: probabilities)")
    ] = None
    weights: Annotated[
        tuple[Positive, ...] | None,
        doc("weight of each run in the average, in the order of the runs (default: equal)", metavar="W"),
    ] = None


ONE_MODEL = EnsembleOptions()
ANYWHERE = Compute()

ENSEMBLE = Annotated[EnsembleOptions, doc("ensemble")]
GENERAL = Annotated[Compute, doc("general")]
PRINTED = Annotated[Quiet, doc("general")]

SEVERAL_RUNS_RULES = (
    Rule(
        ("combine", "weights"),
        lambda values: len(values["runs"]) == 1,
        "{option} requires several runs, but only {values[runs][0]} is given",
    ),
    Rule(
        ("weights",),
        lambda values: len(values["weights"]) != len(values["runs"]),
        lambda values: f"{{option}}: {len(values['weights'])} weights for {len(values['runs'])} runs; give one per run",
    ),
)

ENSEMBLE_RULES = (
    Rule(
        (),
        lambda values: not values["runs"] and not is_given(values.get("aligner")),
        lambda values: (
            f"{literal(' '.join(values['pairs']))}: give a run and two files (source and target), or a run and one "
            "file with both sides, whose name says so: .tsv (source, tab, target), .jsonl, .tmx and others"
        ),
    ),
    *SEVERAL_RUNS_RULES,
)


SearchChanges = Annotated[Mapping[str, Any], doc("", keys=SearchConfig, elsewhere=True)]
"""Values of keys of `SearchConfig` over those of the run."""
Drawing = Annotated[Mapping[str, Any], doc("", keys=Sampling)]
"""Values of keys of `Sampling` over the defaults."""


class SearchOptions(Section):
    """How translations are searched for."""

    search: SearchChanges = field(default_factory=dict)


SEARCH_HEADING = "search (default: the configuration of the run)"


class SamplingOptions(Section):
    """How translations are drawn."""

    sample: Annotated[bool, doc("sample translations instead of searching for the best")] = False
    sampling: Drawing = field(default_factory=dict)
