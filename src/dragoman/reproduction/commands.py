"""The steps of an experiment: training of every model with every seed, and measuring of every system.

All systems of a seed are measured before the next seed begins, so that an interrupted experiment has complete tables of
fewer seeds. The commands of phrase-based systems are in `phrase_based.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.reproduction.experiment import SOURCE_EFFECT, System
from dragoman.reproduction.phrase_based import phrase_based_steps
from dragoman.reproduction.plan import Plan
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
            if not plan.can_be_measured(system, seed):
                continue
            for step in (*_trainings(plan, system, seed), *_measuring(plan, name, system, seed)):
                steps.setdefault(step.name, step)
    for model in plan.experiment.samples.heat_maps:
        steps[f"heatmap-{model}"] = _heat_maps(plan, model)
    return list(steps.values())


def _trainings(plan: Plan, system: System, seed: int) -> Iterator[Step]:
    """Train the models of a system."""
    for model, member in plan.members(system, seed):
        yield from training_corpus(plan, model)
        yield training(plan, model, member)


def _measuring(plan: Plan, name: str, system: System, seed: int) -> Iterator[Step]:
    if system.phrase_based is not None:
        yield from phrase_based_steps(plan, name, system.phrase_based, seed)
        return
    swapped = plan.swapped(name)
    source, target = (plan.text("test", side) for side in plan.sides(swapped))
    members = plan.members(system, seed)
    runs = tuple(str(plan.run(model, member)) for model, member in members)
    needs = tuple(f"train-{model}-seed{member}" for model, member in members)
    metrics = plan.experiment.measured(name)
    if {"bleu", "log_bleu", "length_ratio"} & set(metrics):
        out = plan.output(name, seed, "hypotheses.xz")
        words: tuple[str, ...] = ("translate", *runs, "-i", source, "-o", str(out), *options(system.search))
        if system.dictionary:
            yield from _dictionary(plan, swapped)
            words += ("--replace-unk", "--dictionary", str(plan.dictionary(swapped)))
            needs = (*needs, f"dictionary-{plan.dictionary(swapped).stem}")
        yield Step(f"translate-{name}-seed{seed}", (*words, *THREAD), out, needs)
    if "dev_bleu" in metrics:
        out = plan.output(name, seed, "dev-hypotheses.xz")
        dev = plan.text("dev", plan.sides(swapped)[0])
        words = ("translate", *runs, "-i", dev, "-o", str(out), *options(system.search))
        yield Step(f"translate-dev-{name}-seed{seed}", (*words, *THREAD), out, needs)
    if "perplexity" in metrics:
        out = plan.output(name, seed, "scores.xz")
        yield _scoring(f"score-{name}-seed{seed}", (*runs, source, target), out, needs)
    if SOURCE_EFFECT in metrics:
        out = plan.output(name, seed, "wrong-scores.xz")
        wrong = plan.text("test", f"wrong-{plan.sides(swapped)[0]}")
        yield _scoring(f"score-wrong-{name}-seed{seed}", (*runs, wrong, target), out, needs)
    if {"order_distance", "voice_distance"} & set(metrics):
        out = plan.output(name, seed, "states.tsv")
        words = ("map", *runs, "-i", str(plan.contrasts()), "--of", "sentences", "-o", str(out), *THREAD)
        yield Step(f"map-{name}-seed{seed}", words, out, needs)
    if "word_neighbours" in metrics:
        out = plan.output(name, seed, "words.tsv")
        which = ("--of", "words", "--side", "target", "--limit", str(MAPPED_WORDS))
        yield Step(f"map-words-{name}-seed{seed}", ("map", *runs, *which, "-o", str(out), *THREAD), out, needs)
    if "phrase_neighbours" in metrics:
        out = plan.output(name, seed, "phrases.tsv")
        words = ("map", *runs, "-i", str(plan.mapped_phrases()), "--of", "phrases", "-o", str(out), *THREAD)
        yield Step(f"map-phrases-{name}-seed{seed}", words, out, needs)
    if {"aer", "monotone"} & set(metrics):
        out = plan.output(name, seed, "links.xz")
        if plan.gold is None and "aer" in metrics:
            yield _pseudo_gold(plan)
        yield Step(f"align-{name}-seed{seed}", ("align", *runs, source, target, "-o", str(out), *THREAD), out, needs)


def _scoring(name: str, files: tuple[str, ...], out: Path, needs: tuple[str, ...]) -> Step:
    """Score the references."""
    return Step(name, ("score", *files, "--token-counts", "-o", str(out), *THREAD), out, needs)


def _heat_maps(plan: Plan, model: str) -> Step:
    """Draw the alignment weights of the references."""
    files = [plan.text("test", side) for side in plan.sides(plan.experiment.models[model].swapped)]
    out, lines = plan.heat_maps(model), ",".join(map(str, plan.drawn_lines()))
    words = ("heatmap", str(plan.run(model, 1)), *files, "--out", str(out), "--format", "svg", "--lines", lines)
    return Step(f"heatmap-{model}", (*words, *THREAD), out, (f"train-{model}-seed1",))


def _dictionary(plan: Plan, swapped: bool) -> Iterator[Step]:
    """Align the training text, and count the linked words."""
    source, target = (plan.text("train", side) for side in plan.sides(swapped))
    dictionary = plan.dictionary(swapped)
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
