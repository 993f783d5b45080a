"""Experiments as data: a table or figure of a paper, the models that it compares, and the claims that it tests.

A YAML file of the package (folder `experiments`), or one of the user's, is one experiment. Models are presets with
settings, trained once for each seed; systems translate with one model, with an ensemble, or with a phrase-based system
that has scores of models; measured values and claims name systems. An experiment that is `based_on` another uses its
models, systems, parts and settings, and adds its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, dataclass_transform

import msgspec
from msgspec import Meta

from dragoman.config.building import parse_yaml
from dragoman.errors import ConfigError, did_you_mean
from dragoman.reproduction.comparison import WHOLE, Comparison, ScoreOf, parse_comparison
from dragoman.reproduction.decisions import METRICS
from dragoman.text.lines import read_lines

KNOWN = "known"
"""The part of the test set without words on either side that the models do not know: that of `KNOWN_BLEU`."""
KNOWN_BLEU = "known_bleu"
TEST_SET = "set-"
"""With a number from 1, such as set-2: the sentences of one of several test sets, in the given order; all sentences if
only one test set was given."""
SOURCE_EFFECT = "wrong_source_perplexity"
DEFAULT_METRICS = ("perplexity", "bleu")
PHRASE_METRICS = ("preferred_words", "score_correlation", "samples_in_table", "samples_in_text")
"""Metrics of the scores and samples of phrases, for phrase-based systems."""
MAP_METRICS = ("word_neighbours", "phrase_neighbours")
"""Metrics of maps of words and phrases."""
_FOLDER = "experiments"
_RECIPE = "_recipe"
"""The file with the shared recipe, beside the experiments of the package."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of an experiment."""


class Model(_Entry):
    """A model that is trained, once for each seed."""

    preset: str
    set: Mapping[str, Any] = {}
    """Dotted keys of the configuration -> values, over the preset and the settings of the experiment."""
    corpus: Literal["sentences", "phrase-pairs"] = "sentences"
    """phrase-pairs: the distinct pairs of the phrase table (Cho et al. 2014, section 3.1), of tokenised text."""
    swapped: bool = False
    """Trained from the second language of the corpus to the first."""
    length: Annotated[float, Meta(gt=0)] = 1.0
    """Updates (or minutes) of its training, as a multiple of the updates of the other models."""
    recipe: Literal["experiment", "preset"] = "experiment"
    """preset: its size and recipe are those of its preset; settings and scale are for the other models."""


class NeuralLanguageModel(_Entry):
    """A neural language model of the tokenised target side, trained once for each seed."""

    set: Mapping[str, Any] = {}
    """Dotted keys of the configuration -> values; the settings of the experiment are for translation models only."""
    sizes: Mapping[str, int | tuple[int, ...]] = {}
    """Dotted keys of the configuration -> sizes in the paper, which are multiplied by the scale."""


class PhraseBased(_Entry):
    """The phrase-based system of an experiment: options of `dragoman smt` -> values."""

    train: Mapping[str, Any] = {}
    tune: Mapping[str, Any] = {}
    search: Mapping[str, Any] = {}
    """Options of both `smt tune` and `smt nbest`: weights fit the search that they were tuned with."""
    nbest: Annotated[int, Meta(ge=1)] = 100
    """Distinct hypotheses of a sentence that are rescored."""


class PhraseBasedRow(_Entry):
    """What a row adds to the phrase-based system of the experiment, tuned once for each seed."""

    table: tuple[str, ...] = ()
    """Models of phrase pairs whose scores are in the phrase table, so that they take part in the search."""
    unknown: bool = False
    """The table also counts the words that the first of these models does not know."""
    language_models: tuple[str, ...] = ()
    """Language models that score the hypotheses of the n-best list; so do the models of the row."""
    choose: Literal["total", "average", "tuned", "oracle"] = "total"
    """The hypothesis of the list with the best total, the best average of total and scores (Sutskever et al. 2014,
    section 3.2), the best weighted sum of all features, weights tuned on the dev set, or the best sentence BLEU."""

    @property
    def table_name(self) -> str:
        """A name of the phrase table: rows with the same one share it, its weights and lists."""
        return "-".join((*self.table, *(["unknown"] if self.unknown else []))) or "plain"


class System(_Entry):
    """A way to translate the test set, measured once for each seed."""

    label: str
    """As in the table of the paper."""
    models: tuple[str, ...] = ()
    """Names of models; several form an ensemble."""
    phrase_based: PhraseBasedRow | None = None
    """Translates with the phrase-based system; the models score its hypotheses."""
    seeds: Annotated[int, Meta(ge=1)] = 1
    """An ensemble of each model with this many seeds."""
    search: Mapping[str, Any] = {}
    """Options of `dragoman translate` -> values; true for an option without a value."""
    dictionary: bool = False
    """Replace unknown words by a dictionary from the model's own alignments of the training text."""
    metrics: tuple[str, ...] | None = None
    """Metrics of this system; None: those of the experiment."""
    paper: Mapping[str, float | str] = {}
    """Metric -> the value in the paper."""


class PartOfTestSet(_Entry):
    """Part of the test set: the sentences from one share of it to another, sorted by their source length. It is taken
    from each of several test sets, as one may have longer sentences and another kind of text.
    """

    start: Annotated[float, Meta(ge=0, le=1)]
    end: Annotated[float, Meta(ge=0, le=1)]


class Claim(_Entry):
    """A statement of the paper, and the comparisons that test it."""

    claim: str
    """In the words of the paper, or close to them."""
    where: str
    """Section, table or figure of the paper."""
    expect: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Comparisons (comparison.py), all of which must hold."""

    def comparisons(self) -> list[Comparison]:
        """The parsed comparisons.

        Raises:
            ConfigError: one of them is not valid.
        """
        return [parse_comparison(text) for text in self.expect]

    def values(self) -> list[ScoreOf]:
        """The measured values that its comparisons name."""
        return [value for comparison in self.comparisons() for _, value in comparison.terms]


class Contrast(_Entry):
    """Three sentences that differ in one thing (Sutskever et al. 2014, figure 2)."""

    active: str
    exchanged: str
    """The same words with agent and patient exchanged: another meaning."""
    passive: str
    """The same meaning in the passive voice."""

    @property
    def sentences(self) -> tuple[str, str, str]:
        """All three."""
        return self.active, self.exchanged, self.passive


class Samples(_Entry):
    """Translations and alignments to look at, of the first seed."""

    systems: tuple[str, ...] = ()
    """Systems whose translations are shown."""
    longest: Annotated[int, Meta(ge=0)] = 0
    """Number of sentences, the longest of the test set."""
    heat_maps: tuple[str, ...] = ()
    """Models whose alignment weights are drawn."""
    drawn: Annotated[int, Meta(ge=1)] = 4
    """Number of sentences that are drawn, at random among those with the next two numbers of words."""
    words: tuple[int, int] = (10, 20)
    phrases_of: tuple[str, ...] = ()
    """Systems with scores in the phrase table: their best targets of some source phrases and samples are shown."""
    phrases: Annotated[int, Meta(ge=1)] = 4
    """Number of source phrases, of the frequent and of the rare ones."""


class Figure(_Entry):
    """A figure of the paper, drawn with the same axes from our measurements."""

    kind: Literal[
        "learning-curves",
        "source-length",
        "reference-length",
        "rarity",
        "states",
        "phrase-scores",
        "word-map",
        "phrase-map",
    ]
    title: str
    systems: tuple[str, ...]
    group: Annotated[int, Meta(ge=1)] = 200
    """Sentences of a group, for figures over length or rarity."""
    paper: Mapping[str, Mapping[float, float]] = {}
    """Name of a curve in the paper -> its points, x -> y."""


class Experiment(_Entry):
    """A table or figure of a paper; `name` is the name of its file."""

    name: str
    family: str
    """Name of the experiment at the root of `based_on`: they share their models and systems."""
    digest: str
    """SHA-256 of its file and of the files that it is based on: it shows whether claims were changed after a run."""
    title: str
    paper: str
    """Such as "Luong et al. 2015"."""
    item: str
    """Such as "table 1"."""
    based_on: str | None = None
    note: str = ""
    """What differs from the paper, and why."""
    recipe: Literal["presets", "shared"] = "presets"
    """presets: each translation model is trained by the recipe of its preset, which is the paper's; shared: all are
    trained by one recipe that fits small corpora, changed by `settings`, `updates` and `scale` of the experiment."""
    settings: Mapping[str, Any] = {}
    """Dotted keys of the configuration -> values, for all models."""
    updates: Annotated[int, Meta(ge=1)] = 1000
    scale: Annotated[float, Meta(gt=0)] = 1.0
    seeds: Annotated[int, Meta(ge=1)] = 3
    models: Mapping[str, Model] = {}
    language_models: Mapping[str, NeuralLanguageModel] = {}
    phrase_based: PhraseBased | None = None
    systems: Mapping[str, System] = {}
    shown: tuple[str, ...] | None = None
    """Systems of the table, in its order; None: all."""
    metrics: tuple[str, ...] = DEFAULT_METRICS
    """Metrics of the systems of this experiment that name none; also the columns of the table."""
    parts: Mapping[str, PartOfTestSet] = {}
    contrasts: tuple[Contrast, ...] = ()
    samples: Samples = Samples()
    claims: Mapping[str, Claim] = {}
    figures: Mapping[str, Figure] = {}

    def rows(self) -> list[str]:
        """Names of the systems of the table, in its order."""
        return list(self.systems) if self.shown is None else list(self.shown)

    def measured(self, system: str) -> tuple[str, ...]:
        """The metrics of a system."""
        own = self.systems[system].metrics
        return self.metrics if own is None else own

    def used_models(self) -> list[str]:
        """Names of the models that the systems of this experiment use, in the order of `models`."""
        used = {name for system in self.needed_systems() for name in self.systems[system].models}
        used |= {name for row in self._phrase_based_rows() for name in row.table}
        used |= set(self.samples.heat_maps)
        return [name for name in self.models if name in used]

    def used_language_models(self) -> list[str]:
        """Names of the language models that the systems of this experiment use, in the order of `language_models`."""
        used = {name for row in self._phrase_based_rows() for name in row.language_models}
        return [name for name in self.language_models if name in used]

    def needs_words(self) -> bool:
        """Whether tokenised text and phrases of it are used: by a phrase-based system, or to measure maps."""
        metrics = {metric for name in self.needed_systems() for metric in self.measured(name)}
        trained = any(self.models[name].corpus == "phrase-pairs" for name in self.used_models())
        return trained or bool(self._phrase_based_rows()) or bool(metrics & set(MAP_METRICS))

    def _phrase_based_rows(self) -> list[PhraseBasedRow]:
        rows = (self.systems[name].phrase_based for name in self.needed_systems())
        return [row for row in rows if row is not None]

    def needed_systems(self) -> list[str]:
        """Names of the systems that the table, the claims or the figures use, in the order of `systems`."""
        needed = {*self.rows(), *self.samples.systems, *self.samples.phrases_of}
        needed |= {name for figure in self.figures.values() for name in figure.systems}
        for claim in self.claims.values():
            needed |= {system for value in claim.values() for system in value.systems}
        return [name for name in self.systems if name in needed]


def experiment_names() -> list[str]:
    """The names of the experiments that come with the package, sorted."""
    folder = resources.files("dragoman") / _FOLDER
    names = (entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return sorted(name.removesuffix(".yaml") for name in names if not name.startswith("_"))


def load_experiment(name: str) -> Experiment:
    """Load an experiment of the package by its name, or one of the user's by the path of its YAML file.

    Raises:
        ConfigError: there is no such experiment, or it is not valid.
        InputError: the file cannot be read.
    """
    texts: dict[str, str] = {}
    values = _merged(name, texts)
    digest = hashlib.sha256("".join(texts.values()).encode()).hexdigest()
    family = [one for one in texts if one != _RECIPE][-1]
    try:
        experiment = msgspec.convert(
            {"name": Path(name).stem, "family": Path(family).stem, "digest": digest, **values}, Experiment
        )
    except msgspec.ValidationError as error:
        raise ConfigError(f"experiment {name}: {error}") from None
    _require_consistent(experiment)
    return experiment


def _merged(name: str, texts: dict[str, str]) -> dict[str, Any]:
    """The values of an experiment, with those that it takes from the experiment that it is based on. The text of each
    of these experiments is added to `texts` by its name.
    """
    if name in texts:
        raise ConfigError(f"experiment {name}: experiments are based on each other in a cycle")
    if name.endswith((".yaml", ".yml")):
        texts[name] = "\n".join(read_lines(name))
    elif name in (names := experiment_names()):
        texts[name] = _package_file(name)
    else:
        near = did_you_mean(name, names, 3)
        raise ConfigError(f"no experiment named {name!r}{near}; see `dragoman reproduce list`")
    values = parse_yaml(texts[name], f"experiment {name}")
    if values.get("recipe") == "shared":
        texts[_RECIPE] = _package_file(_RECIPE)
        recipe = parse_yaml(texts[_RECIPE], _RECIPE)
        values = {**recipe, **values, "settings": {**recipe["settings"], **_mapping(values, "settings", name)}}
    base = values.get("based_on")
    if isinstance(base, str):
        below = _merged(base, texts)
        metrics = below.get("metrics", list(DEFAULT_METRICS))
        below["systems"] = {
            key: {"metrics": metrics, **_mapping({"system": system}, "system", base)}
            for key, system in _mapping(below, "systems", base).items()
        }
        for key in ("settings", "models", "language_models", "systems", "parts"):
            values[key] = {**_mapping(below, key, base), **_mapping(values, key, name)}
        if "phrase_based" in below:
            values.setdefault("phrase_based", below["phrase_based"])
        for key in ("recipe", "updates", "scale", "seeds", "metrics"):
            if key in below:
                values.setdefault(key, below[key])
    return values


def _package_file(name: str) -> str:
    return (resources.files("dragoman") / _FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def _mapping(values: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    mapping = values.get(key, {})
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"experiment {name}: {key} is a mapping, not {type(mapping).__name__}")
    return mapping


def _require_consistent(experiment: Experiment) -> None:
    """Check that every name that is used exists, and that every system and every claim can be measured.

    Raises:
        ConfigError: one does not, or cannot.
    """
    known: dict[str, Collection[str]] = {
        "metric": METRICS,
        "system": experiment.systems,
        "model": experiment.models,
        "language model": experiment.language_models,
        "part": [WHOLE, *experiment.parts],
    }
    for where, what, names in _names_used(experiment):
        for name in names:
            if name not in known[what]:
                near = did_you_mean(name, list(known[what]))
                raise ConfigError(f"experiment {experiment.name}: {where}: no {what} named {name!r}{near}")
    for name in experiment.systems:
        for fault in _faults_of_system(experiment, name):
            raise ConfigError(f"experiment {experiment.name}: system {name}: {fault}")
    for name, claim in experiment.claims.items():
        for value in claim.values():
            if any(value.metric not in experiment.measured(system) for system in value.systems):
                raise ConfigError(f"experiment {experiment.name}: claim {name}: {value} is not measured")


def _names_used(experiment: Experiment) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each use of names: where it stands, what the names are of, and the names."""
    yield "metrics", "metric", experiment.metrics
    yield "shown", "system", experiment.rows()
    for name, system in experiment.systems.items():
        where, row = f"system {name}", system.phrase_based or PhraseBasedRow()
        yield where, "model", (*system.models, *row.table)
        yield where, "language model", row.language_models
        yield where, "metric", system.metrics or ()
        yield f"{where}: paper", "metric", system.paper
    yield "samples", "system", (*experiment.samples.systems, *experiment.samples.phrases_of)
    yield "samples", "model", experiment.samples.heat_maps
    for name, figure in experiment.figures.items():
        yield f"figure {name}", "system", figure.systems
    for name, claim in experiment.claims.items():
        for value in claim.values():
            yield f"claim {name}", "metric", [value.metric]
            yield f"claim {name}", "system", value.systems
            yield f"claim {name}", "part", [value.part] if not value.part.startswith(TEST_SET) else []


def _faults_of_system(experiment: Experiment, name: str) -> Iterator[str]:
    """What a system lacks to translate, and which of its metrics cannot be measured."""
    system, row = experiment.systems[name], experiment.systems[name].phrase_based
    metrics, phrase_metrics = set(experiment.measured(name)), set(experiment.measured(name)) & set(PHRASE_METRICS)
    models = [experiment.models[model] for model in system.models]
    if system.seeds > experiment.seeds:
        yield f"has models of {system.seeds} seeds, but the experiment has {experiment.seeds}"
    if len({model.swapped for model in models}) > 1:
        yield "its models translate in both directions"
    if row is None:
        if not models:
            yield "give models, or phrase_based"
        if experiment.phrase_based is None and any(model.corpus == "phrase-pairs" for model in models):
            yield "a model of phrase pairs needs phrase_based with the options of `dragoman smt`"
        if phrase_metrics:
            yield f"{', '.join(sorted(phrase_metrics))} can be measured of phrase_based alone"
        return
    table = [experiment.models[model] for model in row.table]
    if experiment.phrase_based is None:
        yield "the experiment has no phrase_based with the options of `dragoman smt`"
    if any(model.swapped for model in (*models, *table)):
        yield "its models are swapped, but the phrase-based system is not"
    if any(model.corpus == "sentences" for model in table):
        yield "the models of its table need corpus: phrase-pairs"
    if any(model.corpus != "sentences" for model in models):
        yield "its models score whole hypotheses; those of phrase pairs belong to its table"
    if row.unknown and not table:
        yield "unknown counts words that are unknown to a model of its table, which has none"
    scored = bool(models or row.language_models)
    if scored != (row.choose in ("average", "tuned")):
        yield f"choose: {row.choose} {'ignores the scores' if scored else 'needs scores'} of its hypotheses"
    others = metrics - phrase_metrics - {"bleu", "known_bleu", "dev_bleu", "length_ratio"}
    if others:
        yield f"{', '.join(sorted(others))} cannot be measured of a phrase-based system"
    if phrase_metrics - {"preferred_words"} and not table:
        yield "it has no table with scores to be compared or a model to sample from"
