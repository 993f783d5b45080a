"""Runs an experiment: corpus, steps, measurements, decisions, pages."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.config.building import build_config, override
from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.errors import ConfigError, RunError
from dragoman.progress import Console
from dragoman.reproduction.commands import steps_of
from dragoman.reproduction.corpus import SETS, write_corpus, write_words
from dragoman.reproduction.decisions import LEAST_SEEDS
from dragoman.reproduction.experiment import Experiment, load_experiment
from dragoman.reproduction.measuring import read_measurements
from dragoman.reproduction.page import html_page, markdown_page
from dragoman.reproduction.phrases import write_phrases
from dragoman.reproduction.plan import Plan, TrainingBudget
from dragoman.reproduction.results import collect
from dragoman.reproduction.steps import Step, run_steps, steps_done
from dragoman.reproduction.trainings import assignments, language_model_settings, model_scale, model_settings
from dragoman.requests.reproduction import ReproductionRequest
from dragoman.text.lines import replace_file, write_lines

_PACKAGES = {"smt": ("kenlm", "thot"), "map": ("sklearn", "altair", "vl_convert")}
"""Packages of extras that commands need."""


QUICK = {"updates": 1000, "scale": 0.128, "seeds": 1}
"""Budget of a first look, some minutes a model."""


def reproduce(request: ReproductionRequest, command: str, console: Console) -> dict[str, Any]:
    """Run the missing steps of an experiment, and write its pages, which show the command line, to `out`/NAME/.

    Raises:
        ConfigError: there is no such experiment, or a setting is not valid for a model.
        InputError: a corpus cannot be read or is too small.
        RunError: `out` has files of another experiment, corpus or setting.
        ModuleNotFoundError: a package of an extra is not installed.
    """
    experiment, wanted, text = load_experiment(request.experiment), request.run, request.text
    usual = QUICK if wanted.quick else {key: getattr(experiment, key) for key in QUICK}
    budget = TrainingBudget(
        updates=wanted.updates or int(usual["updates"]),
        minutes=wanted.minutes,
        scale=wanted.scale or usual["scale"],
        seeds=wanted.seeds or int(usual["seeds"]),
        quick=wanted.quick,
    )
    if wanted.quick:
        console.info("--quick is a first look and decides nothing; its differences may point the wrong way")
    elif budget.seeds < LEAST_SEEDS:
        console.info(f"fewer than {LEAST_SEEDS} seeds decide no claim; their differences are shown")
    settings = {}
    for setting in wanted.set:
        key, equals, settings[key] = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set {setting}: write key=value, for example training.batch.size=64")
    _require_valid_models(experiment, budget, settings)
    assert wanted.out is not None, "a rule of the request"
    out = Path(os.path.realpath(wanted.out))
    given = {name: [[Path(file) for file in files] for files in getattr(text, name)] for name in SETS}
    corpus = write_corpus(out / "corpus", given, join=text.join, languages=text.languages)
    folder = out / experiment.family
    plan = Plan(experiment, corpus, folder, budget, settings, Path(text.gold) if text.gold else None)
    steps = steps_of(plan)
    if not wanted.pages_only:
        _require_packages(steps)
    elif not steps_done(steps, folder):
        raise RunError(f"{folder}: nothing of {experiment.name} is done yet, so there is nothing to show")
    if experiment.contrasts:
        (folder / plan.contrasts()).parent.mkdir(parents=True, exist_ok=True)
        numbered = enumerate(experiment.contrasts, 1)
        lines = [f"{sentence}\t{number}" for number, contrast in numbered for sentence in contrast.sentences]
        write_lines(folder / plan.contrasts(), lines)
    if experiment.needs_words():
        console.info("tokenising the corpus")
        write_words(corpus)
        write_phrases(plan)
    for name in experiment.needed_systems():
        if not plan.can_be_measured(experiment.systems[name], 1):
            console.info(f"{experiment.systems[name].label}: needs {experiment.systems[name].seeds} seeds, is left out")
    if wanted.pages_only:
        outcomes = steps_done(steps, folder, without_weights=True)
    else:
        console.info(f"{experiment.title}: {len(steps)} steps, {wanted.jobs} at a time")
        outcomes = run_steps(steps, folder, jobs=wanted.jobs, device=wanted.device, console=console)
    result = collect(plan, outcomes, read_measurements(plan, outcomes), command)
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


def _require_valid_models(experiment: Experiment, budget: TrainingBudget, settings: Mapping[str, str]) -> None:
    """Build the configuration of every model, so that a mistake is reported before the first training.

    Raises:
        ConfigError: one is not valid.
    """
    for name in experiment.used_models():
        model = experiment.models[name]
        try:
            config = scale(load_preset(model.preset), model_scale(model, budget.scale))
            build_config(override(config, assignments(model_settings(experiment, name, settings))).values(), name)
        except ConfigError as error:
            raise ConfigError(f"experiment {experiment.name}, model {name}: {error}") from None
    for name in experiment.used_language_models():
        try:
            override_language(LanguageConfig(), assignments(language_model_settings(experiment, name, budget.scale)))
        except ConfigError as error:
            raise ConfigError(f"experiment {experiment.name}, language model {name}: {error}") from None


_AXES = {
    "learning-curves": ("updates", "ln(dev perplexity)"),
    "source-length": ("source length in words", "BLEU"),
    "reference-length": ("reference length in words", "BLEU"),
    "rarity": ("mean frequency rank of source words", "BLEU"),
    "states": ("first principal component", "second principal component"),
    "phrase-scores": ("ln p(target | source), network", "ln p(target | source), phrase table"),
}
_SCATTERED = ("states", "phrase-scores")


def write_result(result: Mapping[str, Any], folder: Path, *, heat_maps: Path) -> None:
    """Write the result of an experiment; the paths of its heat maps are relative to `heat_maps`.

    Raises:
        InputError: a file cannot be written.
    """
    from dragoman.report.pictures import draw_beside, draw_labelled

    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, bytes] = {}
    for name, figure in result["figures"].items():
        if not any(figure["ours"].values()):
            continue
        if "labels" in figure:
            pictures[name] = draw_labelled(figure["ours"]["points"], figure["labels"])
        else:
            across, upwards = _AXES[figure["kind"]]
            joined = figure["kind"] not in _SCATTERED
            pictures[name] = draw_beside(figure["paper"], figure["ours"], across=across, upwards=upwards, joined=joined)
    pictures |= {path: (heat_maps / path).read_bytes() for maps in result["heat maps"].values() for path in maps}
    files = {name: f"{name.replace('/', '-').removesuffix('.svg')}.svg" for name in pictures}
    for name, picture in pictures.items():
        with replace_file(folder / files[name], binary=True) as file:
            file.write(picture)
    inline = {name: f"data:image/svg+xml;base64,{b64encode(picture).decode()}" for name, picture in pictures.items()}
    for name, text in (
        ("result.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n"),
        ("result.md", markdown_page(result, files)),
        ("index.html", html_page(result, inline)),
    ):
        with replace_file(folder / name) as file:
            file.write(text)
