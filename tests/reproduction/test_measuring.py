"""What is read from the output of the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.reproduction.comparison import parse_comparison
from dragoman.reproduction.corpus import write_corpus, write_words
from dragoman.reproduction.decisions import Verdict, decide
from dragoman.reproduction.experiment import Experiment, Figure, Model, PartOfTestSet, PhraseBasedRow, System
from dragoman.reproduction.measuring import bleu_tokenizer, read_measurements
from dragoman.reproduction.plan import Plan, TrainingBudget
from dragoman.reproduction.results import collect
from dragoman.reproduction.steps import Outcome
from dragoman.text.lines import read_lines, write_lines


def _experiment(**parts: Any) -> Experiment:
    return Experiment(name="mine", family="mine", title="t", paper="p", item="i", digest="d", **parts)


def test_bleu_counts_what_fits_the_language_that_a_system_translates_into(tmp_path: Path) -> None:
    numbers = [f"{number:02}" for number in range(20)]
    write_lines(tmp_path / "x.en", [f"this is line {number} of them" for number in numbers])
    write_lines(tmp_path / "x.th", [f"นี่คือบรรทัดที่{number}ของทั้งหมด" for number in numbers])
    corpora = {name: [(tmp_path / "x.en", tmp_path / "x.th")] for name in ("train", "dev", "test")}
    experiment = _experiment(
        models={"to": Model(preset="standard"), "from": Model(preset="standard", swapped=True)},
        systems={name: System(label=name, models=(name,)) for name in ("to", "from")},
        metrics=("bleu",),
    )
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    (tmp_path / "systems").mkdir()
    for name, path in (("to", tmp_path / "x.th"), ("from", tmp_path / "x.en")):
        hypotheses = [line.replace("ของ", "แห่ง").replace("of", "in") for line in path.read_text().splitlines()]
        write_lines(tmp_path / plan.output("translate", name, 1), hypotheses)
    outcomes = {f"translate-{name}-seed1": Outcome("done", 1.0) for name in ("to", "from")}
    measured = read_measurements(plan, outcomes)
    assert [bleu_tokenizer(plan, name) for name in ("to", "from")] == ["char", "13a"]
    assert measured.scores("bleu", "to") == pytest.approx([75], abs=15)  # with 13a, a line is one word: 0
    assert measured.scores("bleu", "from") == pytest.approx([53.73], abs=0.01)  # (5/6 * 3/5 * 2/4 * 1/3) ** (1/4)


def test_bleu_without_unknown_words_is_that_of_the_sentences_that_all_models_know(tmp_path: Path) -> None:
    references = [f"this is line number {number} of the text" for number in range(20)]
    write_lines(tmp_path / "x.en", references)
    corpora = {name: [(tmp_path / "x.en", tmp_path / "x.en")] for name in ("train", "dev", "test")}
    experiment = _experiment(
        models={name: Model(preset="standard") for name in ("small", "large")},
        systems={name: System(label=name, models=(name,)) for name in ("small", "large")},
        metrics=("bleu", "known_bleu"),
    )
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    (tmp_path / "systems").mkdir()
    for name, known in (("small", range(8)), ("large", range(12))):
        right = [line if number in range(8) else "no" for number, line in enumerate(references)]
        write_lines(tmp_path / plan.output("translate", name, 1), right)
        write_lines(tmp_path / "systems" / f"{name}.known", [str(int(number in known)) for number in range(20)])
    steps = [f"{step}-{name}-seed1" for step in ("train", "translate") for name in ("small", "large")]
    outcomes = {step: Outcome("done", 1.0) for step in steps}
    measured = read_measurements(plan, outcomes)
    assert measured.scores("known_bleu", "large") == pytest.approx([100])
    assert measured.scores("bleu", "large") < 50
    result = collect(plan, outcomes, measured, "dragoman reproduce")
    assert result["metrics"]["known_bleu"] == "BLEU, no UNK (8 sentences)"
    alone = read_measurements(plan, {step: outcome for step, outcome in outcomes.items() if "large" in step})
    assert alone.scores("known_bleu", "large") < 100  # that model knows twelve


def test_an_unknown_word_is_one_word_for_bleu(tmp_path: Path) -> None:
    references = [f"this is line number {number} of the whole text" for number in range(20)]
    write_lines(tmp_path / "x.en", references)
    corpora = {name: [(tmp_path / "x.en", tmp_path / "x.en")] for name in ("train", "dev", "test")}
    experiment = _experiment(
        systems={name: System(label=name) for name in ("unknown", "wrong")},
        metrics=("bleu", "length_ratio"),
        figures={"lengths": Figure(kind="source-length", title="t", systems=("unknown", "wrong"), group=20)},
    )
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    (tmp_path / "systems").mkdir()
    for name, word in (("unknown", "<unk>"), ("wrong", "wrong")):
        write_lines(tmp_path / plan.output("translate", name, 1), [line.replace("line", word) for line in references])
    outcomes = {f"translate-{name}-seed1": Outcome("done", 1.0) for name in ("unknown", "wrong")}
    measured = read_measurements(plan, outcomes)
    assert measured.scores("bleu", "unknown") == measured.scores("bleu", "wrong") < 70
    assert measured.scores("length_ratio", "unknown") == [1]
    curves = collect(plan, outcomes, measured, "")["figures"]["lengths"]["ours"]
    assert curves["unknown"] == curves["wrong"]


def test_an_ensemble_of_the_models_of_all_seeds_has_one_value(tmp_path: Path) -> None:
    references = [f"this is line number {number} of the whole text" for number in range(20)]
    write_lines(tmp_path / "x.en", references)
    corpora = {name: [(tmp_path / "x.en", tmp_path / "x.en")] for name in ("train", "dev", "test")}
    experiment = _experiment(
        models={"m": Model(preset="standard")},
        systems={
            "one": System(label="one", models=("m",)),
            "all": System(label="all", models=("m",), seeds=3),
            "all-wide": System(label="all-wide", models=("m",), seeds=3),
        },
        metrics=("bleu",),
        seeds=3,
    )
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 3), {})
    (tmp_path / "systems").mkdir()
    for name in experiment.systems:
        for seed in plan.seeds_of(name):
            kept = {"one": 3, "all": 6, "all-wide": 8}[name]
            lines = [" ".join(line.split()[:kept]) for line in references]
            write_lines(tmp_path / plan.output("translate", name, seed), lines)
    outcomes = {
        f"translate-{name}-seed{seed}": Outcome("done", 1.0) for name in experiment.systems for seed in (1, 2, 3)
    }
    measured = read_measurements(plan, outcomes)
    assert [len(measured.scores("bleu", name)) for name in ("one", "all", "all-wide")] == [3, 1, 1]
    assert collect(plan, outcomes, measured, "")["systems"]["all"]["scores"]["bleu"]["deviation"] is None
    beside_one = decide(parse_comparison("bleu(all) > bleu(one)"), measured)
    assert (len(beside_one.values), beside_one.verdict) == (3, Verdict.HOLDS)
    of_two = decide(parse_comparison("bleu(all-wide) > bleu(all)"), measured)
    assert (len(of_two.values), of_two.verdict) == (1, Verdict.NOT_DECIDED)


def test_words_of_the_phrase_based_system_are_joined_before_they_are_compared(tmp_path: Path) -> None:
    lines = [f'Hello, the 2nd man\'s {number}-year-old dog (a "puppy")!' for number in range(20)]
    write_lines(tmp_path / "x.en", lines)
    corpora = {name: [(tmp_path / "x.en", tmp_path / "x.en")] for name in ("train", "dev", "test")}
    experiment = _experiment(
        systems={"smt": System(label="smt", phrase_based=PhraseBasedRow())},
        metrics=("dev_bleu", "bleu"),
    )
    corpus = write_corpus(tmp_path / "corpus", corpora, languages=("en", "en"))
    write_words(corpus)
    assert next(read_lines(corpus.words_path("dev", "target"))).split()[:6] == ["Hello", ",", "the", "2nd", "man", "'s"]
    plan = Plan(experiment, corpus, tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    (tmp_path / "systems").mkdir()
    for which, step in (("dev", "translate-dev"), ("test", "translate")):
        write_lines(tmp_path / plan.output(step, "smt", 1), read_lines(corpus.words_path(which, "target")))
    outcomes = {f"{step}-smt-seed1": Outcome("done", 1.0) for step in ("translate", "translate-dev")}
    measured = read_measurements(plan, outcomes)
    assert measured.scores("bleu", "smt") == pytest.approx([100])
    assert measured.scores("dev_bleu", "smt") == pytest.approx([100])


def test_a_side_without_spaces_has_no_words_for_a_phrase_based_system(tmp_path: Path) -> None:
    write_lines(tmp_path / "x.ja", ["これは短い文です。明日は雨が降るでしょう。"] * 20)
    write_lines(tmp_path / "x.en", ["It will rain tomorrow."] * 20)
    corpora = {name: [(tmp_path / "x.ja", tmp_path / "x.en")] for name in ("train", "dev", "test")}
    with pytest.raises(InputError, match="the source side of the train set has no spaces between words"):
        write_words(write_corpus(tmp_path / "corpus", corpora))


def test_a_part_by_length_is_the_same_share_of_each_test_set(tmp_path: Path) -> None:
    """Of lines with 1 to 30 words and of others with 31 to 60, so that the longest of both are none of the first."""
    corpora: dict[str, list[tuple[Path, Path]]] = {name: [] for name in ("train", "dev", "test")}
    for file, lengths in (("short", range(1, 31)), ("long", range(31, 61))):
        for side in ("en", "de"):
            write_lines(tmp_path / f"{file}.{side}", ["w " * length for length in lengths])
        for given in corpora.values():
            given.append((tmp_path / f"{file}.en", tmp_path / f"{file}.de"))
    experiment = _experiment(parts={"last": PartOfTestSet(start=0.9, end=1)})
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    parts = read_measurements(plan, {}).parts
    assert parts["last"].nonzero()[0].tolist() == [27, 28, 29, 57, 58, 59]
    assert parts["set-2"].nonzero()[0].tolist() == list(range(30, 60))


def test_a_figure_has_one_point_for_a_length(tmp_path: Path) -> None:
    """In groups of two: 1 and 4, nine times 4 and 4, 9 and 9. Those that end with 4 are one point at its mean."""
    lines = [" ".join(f"w{number}" for number in range(length)) for length in (9, *[4] * 19, 1, 9)]
    write_lines(tmp_path / "x", lines)
    corpora = {name: [(tmp_path / "x", tmp_path / "x")] for name in ("train", "dev", "test")}
    figure = Figure(kind="source-length", title="t", systems=("s",), group=2)
    experiment = _experiment(systems={"s": System(label="s")}, figures={"lengths": figure})
    plan = Plan(experiment, write_corpus(tmp_path / "corpus", corpora), tmp_path, TrainingBudget(1, None, 1.0, 1), {})
    (tmp_path / "systems").mkdir()
    write_lines(tmp_path / plan.output("translate", "s", 1), [line.replace("w8", "x") for line in lines])
    outcomes = {"translate-s-seed1": Outcome("done", 1.0)}
    points = collect(plan, outcomes, read_measurements(plan, outcomes), "")["figures"]["lengths"]["ours"]["s"]
    assert [position for position, _ in points] == [3.85, 9]
    assert points[0][1] == pytest.approx(100)
    assert points[1][1] < 100
