"""The steps of an experiment: training of every model with every seed, and measuring of every system.

    DIR/FAMILY/runs/MODEL-seedK           run folders
    DIR/FAMILY/systems/SYSTEM-seedK.*     hypotheses, scores of the references, links

All systems of a seed are measured before the next seed begins, so that an interrupted experiment has complete tables of
fewer seeds. Experiments that are based on one another are a family and share their models and systems. Commands run in
DIR/FAMILY and name their files relative to it, so that DIR may be moved.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.reproduction.corpus import Corpus
from dragoman.reproduction.experiment import SOURCE_EFFECT, Experiment, System
from dragoman.reproduction.steps import Step

ALIGNER = ("--aligner", "fast-align")
"""Statistical aligner of dictionaries and of links that stand in for gold ones."""
_THREAD = ("--threads", "1", "--quiet")


@dataclass(frozen=True)
class Budget:
    """What every training of an experiment may take."""

    updates: int
    minutes: float | None
    """Instead of updates."""
    scale: float
    seeds: int


@dataclass(frozen=True)
class Plan:
    """The steps of an experiment, and where its measurements will be."""

    experiment: Experiment
    corpus: Corpus
    folder: Path
    budget: Budget
    settings: Mapping[str, Any]
    """Settings of the user, over those of the experiment."""
    gold: Path | None = None
    """Gold links of the test set; None: those of a statistical aligner."""

    def run(self, model: str, seed: int) -> Path:
        """The run folder of a model, relative to `folder` as all paths of a plan."""
        return Path("runs", f"{model}-seed{seed}")

    def output(self, system: str, seed: int, kind: str) -> Path:
        """A file of a system, such as that of kind `hypotheses.xz`."""
        return Path("systems", f"{system}-seed{seed}.{kind}")

    def members(self, system: System, seed: int) -> list[tuple[str, int]]:
        """The models of a system and their seeds: from `seed` on, in a circle."""
        return [
            (model, (seed - 1 + place) % self.budget.seeds + 1)
            for model in system.models
            for place in range(min(system.seeds, self.budget.seeds))
        ]

    def contrasts(self) -> Path:
        """The sentences of the contrasts, each with its group."""
        return Path("systems", f"{self.experiment.name}.contrasts")

    def heat_maps(self, model: str) -> Path:
        """The folder with a model's heat maps, one SVG a line."""
        return Path("systems", f"{model}-seed1.heatmaps")

    def drawn_lines(self) -> list[int]:
        """Numbers, from 1, of the test sentences that are drawn: random ones of a middle length."""
        least, most = self.experiment.samples.words
        lengths = [len(line.split()) for line in self.corpus.lines("test", "source")]
        fitting = [number for number, length in enumerate(lengths, 1) if least <= length <= most]
        drawn = random.Random(1).sample(fitting, min(self.experiment.samples.drawn, len(fitting)))
        return sorted(drawn) or [1]

    def gold_links(self) -> Path:
        """The gold links of the test set."""
        return self.gold.resolve() if self.gold else Path("systems", "test.links")

    def dictionary(self, swapped: bool) -> Path:
        """The dictionary that replaces unknown words."""
        return Path("systems", f"{'swapped' if swapped else 'forward'}.dictionary")

    def swapped(self, system: str) -> bool:
        """Whether a system translates from the target of the corpus into its source."""
        return self.experiment.models[self.experiment.systems[system].models[0]].swapped

    def sides_of(self, system: str) -> tuple[str, str]:
        """The files of the source and of the target of a system."""
        return self.sides(self.swapped(system))

    def languages_of(self, system: str) -> tuple[str | None, str | None]:
        """The languages of the source and of the target of a system; None if unknown."""
        source, target = self.corpus.facts["languages"]
        return (target, source) if self.swapped(system) else (source, target)

    def sides(self, swapped: bool) -> tuple[str, str]:
        """The files of the source and of the target of a model."""
        return ("target", "source") if swapped else ("source", "target")

    def _text(self, name: str, side: str) -> str:
        return os.path.relpath(self.corpus.path(name, side), self.folder)

    def steps(self) -> list[Step]:
        """All steps, in the order in which they should run."""
        steps: dict[str, Step] = {}
        for seed in range(1, self.budget.seeds + 1):
            for name in self.experiment.needed_systems():
                system = self.experiment.systems[name]
                for model, member in self.members(system, seed):
                    training = self._training(model, member)
                    steps.setdefault(training.name, training)
                for step in self._measuring(name, system, seed):
                    steps.setdefault(step.name, step)
        for model in self.experiment.samples.heat_maps:
            steps[f"heatmap-{model}"] = self._heat_maps(model)
        return list(steps.values())

    def _training(self, name: str, seed: int) -> Step:
        model = self.experiment.models[name]
        out = self.run(name, seed)
        values = {**self.experiment.settings, **model.set, **self.settings, "training.seed": seed}
        budget: tuple[str, ...] = ("--minutes", f"{self.budget.minutes:g}") if self.budget.minutes else ()
        if not budget:
            values["training.updates"] = self.budget.updates
        sides = self.sides(model.swapped)
        command = (
            *("train", "--preset", model.preset, "--scale", f"{self.budget.scale:g}", "--out", str(out)),
            *("--train", *(self._text("train", side) for side in sides)),
            *("--dev", *(self._text("dev", side) for side in sides)),
            *self._languages(model.swapped),
            *(*budget, *_THREAD, "--set", *(f"{key}={written(value)}" for key, value in values.items())),
        )
        resume = ("train", "--resume", "--out", str(out), *budget, *_THREAD)
        return Step(f"train-{name}-seed{seed}", command, out / "model.safetensors", resumable=resume)

    def _languages(self, swapped: bool) -> tuple[str, ...]:
        """The option with the languages, where both are known."""
        codes = [code for code in self.corpus.facts["languages"] if code is not None]
        if len(codes) < 2:
            return ()
        return ("--languages", *(reversed(codes) if swapped else codes))

    def _measuring(self, name: str, system: System, seed: int) -> Iterator[Step]:
        swapped = self.swapped(name)
        source, target = (self._text("test", side) for side in self.sides(swapped))
        members = self.members(system, seed)
        runs = tuple(str(self.run(model, member)) for model, member in members)
        needs = tuple(f"train-{model}-seed{member}" for model, member in members)
        metrics = self.experiment.measured(name)
        if {"bleu", "length_ratio"} & set(metrics):
            out = self.output(name, seed, "hypotheses.xz")
            words: tuple[str, ...] = ("translate", *runs, "-i", source, "-o", str(out), *_options(system.search))
            if system.dictionary:
                yield from self._dictionary(swapped)
                words += ("--replace-unk", "--dictionary", str(self.dictionary(swapped)))
                needs = (*needs, f"dictionary-{self.dictionary(swapped).stem}")
            yield Step(f"translate-{name}-seed{seed}", (*words, *_THREAD), out, needs)
        if "perplexity" in metrics:
            out = self.output(name, seed, "scores.xz")
            words = ("score", *runs, source, target, "--token-counts", "-o", str(out), *_THREAD)
            yield Step(f"score-{name}-seed{seed}", words, out, needs)
        if SOURCE_EFFECT in metrics:
            out = self.output(name, seed, "wrong-scores.xz")
            wrong = self._text("test", f"wrong-{self.sides(swapped)[0]}")
            words = ("score", *runs, wrong, target, "--token-counts", "-o", str(out), *_THREAD)
            yield Step(f"score-wrong-{name}-seed{seed}", words, out, needs)
        if {"order_distance", "voice_distance"} & set(metrics):
            out = self.output(name, seed, "states.tsv")
            words = ("map", *runs, "-i", str(self.contrasts()), "--of", "sentences", "-o", str(out), *_THREAD)
            yield Step(f"map-{name}-seed{seed}", words, out, needs)
        if {"aer", "monotone"} & set(metrics):
            out = self.output(name, seed, "links.xz")
            if self.gold is None and "aer" in metrics:
                yield self._pseudo_gold()
            yield Step(
                f"align-{name}-seed{seed}", ("align", *runs, source, target, "-o", str(out), *_THREAD), out, needs
            )

    def _heat_maps(self, model: str) -> Step:
        """Draw the alignment weights of the references."""
        files = [self._text("test", side) for side in self.sides(self.experiment.models[model].swapped)]
        out, lines = self.heat_maps(model), ",".join(map(str, self.drawn_lines()))
        words = ("heatmap", str(self.run(model, 1)), *files, "--out", str(out), "--format", "svg", "--lines", lines)
        return Step(f"heatmap-{model}", (*words, *_THREAD), out, (f"train-{model}-seed1",))

    def _dictionary(self, swapped: bool) -> Iterator[Step]:
        """Align the training text, and count the linked words."""
        source, target = (self._text("train", side) for side in self.sides(swapped))
        dictionary = self.dictionary(swapped)
        links = dictionary.with_suffix(".links")
        how = (*ALIGNER, "--symmetrize", "intersection", "--quiet")
        yield Step(f"links-{dictionary.stem}", ("align", source, target, *how, "-o", str(links)), links)
        # Unknown words are rare in a small corpus, so that a pair of words counts from the first time.
        words = ("dictionary", source, target, str(links), "--min-count", "1", "-o", str(dictionary), "--quiet")
        yield Step(f"dictionary-{dictionary.stem}", words, dictionary, (f"links-{dictionary.stem}",))

    def _pseudo_gold(self) -> Step:
        test, train = ([self._text(name, side) for side in ("source", "target")] for name in ("test", "train"))
        out = self.gold_links()
        how = (*ALIGNER, "--symmetrize", "grow-diag-final-and", "--train", *train, "--quiet")
        return Step("gold", ("align", *test, *how, "-o", str(out)), out)


def _options(search: Mapping[str, Any]) -> tuple[str, ...]:
    words: list[str] = []
    for key, value in search.items():
        option = f"--{key.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return tuple(words)


def written(value: Any) -> str:
    """A value as it is written after `=` in --set."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(written(item) for item in value)}]"
    return str(value)
