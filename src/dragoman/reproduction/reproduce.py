"""Runs an experiment: corpus, steps, measurements, decisions, pages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.config.building import build_config, override
from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.corpora.pairs import Corpora
from dragoman.errors import ConfigError
from dragoman.progress import Console
from dragoman.reproduction.command_words import assignments
from dragoman.reproduction.commands import steps_of
from dragoman.reproduction.corpus import write_corpus, write_words
from dragoman.reproduction.decisions import LEAST_SEEDS
from dragoman.reproduction.experiment import Experiment
from dragoman.reproduction.measuring import read_measurements
from dragoman.reproduction.phrases import write_phrases
from dragoman.reproduction.plan import Plan, TrainingBudget
from dragoman.reproduction.results import collect
from dragoman.reproduction.steps import Step, run_steps
from dragoman.reproduction.trainings import language_model_settings, model_settings
from dragoman.reproduction.writing import write_result
from dragoman.text.lines import write_lines

_PACKAGES = {"smt": ("kenlm", "thot"), "map": ("sklearn", "altair", "vl_convert")}
"""Packages of extras that commands need."""


QUICK = {"updates": 1000, "scale": 0.128, "seeds": 1}
"""Budget of a first look, some minutes a model."""


@dataclass(frozen=True)
class ReproductionRequest:
    """What the user asked for; None: as the experiment says."""

    corpora: Mapping[str, Corpora]
    """Of `train`, `dev` and `test`."""
    out: Path
    scale: float | None = None
    updates: int | None = None
    minutes: float | None = None
    seeds: int | None = None
    quick: bool = False
    """A first look: `QUICK` in place of what the experiment says."""
    jobs: int = 1
    device: str = "auto"
    """Of the commands that train or run a model."""
    join: int = 1
    languages: Sequence[str] | None = None
    settings: Sequence[str] = ()
    """`key=value`, over the settings of the experiment, for all translation models."""
    gold: Path | None = None
    command: str = ""
    """The command line, for the pages."""


def reproduce(experiment: Experiment, request: ReproductionRequest, console: Console) -> dict[str, Any]:
    """Run what is missing of an experiment, and write its pages to `out`/NAME/.

    Raises:
        ConfigError: a setting is not valid for a model.
        InputError: a corpus cannot be read or is too small.
        RunError: `out` has files of another experiment, corpus or setting.
        ModuleNotFoundError: a package of an extra is not installed.
    """
    usual = QUICK if request.quick else {key: getattr(experiment, key) for key in QUICK}
    budget = TrainingBudget(
        updates=request.updates or int(usual["updates"]),
        minutes=request.minutes,
        scale=request.scale or usual["scale"],
        seeds=request.seeds or int(usual["seeds"]),
    )
    if budget.seeds < LEAST_SEEDS:
        console.info(f"fewer than {LEAST_SEEDS} seeds decide no claim; their differences are shown")
    settings = dict(_assignment(text) for text in request.settings)
    if request.gold and request.join > 1:
        raise ConfigError("--gold: its links are those of single pairs; leave out --join")
    _require_valid_models(experiment, budget, settings)
    out = Path(os.path.realpath(request.out))
    corpus = write_corpus(out / "corpus", request.corpora, join=request.join, languages=request.languages)
    folder = out / experiment.family
    plan = Plan(experiment, corpus, folder, budget, settings, request.gold)
    if experiment.contrasts:
        (folder / plan.contrasts()).parent.mkdir(parents=True, exist_ok=True)
        write_lines(folder / plan.contrasts(), _contrasts(experiment))
    steps = steps_of(plan)
    _require_packages(steps)
    if experiment.needs_words():
        console.info("tokenising the corpus")
        write_words(corpus)
        write_phrases(plan)
    console.info(f"{experiment.title}: {len(steps)} steps, {request.jobs} at a time")
    outcomes = run_steps(steps, folder, jobs=request.jobs, device=request.device, console=console)
    result = collect(plan, outcomes, read_measurements(plan, outcomes), request.command)
    write_result(result, out / experiment.name, heat_maps=folder)
    return result


def _require_packages(steps: Sequence[Step]) -> None:
    """Check that the packages of extras that some command needs are installed, before others train for hours.

    Raises:
        ModuleNotFoundError: one is not; the command line names the extra.
    """
    for verb in dict.fromkeys(step.command[0] for step in steps):
        for package in _PACKAGES.get(verb, ()):
            if find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def _contrasts(experiment: Experiment) -> Iterator[str]:
    """The lines of the contrasts: a sentence, a tab, and the number of its contrast."""
    for number, contrast in enumerate(experiment.contrasts, 1):
        for text in (contrast.active, contrast.exchanged, contrast.passive):
            yield f"{text}\t{number}"


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: write key=value, for example training.batch.size=64")
    return key, value


def _require_valid_models(experiment: Experiment, budget: TrainingBudget, settings: Mapping[str, str]) -> None:
    """Build the configuration of every model, so that a mistake is reported before the first training.

    Raises:
        ConfigError: one is not valid.
    """
    for name in experiment.used_models():
        try:
            config = scale(load_preset(experiment.models[name].preset), budget.scale)
            config = override(config, assignments(model_settings(experiment, name)))
            build_config(override(config, [f"{key}={value}" for key, value in settings.items()]).values(), name)
        except ConfigError as error:
            raise ConfigError(f"experiment {experiment.name}, model {name}: {error}") from None
    for name in experiment.used_language_models():
        try:
            override_language(LanguageConfig(), assignments(language_model_settings(experiment, name, budget.scale)))
        except ConfigError as error:
            raise ConfigError(f"experiment {experiment.name}, language model {name}: {error}") from None
