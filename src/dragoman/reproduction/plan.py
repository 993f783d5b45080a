"""An experiment on a corpus with a budget, and where its files are.

    DIR/FAMILY/runs/MODEL-seedK           run folders
    DIR/FAMILY/systems/SYSTEM-seedK.*     hypotheses, scores of the references, links
    DIR/FAMILY/smt/*                      the phrase-based system, its tables, weights and n-best lists

Experiments that are based on one another are a family and share their models and systems. Commands run in DIR/FAMILY
and name their files relative to it, so that DIR may be moved.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.reproduction.corpus import Corpus
from dragoman.reproduction.experiment import Experiment, PhraseBasedRow, System

SMT = Path("smt")
"""The folder of the phrase-based system, relative to that of the family."""
PHRASE_PAIRS, PHRASES, MAPPED_PHRASES = SMT / "pairs.tsv.gz", SMT / "phrases", SMT / "phrases.map"
"""The distinct phrase pairs of the table; the source phrases that are measured, and those of a map, one a line."""
OUTPUTS = {
    "translate": "hypotheses.xz",
    "translate-dev": "dev-hypotheses.xz",
    "score": "scores.xz",
    "score-wrong": "wrong-scores.xz",
    "map": "states.tsv",
    "map-words": "words.tsv",
    "map-phrases": "phrases.tsv",
    "align": "links.xz",
    "samples": "samples.gz",
}
"""The first words of the name of a step that measures a system -> the kind of file that it writes."""


@dataclass(frozen=True)
class TrainingBudget:
    """What every training of an experiment may take."""

    updates: int
    minutes: float | None
    """Instead of updates."""
    scale: float
    seeds: int
    quick: bool = False
    """A first look, which decides nothing."""


@dataclass(frozen=True)
class Plan:
    """The steps of an experiment, and where its measurements will be."""

    experiment: Experiment
    corpus: Corpus
    folder: Path
    budget: TrainingBudget
    settings: Mapping[str, Any]
    """Settings of the user, over those of the experiment."""
    gold: Path | None = None
    """Gold links of the test set; None: those of a statistical aligner."""

    def run(self, model: str, seed: int) -> Path:
        """The run folder of a model, relative to `folder` as all paths of a plan."""
        return Path("runs", f"{model}-seed{seed}")

    def output(self, step: str, system: str, seed: int) -> Path:
        """The file that a step writes of a system."""
        return Path("systems", f"{system}-seed{seed}.{OUTPUTS[step]}")

    def seeds_of(self, system: str) -> range:
        """The seeds with which a system is measured: 1 alone for an ensemble of the models of all seeds."""
        one = self.experiment.systems[system]
        is_single = one.phrase_based is None and one.seeds >= self._circle
        return range(1, 2 if is_single else self.budget.seeds + 1)

    def members(self, system: System, seed: int) -> list[tuple[str, int]]:
        """The models of a system and their seeds: from `seed` on, in the circle of the seeds of the experiment.

        Fewer seeds in the budget do not change what a system consists of, so results of more seeds can be added later.
        Empty if a model belongs to it whose seed is beyond the budget.
        """
        seeds = [(seed - 1 + offset) % self._circle + 1 for offset in range(system.seeds)]
        return [(model, one) for model in system.models for one in seeds] if max(seeds) <= self.budget.seeds else []

    @property
    def _circle(self) -> int:
        """The number of seeds from which ensembles take their models."""
        return max(self.experiment.seeds, self.budget.seeds)

    def can_be_measured(self, system: System, seed: int) -> bool:
        """Whether all models of a system have seeds of the budget."""
        return bool(self.members(system, seed)) or not system.models

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

    def system(self, row: PhraseBasedRow | None = None, seed: int = 0) -> Path:
        """The folder of the phrase-based system, or of the system with the scores of a row in its table."""
        return SMT / (f"{row.table_name}-seed{seed}" if row is not None and row.table else "system")

    def gold_links(self) -> Path:
        """The gold links of the test set."""
        return Path(os.path.realpath(self.gold)) if self.gold else Path("systems", "test.links")

    def dictionary(self, swapped: bool) -> Path:
        """The dictionary that replaces unknown words."""
        return Path("systems", f"{'swapped' if swapped else 'forward'}.dictionary")

    def swapped(self, system: str) -> bool:
        """Whether a system translates from the target of the corpus into its source."""
        models = self.experiment.systems[system].models
        return bool(models) and self.experiment.models[models[0]].swapped

    def languages_of(self, system: str) -> tuple[str | None, str | None]:
        """The languages of the source and of the target of a system; None if unknown."""
        source, target = self.corpus.facts["languages"]
        return (target, source) if self.swapped(system) else (source, target)

    def sides(self, swapped: bool) -> tuple[str, str]:
        """The sides of the corpus that are source and target of a model or of a system."""
        return ("target", "source") if swapped else ("source", "target")

    def text(self, name: str, side: str) -> str:
        """A file of the corpus, relative to `folder`."""
        return os.path.relpath(self.corpus.path(name, side), self.folder)

    def words(self, name: str, side: str) -> str:
        """The tokenised file, relative to `folder`."""
        return os.path.relpath(self.corpus.words_path(name, side), self.folder)
