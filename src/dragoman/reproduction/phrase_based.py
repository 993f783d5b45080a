"""The steps of rows with the phrase-based system.

Scores of phrase pairs by a network are columns of the phrase table, so that they take part in the search and their
weights are tuned with those of the system (Cho et al. 2014, section 4.1). What scores whole hypotheses, models and
language models, is added to n-best lists of the tuned system (Sutskever et al. 2014, section 3.6). In Cho et al. the
language model (CSLM) takes part in the search, too; here it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.reproduction.experiment import PhraseBased, PhraseBasedRow
from dragoman.reproduction.plan import Plan
from dragoman.reproduction.steps import Step
from dragoman.reproduction.trainings import (
    QUIET,
    SYSTEM,
    THREAD,
    language_model_training,
    options,
    system_training,
    training,
    training_corpus,
)

SAMPLES = 50
"""Samples of a source phrase (Cho et al. 2014, section 4.3)."""
_HYPOTHESES = {"test": "hypotheses.xz", "dev": "dev-hypotheses.xz"}


def phrase_based_steps(plan: Plan, name: str, row: PhraseBasedRow, seed: int) -> Iterator[Step]:
    """The steps that the metrics of a row need."""
    metrics = set(plan.experiment.measured(name))
    yield system_training(plan)
    if row.table:
        yield from _scored_table(plan, row, seed)
    if metrics & {"samples_in_table", "samples_in_text"} or name in plan.experiment.samples.phrases_of:
        yield _samples(plan, name, row, seed)
    sets = [which for which, wanted in (("dev", {"dev_bleu"}), ("test", {"bleu", "length_ratio"})) if metrics & wanted]
    if sets:
        yield from _hypotheses(plan, name, row, seed, sets)


def table_step(row: PhraseBasedRow, seed: int) -> str:
    """The step that writes the phrase table of a row."""
    return f"phrase-scores-{row.table_name}-seed{seed}" if row.table else SYSTEM


def _scored_table(plan: Plan, row: PhraseBasedRow, seed: int) -> Iterator[Step]:
    """A system whose table has scores of the models, for the phrases of the dev and test sets and the chosen ones."""
    for model in row.table:
        yield from training_corpus(plan, model)
        yield training(plan, model, seed)
    system = plan.system(row, seed)
    wanted = (plan.words("dev", "source"), plan.words("test", "source"), str(plan.phrases()))
    words = (
        *("phrase-table", str(plan.system()), "--model", *(str(plan.run(model, seed)) for model in row.table)),
        *(("--unknown",) if row.unknown else ()),
        *("--filter", *wanted, "-o", str(system), *THREAD),
    )
    needs = (SYSTEM, *(f"train-{model}-seed{seed}" for model in row.table))
    yield Step(table_step(row, seed), words, system / "moses.ini", needs)


def _samples(plan: Plan, name: str, row: PhraseBasedRow, seed: int) -> Step:
    """Samples of target phrases."""
    out, model = plan.output(name, seed, "samples.gz"), row.table[0]
    how = ("--sample", "--nbest", str(SAMPLES), "--seed", str(seed), "--format", "nbest")
    words = ("translate", str(plan.run(model, seed)), "-i", str(plan.phrases()), *how, "-o", str(out), *THREAD)
    return Step(f"samples-{name}-seed{seed}", words, out, (f"train-{model}-seed{seed}",))


def _hypotheses(plan: Plan, name: str, row: PhraseBasedRow, seed: int, sets: list[str]) -> Iterator[Step]:
    """Tune, write n-best lists of the sets, add scores, and choose."""
    settings = plan.experiment.phrase_based
    assert settings is not None
    tune, weights = _tuning(plan, settings, row, seed)
    yield tune
    lists: dict[str, tuple[str, Path]] = {}
    for which in dict.fromkeys((*(("dev",) if row.choose == "tuned" else ()), *sets)):
        out = plan.smt(f"{row.table_name}-seed{seed}.{which}.nbest.gz")
        how = ("--feature-weights", str(weights), "--nbest", str(settings.nbest), "--distinct")
        files = (*options(settings.search), "-i", plan.words(which, "source"), "-o", str(out))
        words: tuple[str, ...] = ("smt", "nbest", str(plan.system(row, seed)), *how, *files, *QUIET)
        step = Step(f"smt-nbest-{which}-{row.table_name}-seed{seed}", words, out, (tune.name,))
        yield step
        lists[which] = step.name, out
        if row.choose in ("average", "tuned"):
            *before, step = _rescoring(plan, name, row, seed, which, lists[which])
            yield from (*before, step)
            lists[which] = step.name, step.output
    criterion: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    if row.choose == "tuned":
        step = _weights_of_list(plan, name, seed, weights, lists["dev"])
        yield step
        criterion, needs = ("--feature-weights", str(step.output)), (step.name,)
    elif row.choose == "average":
        criterion = ("--average", *_features(plan, name, row))
    for which in sets:
        made, path = lists[which]
        out = plan.output(name, seed, _HYPOTHESES[which])
        if row.choose == "oracle":
            criterion = ("--oracle", plan.words(which, "target"))
        prefix = "translate" if which == "test" else "translate-dev"
        words = ("rerank", str(path), *criterion, "-o", str(out), *QUIET)
        yield Step(f"{prefix}-{name}-seed{seed}", words, out, (made, *needs))


def _tuning(plan: Plan, settings: PhraseBased, row: PhraseBasedRow, seed: int) -> tuple[Step, Path]:
    """Tune the weights of the system, from its initial ones."""
    out = plan.smt(f"{row.table_name}-seed{seed}.weights")
    dev = ("--source", plan.words("dev", "source"), "--reference", plan.words("dev", "target"))
    how = (*options(settings.tune), *options(settings.search), "--seed", str(seed))
    words = ("smt", "tune", str(plan.system(row, seed)), *dev, *how, "-o", str(out), *QUIET)
    return Step(f"smt-tune-{row.table_name}-seed{seed}", words, out, (table_step(row, seed),)), out


def _rescoring(
    plan: Plan, name: str, row: PhraseBasedRow, seed: int, which: str, made: tuple[str, Path]
) -> Iterator[Step]:
    """Train what is missing, and add its scores to an n-best list; rows with the same scores share the list."""
    system = plan.experiment.systems[name]
    members = plan.members(system, seed)
    for model in row.language_models:
        yield language_model_training(plan, model, seed)
    words: tuple[str, ...] = ("rescore", str(made[1]))
    if members:
        language = plan.corpus.segmentation("target").language
        runs = (str(plan.run(model, member)) for model, member in members)
        ensemble = ("--ensemble",) if len(members) > 1 else ()
        source = ("--source", plan.text(which, "source"), "--tokenised", language)
        words += ("--model", *runs, *ensemble, *source)
    if row.language_models:
        words += ("--lm", *(str(plan.run(model, seed)) for model in row.language_models))
    scores = _scores_name(plan, name, row)
    out = plan.smt(f"{scores}-seed{seed}.{which}.rescored.gz")
    trained = [*members, *((model, seed) for model in row.language_models)]
    needs = (made[0], *(f"train-{model}-seed{member}" for model, member in trained))
    yield Step(f"rescore-{which}-{scores}-seed{seed}", (*words, "-o", str(out), *THREAD), out, needs)


def _weights_of_list(plan: Plan, name: str, seed: int, start: Path, dev: tuple[str, Path]) -> Step:
    """Tune the weights of all features of a rescored list, from those of the system."""
    row = plan.experiment.systems[name].phrase_based
    assert row is not None
    scores = _scores_name(plan, name, row)
    out = plan.smt(f"{scores}-seed{seed}.tuned.weights")
    how = ("--reference", plan.words("dev", "target"), "--initial-weights", str(start), "--runs", "1")
    words = ("tune", str(dev[1]), *how, "--seed", str(seed), "-o", str(out), *QUIET)
    return Step(f"tune-{scores}-seed{seed}", words, out, (dev[0],))


def _scores_name(plan: Plan, name: str, row: PhraseBasedRow) -> str:
    """A name for the table and what scores its hypotheses, such as `plain.reversed-x5`."""
    system = plan.experiment.systems[name]
    models = ["-".join((*system.models, *([f"x{system.seeds}"] if system.seeds > 1 else [])))] if system.models else []
    return ".".join((row.table_name, *models, *row.language_models))


def _features(plan: Plan, name: str, row: PhraseBasedRow) -> Iterator[str]:
    """The features that `dragoman rescore` adds."""
    if plan.experiment.systems[name].models:
        yield "Neural"
    if row.language_models:
        yield "NeuralLM"
