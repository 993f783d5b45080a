"""The steps of an experiment: training of every model with every seed, and measuring of every system.

All systems of a seed are measured before the next seed begins, so that an interrupted experiment has complete tables of
fewer seeds. The commands of phrase-based systems are in `phrase_based.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.reproduction.decisions import METRICS
from dragoman.reproduction.experiment import System
from dragoman.reproduction.phrase_based import phrase_based_steps
from dragoman.reproduction.plan import MAPPED_PHRASES, Plan
from dragoman.reproduction.steps import Step
from dragoman.reproduction.trainings import THREAD, options, training, training_corpus

ALIGNER = ("--aligner", "fast-align")
"""Statistical aligner of dictionaries and of links that stand in for gold ones."""
MAPPED_WORDS = 70
"""Words of a map, the most frequent ones."""


def steps_of(plan: Plan) -> list[Step]:
    """All steps, in the order in which they should run."""
    steps: dict[str, Step] = {}
    for seed in range(1, plan.budget.seeds + 1):
        for name in plan.experiment.needed_systems():
            system = plan.experiment.systems[name]
            if seed not in plan.seeds_of(name) or not plan.can_be_measured(system, seed):
                continue
            for step in _measuring(plan, name, system, seed):
                steps.setdefault(step.name, step)
    for model in plan.experiment.samples.heat_maps:
        steps[f"heatmap-{model}"] = _heat_maps(plan, model)
    return list(steps.values())


def _measuring(plan: Plan, name: str, system: System, seed: int) -> Iterator[Step]:
    """Train the models of a system, and run the commands that its metrics need."""
    members = plan.members(system, seed)
    for model, member in members:
        yield from training_corpus(plan, model)
        yield training(plan, model, member)
    if system.phrase_based is not None:
        yield from phrase_based_steps(plan, name, system.phrase_based, seed)
        return
    swapped = plan.swapped(name)
    sides = plan.sides(swapped)
    source, target = (plan.text("test", side) for side in sides)
    commands = {  # verb, and its words between the runs and the output
        "translate": ("translate", "-i", source),
        "translate-dev": ("translate", "-i", plan.text("dev", sides[0])),
        "score": ("score", source, target, "--token-counts"),
        "score-wrong": ("score", plan.text("test", f"wrong-{sides[0]}"), target, "--token-counts"),
        "map": ("map", "-i", str(plan.contrasts()), "--of", "sentences"),
        "map-words": ("map", "--of", "words", "--side", "target", "--limit", str(MAPPED_WORDS)),
        "map-phrases": ("map", "-i", str(MAPPED_PHRASES), "--of", "phrases"),
        "align": ("align", source, target),
    }
    runs = [str(plan.run(model, member)) for model, member in members]
    metrics = plan.experiment.measured(name)
    steps = {METRICS[metric].step for metric in metrics}
    for step, (verb, *words) in commands.items():
        if step not in steps:
            continue
        how = list(options(system.search)) if verb == "translate" else []
        needs = [f"train-{model}-seed{member}" for model, member in members]
        if step == "translate" and system.dictionary:
            dictionary = plan.dictionary(swapped)
            yield from _dictionary(plan, dictionary, swapped)
            how += ["--replace-unk", "--dictionary", str(dictionary)]
            needs.append(f"dictionary-{dictionary.stem}")
        if "aer" in metrics and step == "align" and plan.gold is None:
            yield _pseudo_gold(plan)
        out = plan.output(step, name, seed)
        yield Step(f"{step}-{name}-seed{seed}", (verb, *runs, *words, "-o", str(out), *how, *THREAD), out, tuple(needs))


def _heat_maps(plan: Plan, model: str) -> Step:
    """Draw the alignment weights of the references."""
    files = [plan.text("test", side) for side in plan.sides(plan.experiment.models[model].swapped)]
    out, lines = plan.heat_maps(model), ",".join(map(str, plan.drawn_lines()))
    words = ("heatmap", str(plan.run(model, 1)), *files, "--out", str(out), "--format", "svg", "--lines", lines)
    return Step(f"heatmap-{model}", (*words, *THREAD), out, (f"train-{model}-seed1",))


def _dictionary(plan: Plan, dictionary: Path, swapped: bool) -> Iterator[Step]:
    """Align the training text, and count the linked words."""
    source, target = (plan.text("train", side) for side in plan.sides(swapped))
    links = dictionary.with_suffix(".links")
    how = (*ALIGNER, "--symmetrize", "intersection", "--quiet")
    yield Step(f"links-{dictionary.stem}", ("align", source, target, *how, "-o", str(links)), links)
    # Unknown words are rare in a small corpus, so that a pair of words counts from the first time.
    words = ("dictionary", source, target, str(links), "--min-count", "1", "-o", str(dictionary), "--quiet")
    yield Step(f"dictionary-{dictionary.stem}", words, dictionary, (f"links-{dictionary.stem}",))


def _pseudo_gold(plan: Plan) -> Step:
    test, train = ([plan.text(name, side) for side in ("source", "target")] for name in ("test", "train"))
    out = plan.gold_links()
    how = (*ALIGNER, "--symmetrize", "grow-diag-final-and", "--train", *train, "--quiet")
    return Step("gold", ("align", *test, *how, "-o", str(out)), out)
