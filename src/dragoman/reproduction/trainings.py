"""The steps that train models, those that make their training text, and the words of their commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.reproduction.experiment import Experiment
from dragoman.reproduction.plan import Plan
from dragoman.reproduction.steps import Step

THREAD = ("--threads", "1", "--quiet")
"""Options of commands that run a model."""
QUIET = ("--quiet",)
"""Options of the other commands."""


def options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Options by their names, such as `max_length_factor`; true is an option without a value."""
    words: list[str] = []
    for key, value in values.items():
        option = f"--{key.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return tuple(words)


def assignments(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as `--set` reads them."""
    return tuple(f"{key}={written(value)}" for key, value in values.items())


def written(value: Any) -> str:
    """A value as it is written after `=` in --set."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(written(item) for item in value)}]"
    return str(value)


SYSTEM, PHRASE_PAIRS = "smt-train", "phrase-pairs"
"""Steps that train the phrase-based system, and write the distinct phrase pairs of its table."""


def training_corpus(plan: Plan, name: str) -> Iterator[Step]:
    """Make the training text of a model, if it is none of the corpus."""
    if plan.experiment.models[name].corpus == "phrase-pairs":
        yield system_training(plan)
        words = ("phrase-table", str(plan.system()), "--write-pairs", str(plan.phrase_pairs()), *QUIET)
        yield Step(PHRASE_PAIRS, words, plan.phrase_pairs(), (SYSTEM,))


def system_training(plan: Plan) -> Step:
    """Train the phrase-based system on the tokenised training text."""
    assert plan.experiment.phrase_based is not None
    sides = (plan.words("train", side) for side in ("source", "target"))
    how = options(plan.experiment.phrase_based.train)
    return Step(SYSTEM, ("smt", "train", "--train", *sides, "--out", str(plan.system()), *how, *QUIET), plan.system())


def training(plan: Plan, name: str, seed: int) -> Step:
    """Train a model."""
    model = plan.experiment.models[name]
    out = plan.run(name, seed)
    values = {**model_settings(plan.experiment, name), **plan.settings}
    budget, length = _length(plan, seed)
    sides = plan.sides(model.swapped)
    corpus: tuple[str, ...] = ("--train", str(plan.phrase_pairs()))  # a part of them is held out
    if model.corpus == "sentences":
        corpus = (
            *("--train", *(plan.text("train", side) for side in sides)),
            *("--dev", *(plan.text("dev", side) for side in sides)),
        )
    command = (
        *("train", "--preset", model.preset, "--scale", f"{plan.budget.scale:g}", "--out", str(out)),
        *(*corpus, *_languages(plan, model.swapped)),
        *(*budget, *THREAD, "--set", *assignments({**values, **length})),
    )
    resume = ("train", "--resume", "--out", str(out), *budget, *THREAD)
    needs = () if model.corpus == "sentences" else (PHRASE_PAIRS,)
    return Step(f"train-{name}-seed{seed}", command, out / "model.safetensors", needs, resume)


def language_model_training(plan: Plan, name: str, seed: int) -> Step:
    """Train a language model on the tokenised target side."""
    out = plan.run(name, seed)
    budget, length = _length(plan, seed)
    values = language_model_settings(plan.experiment, name, plan.budget.scale)
    command = (
        *("lm", "train", "--out", str(out)),
        *("--train", plan.words("train", "target"), "--dev", plan.words("dev", "target")),
        *(*budget, *THREAD, "--set", *assignments({**values, **length})),
    )
    resume = ("lm", "train", "--resume", "--out", str(out), *budget, *THREAD)
    return Step(f"train-{name}-seed{seed}", command, out / "model.safetensors", resumable=resume)


def model_settings(experiment: Experiment, name: str) -> dict[str, Any]:
    """Dotted keys -> values of a model over its preset."""
    model = experiment.models[name]
    words = {f"text.{side}.segmentation": "whitespace" for side in ("source", "target")}
    return {**(words if model.corpus == "phrase-pairs" else {}), **experiment.settings, **model.set}


def language_model_settings(experiment: Experiment, name: str, scale: float) -> dict[str, Any]:
    """Dotted keys -> values of a language model, its sizes at a scale."""
    model = experiment.language_models[name]
    sizes = {key: _scaled(size, scale) for key, size in model.sizes.items()}
    return {"text.segmentation": "whitespace", **sizes, **model.set}


def _scaled(size: int | tuple[int, ...], scale: float) -> int | list[int]:
    return max(1, round(scale * size)) if isinstance(size, int) else [max(1, round(scale * one)) for one in size]


def _length(plan: Plan, seed: int) -> tuple[tuple[str, ...], dict[str, int]]:
    """The options and the settings with the length of a training, and its seed."""
    if plan.budget.minutes:
        return ("--minutes", f"{plan.budget.minutes:g}"), {"training.seed": seed}
    return (), {"training.seed": seed, "training.updates": plan.budget.updates}


def _languages(plan: Plan, swapped: bool) -> tuple[str, ...]:
    """The option with the languages, where both are known."""
    codes = [code for code in plan.corpus.facts["languages"] if code is not None]
    if len(codes) < 2:
        return ()
    return ("--languages", *(reversed(codes) if swapped else codes))
