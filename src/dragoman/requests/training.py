"""Requests for configurations, trainings, the demonstration and language models."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dragoman.config.section import Count, Positive, Section, doc
from dragoman.requests.shared import (
    COMPRESSION,
    CORPORA,
    GENERAL,
    INPUT,
    PAIRS,
    PRINTED,
    Compute,
    Corpora,
    CorpusOptions,
    Quiet,
    Request,
    Rule,
    given,
    lacking,
    language_pair,
    output,
    too_many_files,
)
from dragoman.text.languages import language_code

Preset = Annotated[str | None, doc("name of a preset (see `dragoman presets`)", metavar="PRESET", positional=True)]
File = Annotated[str | None, doc("configuration file, complete or partial", metavar="CONFIG.yaml", positional=True)]


class ConfigChanges(Section):
    """How the configuration of a model is changed, the same in every verb that builds one."""

    scale: Annotated[
        Positive | None,
        doc(
            "multiply all layer sizes by F: 0.25 turns 1000 units into 250. Initial values with a stated range are "
            "multiplied by 1 / sqrt(F), the clipping norm of plain SGD by sqrt(F). The window of local attention "
            "is chosen from the training text. Rates and the numbers of layers, words and sentences stay "
            "(docs/papers/small-sizes.md says why). Applied before --set",
            metavar="F",
        ),
    ] = None
    sizes_only: Annotated[
        bool, doc("with --scale: change layer sizes alone, not initial values, clipping norm or attention window")
    ] = False
    set: Annotated[
        tuple[str, ...],
        doc(
            "override configuration values; KEY is dotted, VALUE is YAML, for example training.epochs=5",
            metavar="KEY=VALUE",
        ),
    ] = ()


class Length(Section):
    """How long a training takes."""

    updates: Annotated[
        Count | None, doc("train for N updates in place of training.epochs; schedules are spread over them")
    ] = None
    minutes: Annotated[Positive | None, doc("stop training after N minutes and keep the best weights", metavar="N")] = (
        None
    )

    @property
    def settings(self) -> list[str]:
        """The settings KEY=VALUE that it stands for."""
        given = (("updates", self.updates), ("minutes", self.minutes))
        return [f"training.{name}={value}" for name, value in given if value is not None]


SCALE_RULES = (Rule(("sizes_only",), lacking("scale"), "{option}: has no effect without {scale} F"),)


class ConfigurationRequest(Request):
    """The complete configuration behind a preset."""

    preset: Preset = None
    train: Annotated[
        Corpora, doc(f"in place of PRESET, the training corpus to choose for: {PAIRS}; may be repeated")
    ] = ()
    changes: ConfigChanges = ConfigChanges()
    length: Length = Length()
    corpora: CORPORA = CorpusOptions()
    general: PRINTED = Quiet()

    rules: ClassVar = (
        Rule(
            (),
            lambda values: (values["preset"] is not None) == bool(values["train"]),
            "give either a PRESET or {train} FILES (see dragoman config --help)",
        ),
        too_many_files("train"),
        *SCALE_RULES,
    )


class DescriptionRequest(Request, kw_only=True):
    """The parts of a model."""

    what: Annotated[
        str, doc("preset name, configuration file or run folder", metavar="PRESET|CONFIG.yaml|RUN", positional=True)
    ]
    changes: ConfigChanges = ConfigChanges()
    vocabulary: Annotated[
        tuple[Count, ...] | None,
        doc("vocabulary sizes, the four special symbols included", metavar=("SRC", "TGT"), nargs=2),
    ] = None
    json: Annotated[bool, doc("print one JSON object")] = False
    general: PRINTED = Quiet()

    rules: ClassVar = SCALE_RULES


class ModelConfiguration(Section):
    """The model, and how it is trained."""

    config: File = None
    start_from: Annotated[
        str | None,
        doc(
            "fine-tune a trained model: begin with its weights, vocabularies, segmentation and configuration, with a "
            "quarter of its learning rate, no warm-up and 10 epochs unless --set changes them",
            metavar="RUN",
            flag="--from",
        ),
    ] = None
    extend_vocabulary: Annotated[
        bool,
        doc(
            "with --from: add segments and characters of the text that the model lacks; each begins as the mean of the "
            "known segments that spell it"
        ),
    ] = False
    preset: Annotated[
        str | None,
        doc(
            "preset to start from (default: the preset named in CONFIG.yaml; without one standard, or characters for "
            "a text of single words: pronunciations, inflected forms, transliterations)",
            metavar="P",
        ),
    ] = None
    changes: ConfigChanges = ConfigChanges()


class TrainingCorpora(Section):
    """The text."""

    train: Annotated[Corpora, doc(f"training corpus: {PAIRS}; may be repeated")] = ()
    dev: Annotated[
        Corpora,
        doc(
            "development set for validation (default: a part of the training corpus is held out): "
            f"{PAIRS}; may be repeated"
        ),
    ] = ()
    mix: Annotated[
        tuple[Positive, ...] | None,
        doc(
            "relative weight of each --train: --mix 2 1 draws two pairs of the first corpus for each pair of the "
            "second (default: every pair once; see also training.mix.temperature)",
            metavar="W",
        ),
    ] = None
    languages: Annotated[
        tuple[str, ...] | None,
        language_pair(
            "languages of the text, such as de en (default: those of the names of the files, such as train.de "
            "train.en, or of their columns)"
        ),
    ] = None
    alignments: Annotated[
        tuple[str, ...],
        doc("word alignments for training.guided_alignment, Pharaoh format; one file for each --train", repeat=True),
    ] = ()
    dropped: Annotated[
        str | None, doc("list the training pairs that cleaning removes, with the reason", kind="output")
    ] = None


class TrainingRun(Section, kw_only=True):
    """The run folder that training writes, its length, and what happens to an existing run."""

    out: Annotated[str, doc("run folder to write", metavar="RUN", kind="folder")]
    length: Length = Length()
    resume: Annotated[bool, doc("continue the run in RUN exactly where it stopped", one_of="existing")] = False
    overwrite: Annotated[bool, doc("replace an existing run", one_of="existing")] = False


class RankOptions(Section):
    """How several processes train together."""

    rank_timeout: Annotated[
        Positive,
        doc(
            "how long processes wait for each other; it must exceed the time of a validation (default: 30.0)",
            metavar="MINUTES",
        ),
    ] = 30.0


class TrainingRequest(Request, kw_only=True):
    """The training of a translation model."""

    model: Annotated[ModelConfiguration, doc("configuration")] = ModelConfiguration()
    text: Annotated[TrainingCorpora, doc("corpora")] = TrainingCorpora()
    run: Annotated[TrainingRun, doc("run")]
    corpora: CORPORA = CorpusOptions()
    ranks: Annotated[RankOptions, doc("several processes, started by torchrun")] = RankOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            ("extend_vocabulary",),
            lacking("start_from", "resume"),
            "{option} requires --from RUN: it adds to the vocabulary of a trained model",
        ),
        Rule(
            (),
            lambda values: not values["train"] and not values["resume"],
            "{train} is required: give the source and the target file (see dragoman train --help)",
        ),
        too_many_files("train"),
        too_many_files("dev"),
        *SCALE_RULES,
    )


class DemoRequest(Request, kw_only=True):
    """The demonstration on a generated corpus."""

    source: Annotated[
        str | None,
        doc(
            "CLDR locale of the source language (default: en, or de for a target in English)",
            metavar="LOCALE",
            flag="--from",
        ),
    ] = None
    target: Annotated[
        str | None,
        doc(
            "CLDR locale of the target language (default: the language of your locale, or en)",
            metavar="LOCALE",
            flag="--to",
        ),
    ] = None
    out: Annotated[str, doc("run folder to write", metavar="RUN", kind="folder")] = "demo-run"
    overwrite: Annotated[bool, doc("replace an existing run")] = False
    minutes: Annotated[Positive | None, doc("stop training after N minutes", metavar="N")] = None
    general: GENERAL = Compute()


class LanguageModelConfiguration(Section):
    """The language model, and how it is trained."""

    config: File = None
    set: Annotated[
        tuple[str, ...],
        doc(
            "override configuration values; KEY is dotted, VALUE is YAML, for example model.recurrent.size=256",
            metavar="KEY=VALUE",
        ),
    ] = ()


class LanguageModelText(Section):
    """The text of one language."""

    train: Annotated[tuple[str, ...], doc(f"training text; {COMPRESSION}")] = ()
    dev: Annotated[tuple[str, ...], doc("text for validation (default: a part of the training text is held out)")] = ()
    language: Annotated[
        str | None,
        doc(
            "language of the text, such as en (default: that of the file names, such as train.en)",
            metavar="LANG",
            kind=language_code,
        ),
    ] = None


class LanguageModelTrainingRequest(Request, kw_only=True):
    """The training of a language model."""

    model: Annotated[LanguageModelConfiguration, doc("configuration")] = LanguageModelConfiguration()
    text: Annotated[LanguageModelText, doc("corpora")] = LanguageModelText()
    run: Annotated[TrainingRun, doc("run")]
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            (),
            lambda values: not values["train"] and not values["resume"],
            "{train} is required: give a text file (see dragoman lm train --help)",
        ),
        Rule(
            ("config", "train", "dev"),
            given("resume"),
            "{resume} uses the configuration and text of the run; leave CONFIG.yaml, {train} and {dev} out",
        ),
    )


LanguageModelRun = Annotated[str, doc("run folder written by `dragoman lm train`", metavar="LM", positional=True)]
ScoredText = Annotated[str, doc(f"text, one sentence a line; {COMPRESSION}", **INPUT)]


class LanguageModelScoringRequest(Request, kw_only=True):
    """The scores of lines under a language model."""

    run: LanguageModelRun
    input: ScoredText = "-"
    tokens: Annotated[bool, doc("print the log-probability of each token and of EOS, separated by spaces")] = False
    output: Annotated[str, output("the scores, one a line,")] = "-"
    general: GENERAL = Compute()


class PerplexityRequest(Request, kw_only=True):
    """The perplexity of a text under a language model."""

    run: LanguageModelRun
    input: ScoredText = "-"
    json: Annotated[bool, doc("print the result as JSON")] = False
    general: GENERAL = Compute()
