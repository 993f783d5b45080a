"""What is measured of phrases and maps, on tables and samples that are small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.reproduction.corpus import Corpus
from dragoman.reproduction.decisions import METRICS
from dragoman.reproduction.experiment import Experiment, PhraseBasedRow, Samples, System
from dragoman.reproduction.maps import map_statistics
from dragoman.reproduction.phrases import log_scores, phrase_statistics, read_phrases, shown_phrases, write_phrases
from dragoman.reproduction.plan import Plan, TrainingBudget
from dragoman.text.lines import write_lines

ROW = PhraseBasedRow(table=("rnn",))
PLAIN = PhraseBasedRow()


def _plan(folder: Path, source: list[str], target: list[str], join: int = 1) -> Plan:
    """A plan with the tokenised training text only."""
    corpus = Corpus(folder / "corpus", {"join": join, "languages": ["en", "de"]})
    corpus.folder.mkdir()
    write_lines(corpus.words_path("train", "source"), source)
    write_lines(corpus.words_path("train", "target"), target)
    samples = Samples(phrases_of=("network",), phrases=1)
    systems = {"network": System(label="network")}
    experiment = Experiment(
        name="e", family="e", digest="", title="", paper="", item="", samples=samples, systems=systems
    )
    (folder / "systems").mkdir()
    return Plan(experiment, corpus, folder, TrainingBudget(1, None, 1.0, 1), {})


def _write_tables(plan: Plan, rows: list[tuple[str, str, float, float]]) -> None:
    """The table of the system and that with a network's scores: source, target, p by the table, p by the network."""
    for row in (PLAIN, ROW):
        (plan.folder / plan.system(row, 1)).mkdir(parents=True)
        lines = [
            f"{source} ||| {target} ||| 1 1 {table} 1{f' {network}' if row.table else ''}"
            for source, target, table, network in rows
        ]
        write_lines(plan.folder / plan.system(row, 1) / "phrase-table.gz", lines)


def test_frequent_and_rare_phrases_of_the_text_are_chosen_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.reproduction.phrases.CHOSEN", 2)
    text = ["a b c d"] * 30 + ["e f g h"] * 20 + ["i j k l", "m n o p"] * 3 + ["q r s t", "u , v w"]
    plan = _plan(tmp_path, text, text)
    write_phrases(plan)
    chosen = {(one.text, one.group, one.occurrences) for one in read_phrases(plan)}
    assert chosen == {
        ("a b c d", "frequent", 30),
        ("e f g h", "frequent", 20),
        ("i j k l", "rare", 3),
        ("m n o p", "rare", 3),
    }
    write_lines(plan.corpus.words_path("train", "source"), ["x y z x"])
    write_phrases(plan)
    assert {one.text for one in read_phrases(plan)} == {text for text, *_ in chosen}


def test_phrases_are_rare_by_the_pairs_that_were_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.reproduction.phrases.CHOSEN", 1)
    text = ["a b c d"] * 30 + ["e f g h"] * 3 + ["i j k l"] * 6
    plan = _plan(tmp_path, text, text, join=5)
    write_phrases(plan)
    assert [one.text for one in read_phrases(plan)] == ["a b c d", "i j k l"]  # 6: three pairs, each used twice


def test_best_targets_scores_and_samples_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.reproduction.phrases.CHOSEN", 2)
    plan = _plan(tmp_path, ["a b c d"] * 9 + ["e f g h"] * 5, ["x A B y", "C D E"] * 7)
    write_phrases(plan)
    assert [one.text for one in read_phrases(plan)] in (["a b c d", "e f g h"], ["e f g h", "a b c d"])
    first = read_phrases(plan)[0].text
    _write_tables(
        plan,
        [
            (first, "A B", 0.25, 0.5),
            (first, "A B C", 0.5, 0.125),
            (first, "A B C D", 0.5, 0.25),
            (first, "C D E", 0.125, 0.0625),
            ("e" if first.startswith("a") else "a", "E", 1.0, 1.0),
        ],
    )
    # Of two equally good targets of the table, of 3 and 4 words, the mean counts; the second phrase has no choice.
    assert phrase_statistics(plan, "preferred_words", "table", PLAIN, 1).tolist() == [[3.5, 1], [0, 0]]
    assert phrase_statistics(plan, "preferred_words", "network", ROW, 1).tolist() == [[2, 1], [0, 0]]
    statistics = phrase_statistics(plan, "score_correlation", "network", ROW, 1)
    table, network = np.log([0.25, 0.5, 0.5, 0.125, 1]), np.log([0.5, 0.125, 0.25, 0.0625, 1])
    expected = np.corrcoef(table, network)[0, 1]
    assert METRICS["score_correlation"].score(statistics.sum(axis=0)) == pytest.approx(expected)
    np.testing.assert_allclose(log_scores(plan, ROW, 1), np.stack([table, network], axis=1))
    samples = [("A B", -3), ("A B", -3), ("C D", -1), ("D E F", -2), ("C D E", -4)]
    lines = [f"0 ||| {text} ||| dragoman= {score} ||| {score}" for text, score in samples]
    lines.append("1 ||| y ||| dragoman= -1 ||| -1")
    write_lines(plan.folder / plan.output("samples", "network", 1), lines)
    assert phrase_statistics(plan, "samples_in_table", "network", ROW, 1).tolist() == [[3, 5], [0, 1]]
    assert phrase_statistics(plan, "samples_in_text", "network", ROW, 1).tolist() == [[4, 5], [1, 1]]
    (shown,) = shown_phrases(plan, "network", ROW, 1)
    assert shown.table == ["A B C", "A B C D", "A B"]
    assert shown.network == ["A B", "A B C D", "A B C"]
    assert shown.samples == [("C D", 1), ("D E F", 1), ("A B", 2), ("C D E", 1)]  # best scores first
    # What is read of a table is kept.
    for row in (PLAIN, ROW):
        (plan.folder / plan.system(row, 1) / "phrase-table.gz").unlink()
    assert phrase_statistics(plan, "preferred_words", "table", PLAIN, 1).tolist() == [[3.5, 1], [0, 0]]
    np.testing.assert_array_equal(phrase_statistics(plan, "score_correlation", "network", ROW, 1), statistics)
    assert shown_phrases(plan, "network", ROW, 1) == [shown]


def test_neighbours_of_a_map_are_compared_with_all_points(tmp_path: Path) -> None:
    plan = _plan(tmp_path, [], ["a red house", "a blue house", "red", "we see", "you see"])
    rows = {"red": (0, 0), "blue": (0, 1), "see": (5, 5)}
    lines = [f"{x}\t{y}\t\t{text}" for text, (x, y) in rows.items()]
    write_lines(plan.folder / plan.output("map-words", "network", 1), ["x\ty\tgroup\ttext", *lines])
    # red stands beside a, house, and the two ends; blue beside a and house; see beside we, you, and the end twice.
    alike, ends = 2 / np.sqrt(4 * 2), np.sqrt(2) / np.sqrt(4 * 4)
    expected = [[alike, (alike + ends) / 2], [alike, alike / 2], [0, ends / 2]]
    np.testing.assert_allclose(map_statistics(plan, "word_neighbours", "network", 1), expected)
    phrases = {"a b c": (0, 0), "a b d": (1, 0), "e f": (9, 9)}
    lines = [f"{x}\t{y}\t\t{text}" for text, (x, y) in phrases.items()]
    write_lines(plan.folder / plan.output("map-phrases", "network", 1), ["x\ty\tgroup\ttext", *lines])
    expected = [[2 / 3, 1 / 3], [2 / 3, 1 / 3], [0, 0]]
    np.testing.assert_allclose(map_statistics(plan, "phrase_neighbours", "network", 1), expected, atol=1e-12)
