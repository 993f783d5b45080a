"""The commands of experiments: those of phrase-based rows are shared, and mistakes in them are named."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.cli.main import VERBS, find_verb
from dragoman.cli.shared.parsing import Parser
from dragoman.errors import ConfigError
from dragoman.reproduction.commands import steps_of
from dragoman.reproduction.corpus import Corpus
from dragoman.reproduction.experiment import experiment_names, load_experiment
from dragoman.reproduction.plan import Plan, TrainingBudget
from dragoman.reproduction.steps import on_device


def _plan(name: str, folder: Path, seeds: int = 2) -> Plan:
    corpus = Corpus(folder / "corpus", {"languages": ["en", "de"]})
    corpus.folder.mkdir(exist_ok=True)
    corpus.path("test", "source").write_text("a b c d e f g h i j k\n" * 30, encoding="utf-8")
    experiment = load_experiment(name)
    return Plan(experiment, corpus, folder / experiment.family, TrainingBudget(800, None, 0.128, seeds), {"a.b": "c"})


def test_rows_with_the_same_table_share_its_weights_and_lists(tmp_path: Path) -> None:
    steps = [step.name for step in steps_of(_plan("cho2014-table1", tmp_path, seeds=1))]
    assert len(steps) == len(set(steps))
    assert [name for name in steps if name.startswith(("smt-", "phrase-"))] == [
        "smt-train",
        *("smt-tune-plain-seed1", "smt-nbest-dev-plain-seed1", "smt-nbest-test-plain-seed1"),
        *("phrase-pairs", "phrase-scores-rnn-seed1"),
        *("smt-tune-rnn-seed1", "smt-nbest-dev-rnn-seed1", "smt-nbest-test-rnn-seed1"),
        "phrase-scores-rnn-unknown-seed1",
        *("smt-tune-rnn-unknown-seed1", "smt-nbest-dev-rnn-unknown-seed1", "smt-nbest-test-rnn-unknown-seed1"),
    ]
    for name in ("cho2014-tables2-3", "cho2014-figures4-5"):
        others = {step.name: step for step in steps_of(_plan(name, tmp_path, seeds=1))}
        shared = {step.name: step for step in steps_of(_plan("cho2014-table1", tmp_path, seeds=1))}
        for step in others.keys() & shared.keys():
            assert others[step] == shared[step]
        assert "train-rnn-seed1" in others
        assert not any(step.startswith("smt-tune") for step in others)


def test_every_step_comes_after_those_that_it_needs(tmp_path: Path) -> None:
    for name in ("cho2014-table1", "cho2014-tables2-3", "cho2014-figures4-5", "sutskever2014-table2"):
        before: set[str] = set()
        for step in steps_of(_plan(name, tmp_path)):
            assert set(step.needs) <= before, step
            before.add(step.name)


def test_models_of_phrase_pairs_get_the_table_and_language_models_their_scaled_sizes(tmp_path: Path) -> None:
    steps = {step.name: " ".join(step.command) for step in steps_of(_plan("cho2014-table1", tmp_path))}
    rnn, cslm = steps["train-rnn-seed2"], steps["train-cslm-seed2"]
    assert rnn.startswith("train --preset cho2014 --scale 0.128 --out runs/rnn-seed2 --train smt/pairs.tsv.gz --lang")
    assert "text.source.segmentation=whitespace text.target.segmentation=whitespace" in rnn
    assert rnn.endswith("a.b=c training.seed=2 training.updates=800")
    assert cslm.startswith(
        "lm train --out runs/cslm-seed2 --train ../corpus/train.target.words --dev ../corpus/dev.tar"
    )
    assert "model.embedding=66 model.feed_forward.layers=[197, 131]" in cslm
    assert cslm.endswith("training.seed=2 training.updates=800")


def test_a_training_of_another_length_has_its_multiple_of_the_updates_or_of_the_minutes(tmp_path: Path) -> None:
    plan = _plan("luong2015-standard", tmp_path)
    timed = replace(plan, budget=replace(plan.budget, minutes=6))
    updates, minutes = ({step.name: " ".join(step.command) for step in steps_of(one)} for one in (plan, timed))
    assert updates["train-local-p-seed1"].endswith("training.updates=800")
    assert updates["train-standard-seed1"].endswith("training.updates=533")
    assert "--minutes 6 " in minutes["train-local-p-seed1"]
    assert "--minutes 4.0002 " in minutes["train-standard-seed1"]


def test_a_model_with_the_recipe_of_its_preset_takes_neither_scale_nor_settings(tmp_path: Path) -> None:
    steps = {step.name: " ".join(step.command) for step in steps_of(_plan("luong2015-standard", tmp_path))}
    assert steps["train-standard-seed1"].startswith("train --preset standard --scale 1 --out runs/standard-seed1 ")
    assert steps["train-standard-seed1"].endswith("--quiet --set training.seed=1 training.updates=533")
    assert "--scale 0.128" in steps["train-local-p-seed1"]
    assert " a.b=c " in steps["train-local-p-seed1"]


def test_fewer_seeds_change_no_command_and_leave_out_the_ensembles_that_need_more(tmp_path: Path) -> None:
    """So that results of more seeds are added to those of fewer."""
    for name in ("sutskever2014-table1", "sutskever2014-table2"):
        plans = [{step.name: step for step in steps_of(_plan(name, tmp_path, seeds))} for seeds in range(1, 6)]
        for few, more in pairwise(plans):
            assert few.items() <= more.items(), name
    commands = {step.name: step.command for step in steps_of(_plan("sutskever2014-table1", tmp_path, seeds=3))}
    assert not {"translate-ensemble-seed1", "translate-pair-seed3"} & commands.keys()
    assert commands["translate-pair-seed2"][1:3] == ("runs/reversed-seed2", "runs/reversed-seed3")


def test_an_ensemble_of_the_models_of_all_seeds_is_one_system(tmp_path: Path) -> None:
    plan = _plan("sutskever2014-table1", tmp_path, seeds=5)
    steps = [step.name for step in steps_of(plan)]
    assert [name for name in steps if name.startswith("translate-ensemble-seed")] == ["translate-ensemble-seed1"]
    assert list(plan.seeds_of("ensemble")) == [1]
    assert list(plan.seeds_of("pair")) == [1, 2, 3, 4, 5]
    assert [name for name in steps if name.startswith("translate-pair-seed")] == [
        f"translate-pair-seed{seed}" for seed in plan.seeds_of("pair")
    ]


@pytest.mark.parametrize("name", experiment_names())
def test_every_command_is_accepted_also_with_a_device(name: str, tmp_path: Path) -> None:
    on_a_device = set()
    for step in steps_of(_plan(name, tmp_path, seeds=load_experiment(name).seeds)):
        for command in filter(None, (step.command, step.resumable)):
            given = on_device(command, "cuda")
            verb, words = find_verb(given)
            parser = Parser(prog=verb, description="")
            VERBS[verb].add_options(parser)
            options = parser.parse(words)
            if given != command:
                assert options.device == "cuda"
                on_a_device.add(verb)
            else:
                assert verb.startswith("smt") or verb in ("align", "dictionary", "phrase-table", "rerank", "tune"), verb
    assert "train" in on_a_device


GOOD = """\
title: t
paper: p
item: i
phrase_based: {nbest: 5}
models: {m: {preset: standard}, p: {preset: cho2014, corpus: phrase-pairs}, s: {preset: standard, swapped: true}}
language_models: {l: {}}
systems:
  x: {label: x, models: [m], phrase_based: {table: [p], language_models: [l], choose: tuned}}
metrics: [bleu]
"""


def test_mistakes_in_phrase_based_rows_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_experiment(str(path)).used_models() == ["m", "p"]
    for old, new, message in (
        ("phrase_based: {nbest: 5}\n", "", "the experiment has no phrase_based with the options of"),
        ("choose: tuned", "choose: total", "choose: total ignores the scores of its hypotheses"),
        ("models: [m], ", "", ""),
        (
            "models: [m], phrase_based: {table: [p], language_models: [l], ",
            "phrase_based: {",
            "choose: tuned needs sco",
        ),
        (
            "models: [m], phrase_based: {table: [p], language_models: [l], choose: tuned}",
            "seeds: 1",
            "give models, or p",
        ),
        ("table: [p]", "table: [m]", "the models of its table need corpus: phrase-pairs"),
        ("models: [m]", "models: [p]", "its models score whole hypotheses"),
        ("models: [m]", "models: [s]", "its models are swapped"),
        ("table: [p]", "unknown: true", "unknown counts words"),
        ("language_models: [l]", "language_models: [k]", "no language model named 'k'"),
        ("metrics: [bleu]", "metrics: [bleu, perplexity]", "perplexity cannot be measured of a phrase-based system"),
        ("table: [p]", "table: []", ""),
        ("nbest: 5", "nbest: 0", "nbest"),
        ("{label: x, ", "{label: x, seeds: 4, ", "has models of 4 seeds, but the experiment has 3"),
        (
            "  x: {label: x, models: [m], phrase_based: {table: [p], language_models: [l], choose: tuned}}",
            "  x: {label: x, models: [p]}",
            "",
        ),
    ):
        assert old in GOOD
        path.write_text(GOOD.replace(old, new), encoding="utf-8")
        if not message:
            load_experiment(str(path))
            continue
        with pytest.raises(ConfigError, match=message):
            load_experiment(str(path))
    row = "{label: x, models: [m], phrase_based: {table: [p], language_models: [l], choose: tuned}}"
    alone = GOOD.replace("phrase_based: {nbest: 5}\n", "").replace(row, "{label: x, models: [p]}")
    path.write_text(alone, encoding="utf-8")
    with pytest.raises(ConfigError, match="system x: a model of phrase pairs needs phrase_based with the options of"):
        load_experiment(str(path))
