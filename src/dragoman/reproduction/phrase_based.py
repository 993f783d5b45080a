"""The steps of rows with the phrase-based system.

Scores of phrase pairs by a network are columns of the phrase table, so that they take part in the search and their
weights are tuned with those of the system (Cho et al. 2014, section 4.1). Scores of whole hypotheses, by models and
language models, are added to n-best lists of the tuned system (Sutskever et al. 2014, section 3.6). In Cho et al. the
language model (CSLM) takes part in the search, too; here it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.reproduction.experiment import PhraseBasedRow
from dragoman.reproduction.plan import PHRASES, SMT, Plan
from dragoman.reproduction.steps import Step
from dragoman.reproduction.trainings import (
    QUIET,
    THREAD,
    TRAIN_SYSTEM,
    language_model_training,
    options,
    system_training,
    training,
    training_corpus,
)

SAMPLES = 50
"""Samples of a source phrase (Cho et al. 2014, section 4.3)."""


def phrase_based_steps(plan: Plan, name: str, row: PhraseBasedRow, seed: int) -> Iterator[Step]:
    """The steps that the metrics of a row need."""
    metrics, steps = set(plan.experiment.measured(name)), _RowSteps(plan, name, row, seed)
    yield system_training(plan)
    if row.table:
        yield from steps.score_table()
    if metrics & {"samples_in_table", "samples_in_text"} or name in plan.experiment.samples.phrases_of:
        yield steps.sample()
    sets = [
        which
        for which, wanted in (("dev", {"dev_bleu"}), ("test", {"bleu", "known_bleu", "length_ratio"}))
        if metrics & wanted
    ]
    if sets:
        yield from steps.translate(sets)


def table_step(row: PhraseBasedRow, seed: int) -> str:
    """The step that writes the phrase table of a row."""
    return f"phrase-scores-{row.table_name}-seed{seed}" if row.table else TRAIN_SYSTEM


@dataclass(frozen=True)
class _RowSteps:
    """The steps of a system with one seed."""

    plan: Plan
    name: str
    row: PhraseBasedRow
    seed: int

    @property
    def table(self) -> str:
        """A name of the table; rows with the same name share the table, its weights and its lists."""
        return f"{self.row.table_name}-seed{self.seed}"

    @property
    def scores(self) -> str:
        """A name of the table and of what scores its hypotheses, such as `plain.reversed-x5-seed1`."""
        system = self.plan.experiment.systems[self.name]
        several = [f"x{system.seeds}"] if system.seeds > 1 else []
        models = ["-".join((*system.models, *several))] if system.models else []
        return f"{'.'.join((self.row.table_name, *models, *self.row.language_models))}-seed{self.seed}"

    def runs(self, models: Sequence[str]) -> list[str]:
        """The run folders of models of this seed."""
        return [str(self.plan.run(model, self.seed)) for model in models]

    def trained(self, models: Sequence[str]) -> list[str]:
        """The steps that train these models."""
        return [f"train-{model}-seed{self.seed}" for model in models]

    def score_table(self) -> Iterator[Step]:
        """Put scores of the models into the table, for the phrases of the dev and test sets and the chosen ones."""
        plan, models = self.plan, self.row.table
        for model in models:
            yield from training_corpus(plan, model)
            yield training(plan, model, self.seed)
        system = plan.system(self.row, self.seed)
        words = (
            *("phrase-table", str(plan.system()), "--model", *self.runs(models)),
            *(("--unknown",) if self.row.unknown else ()),
            *("--filter", *(plan.words(text, "source") for text in ("dev", "test")), str(PHRASES)),
            *("-o", str(system), *THREAD),
        )
        needs = (TRAIN_SYSTEM, *self.trained(models))
        yield Step(table_step(self.row, self.seed), words, system / "moses.ini", needs)

    def sample(self) -> Step:
        """Sample target phrases from the first model of the table."""
        out, models = self.plan.output("samples", self.name, self.seed), self.row.table[:1]
        how = ("--sample", "--nbest", str(SAMPLES), "--seed", str(self.seed), "--format", "nbest")
        words = ("translate", *self.runs(models), "-i", str(PHRASES), *how, "-o", str(out), *THREAD)
        return Step(f"samples-{self.name}-seed{self.seed}", words, out, tuple(self.trained(models)))

    def translate(self, sets: list[str]) -> Iterator[Step]:
        """Tune, write n-best lists of the sets, add scores, and choose."""
        plan, row, seed = self.plan, self.row, str(self.seed)
        settings = plan.experiment.phrase_based
        assert settings is not None
        system, weights = str(plan.system(row, self.seed)), SMT / f"{self.table}.weights"
        dev = ("--source", plan.words("dev", "source"), "--reference", plan.words("dev", "target"))
        how = (*options(settings.tune), *options(settings.search), "--seed", seed)
        words: tuple[str, ...] = ("smt", "tune", system, *dev, *how, "-o", str(weights), *QUIET)
        yield Step(f"smt-tune-{self.table}", words, weights, (table_step(row, self.seed),))
        lists: dict[str, Step] = {}
        for which in dict.fromkeys((*(["dev"] if row.choose == "tuned" else []), *sets)):
            out = SMT / f"{self.table}.{which}.nbest.gz"
            how = ("--feature-weights", str(weights), "--nbest", str(settings.nbest), "--distinct")
            files = ("-i", plan.words(which, "source"), "-o", str(out))
            words = ("smt", "nbest", system, *how, *options(settings.search), *files, *QUIET)
            lists[which] = Step(f"smt-nbest-{which}-{self.table}", words, out, (f"smt-tune-{self.table}",))
            yield lists[which]
            if row.choose in ("average", "tuned"):
                for model in row.language_models:
                    yield language_model_training(plan, model, self.seed)
                lists[which] = self.rescore(which, lists[which])
                yield lists[which]
        criterion: tuple[str, ...] = ()
        needs: tuple[str, ...] = ()
        if row.choose == "tuned":
            yield (tune := self.tune_list(lists["dev"], weights))
            criterion, needs = ("--feature-weights", str(tune.output)), (tune.name,)
        elif row.choose == "average":
            neural = ["Neural"] if plan.experiment.systems[self.name].models else []
            criterion = ("--average", *neural, *(["NeuralLM"] if row.language_models else []))
        for which in sets:
            step = "translate" if which == "test" else "translate-dev"
            out = plan.output(step, self.name, self.seed)
            if row.choose == "oracle":
                criterion = ("--oracle", plan.words(which, "target"))
            words = ("rerank", str(lists[which].output), *criterion, "-o", str(out), *QUIET)
            yield Step(f"{step}-{self.name}-seed{seed}", words, out, (lists[which].name, *needs))

    def rescore(self, which: str, made: Step) -> Step:
        """Add scores to an n-best list; rows with the same scores share the list."""
        members = self.plan.members(self.plan.experiment.systems[self.name], self.seed)
        words: tuple[str, ...] = ("rescore", str(made.output))
        if members:
            language = self.plan.corpus.segmentation("target").language
            runs = (str(self.plan.run(model, member)) for model, member in members)
            ensemble = ("--ensemble",) if len(members) > 1 else ()
            source = ("--source", self.plan.text(which, "source"), "--tokenised", language)
            words += ("--model", *runs, *ensemble, *source)
        if self.row.language_models:
            words += ("--lm", *self.runs(self.row.language_models))
        out = SMT / f"{self.scores}.{which}.rescored.gz"
        trained = (f"train-{model}-seed{member}" for model, member in members)
        needs = (made.name, *trained, *self.trained(self.row.language_models))
        return Step(f"rescore-{which}-{self.scores}", (*words, "-o", str(out), *THREAD), out, needs)

    def tune_list(self, dev: Step, start: Path) -> Step:
        """Tune the weights of all features of a rescored list, from those of the system."""
        out = SMT / f"{self.scores}.tuned.weights"
        how = ("--reference", self.plan.words("dev", "target"), "--initial-weights", str(start), "--runs", "1")
        words = ("tune", str(dev.output), *how, "--seed", str(self.seed), "-o", str(out), *QUIET)
        return Step(f"tune-{self.scores}", words, out, (dev.name,))
