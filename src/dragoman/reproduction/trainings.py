"""The steps that train models, those that make their training text, and the words of their commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.reproduction.experiment import Experiment, Model
from dragoman.reproduction.plan import PHRASE_PAIRS, Plan
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


TRAIN_SYSTEM, WRITE_PAIRS = "smt-train", "phrase-pairs"
"""Steps that train the phrase-based system, and write the distinct phrase pairs of its table."""


def training_corpus(plan: Plan, name: str) -> Iterator[Step]:
    """Make the training text of a model, unless the corpus has it."""
    if plan.experiment.models[name].corpus == "phrase-pairs":
        yield system_training(plan)
        words = ("phrase-table", str(plan.system()), "--write-pairs", str(PHRASE_PAIRS), *QUIET)
        yield Step(WRITE_PAIRS, words, PHRASE_PAIRS, (TRAIN_SYSTEM,))


def system_training(plan: Plan) -> Step:
    """Train the phrase-based system on the tokenised training text."""
    assert plan.experiment.phrase_based is not None
    sides = (plan.words("train", side) for side in ("source", "target"))
    how = options(plan.experiment.phrase_based.train)
    words = ("smt", "train", "--train", *sides, "--out", str(plan.system()), *how, *QUIET)
    return Step(TRAIN_SYSTEM, words, plan.system())


def training(plan: Plan, name: str, seed: int) -> Step:
    """Train a model."""
    model = plan.experiment.models[name]
    if model.corpus == "phrase-pairs":
        corpus = ["--train", str(PHRASE_PAIRS)]  # a part of them is held out
    else:
        texts = {text: [plan.text(text, side) for side in plan.sides(model.swapped)] for text in ("train", "dev")}
        corpus = ["--train", *texts["train"], "--dev", *texts["dev"]]
    codes = [code for code in plan.corpus.facts["languages"] if code is not None]
    if len(codes) == 2:
        corpus += ["--languages", *(reversed(codes) if model.swapped else codes)]
    how = ("--preset", model.preset, "--scale", f"{model_scale(model, plan.budget.scale):g}")
    values = model_settings(plan.experiment, name, plan.settings)
    needs = (WRITE_PAIRS,) if model.corpus == "phrase-pairs" else ()
    return _training(plan, ("train",), how, corpus, values, name, seed, needs, model.length)


def language_model_training(plan: Plan, name: str, seed: int) -> Step:
    """Train a language model on the tokenised target side."""
    corpus = ("--train", plan.words("train", "target"), "--dev", plan.words("dev", "target"))
    values = language_model_settings(plan.experiment, name, plan.budget.scale)
    return _training(plan, ("lm", "train"), (), corpus, values, name, seed)


def _training(
    plan: Plan,
    verb: tuple[str, ...],
    how: tuple[str, ...],
    corpus: Sequence[str],
    values: Mapping[str, Any],
    name: str,
    seed: int,
    needs: tuple[str, ...] = (),
    factor: float = 1.0,
) -> Step:
    """Train for `factor` times the budget with settings; the last ones are the seed and the length of the training."""
    out, minutes = plan.run(name, seed), plan.budget.minutes
    budget = ("--minutes", f"{factor * minutes:g}") if minutes else ()
    length = {"training.seed": seed} | ({} if minutes else {"training.updates": round(factor * plan.budget.updates)})
    command = (
        *(*verb, *how, "--out", str(out), *corpus, *budget, *THREAD),
        *("--set", *assignments({**values, **length})),
    )
    resume = (*verb, "--resume", "--out", str(out), *budget, *THREAD)
    return Step(f"train-{name}-seed{seed}", command, out / "model.safetensors", needs, resume)


def model_scale(model: Model, scale: float) -> float:
    """The scale of a model in an experiment of a scale."""
    return scale if model.recipe == "experiment" else 1.0


def model_settings(experiment: Experiment, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys -> values of a model over its preset; `settings` are the user's, for all models of one recipe."""
    model = experiment.models[name]
    words = {f"text.{side}.segmentation": "whitespace" for side in ("source", "target")}
    below = words if model.corpus == "phrase-pairs" else {}
    if model.recipe == "preset":
        return {**below, **model.set}
    return {**below, **experiment.settings, **model.set, **settings}


def language_model_settings(experiment: Experiment, name: str, scale: float) -> dict[str, Any]:
    """Dotted keys -> values of a language model, its sizes at a scale."""

    def scaled(size: int) -> int:
        return max(1, round(scale * size))

    model = experiment.language_models[name]
    sizes = {
        key: scaled(size) if isinstance(size, int) else list(map(scaled, size)) for key, size in model.sizes.items()
    }
    return {"text.segmentation": "whitespace", **sizes, **model.set}
