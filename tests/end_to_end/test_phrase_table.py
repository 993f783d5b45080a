"""Neural columns of phrase tables through the command."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.corpora.corpus import read_pairs
from dragoman.runs.opening import open_run
from dragoman.scoring.phrases import read_table
from dragoman.scoring.scorer import Scorer
from dragoman.text.lines import read_lines, write_lines
from dragoman.workflows import phrase_tables

PHRASES = ("ab", "ab c", "c", "d e", "ef", "zz")
ROW, ENTRY = 8, 12
"""Bytes of a score in the file of computed scores, and of the head of an entry, which has the scores of a source."""
LINES = [
    f"{source} ||| {target} ||| 0.5 1e-3 1 0.25 2.718 ||| 0-0 ||| 7 {number} 1 |||"
    for source in PHRASES
    for number, target in enumerate((source.upper(), "A?", "AB C", source.upper()))
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.gz"
    write_lines(path, LINES)
    return path


def _words(table: Path, run_folder: Path, out: Path, *more: str) -> list[str]:
    return ["phrase-table", str(table), "--model", str(run_folder), "--output", str(out), "--quiet", *more]


def test_the_new_columns_are_probabilities_and_the_rest_stays(
    table: Path, run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.xz"
    assert main(_words(table, run_folder, out, "--reverse", str(run_folder), "--unknown")) == 0
    assert capsys.readouterr().out.splitlines() == [
        "# the last 3 of 8 scores are new; tune their weights",
        "[feature]",
        f"PhraseDictionaryMemory name=TranslationModel0 num-features=8 path={out} input-factor=0 output-factor=0",
        "",
        "[weight]",
        "TranslationModel0= 0.2 0.2 0.2 0.2 0.2 0.2 0.2 0.2",
    ]
    scorer = open_run(run_folder).scorer()
    for line, row in zip(LINES, read_table(out), strict=True):
        forward, reverse, unknown = row.scores[5:]
        (there,), (back,) = (
            list(scorer.score([pair])) for pair in ((row.source, row.target), (row.target, row.source))
        )
        assert forward == pytest.approx(math.exp(there.log_probability), rel=1e-3)
        assert reverse == pytest.approx(max(math.exp(back.log_probability), math.exp(-100)), rel=1e-3)
        assert unknown == pytest.approx(math.exp(sum(letter in "?Z" for letter in row.target)), rel=1e-6)
        added = row.line.removeprefix(line[: line.index(" ||| 0-0")]).removesuffix(line[line.index(" ||| 0-0") :])
        assert len(added.split()) == 3
        assert row.line.replace(added, "", 1) == line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.xz", "table.gz"]


def test_only_phrases_of_the_given_texts_are_scored(
    table: Path, run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert main(_words(table, run_folder, whole)) == 0
    write_lines(tmp_path / "one", ["x ab", "", "c d  e"])
    write_lines(tmp_path / "two", ["ab ef"])
    assert main(_words(table, run_folder, out, "--filter", str(tmp_path / "one"), str(tmp_path / "two"))) == 0
    expected = [row.scores for row in read_table(whole) if row.source in ("ab", "c", "d e", "ef")]
    assert len(expected) == 4 * 4
    for one, other in zip(expected, read_table(out), strict=True):
        assert other.scores == pytest.approx(one, rel=1e-4)
    write_lines(tmp_path / "one", ["x y"])
    assert main(_words(table, run_folder, tmp_path / "none", "--filter", str(tmp_path / "one"))) == 2
    assert f"{table}: no phrase pairs of the phrases in --filter" in capsys.readouterr().err


MOSES_INI = """\
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
Distortion
PhraseDictionaryMemory name=Phrases num-features=5 path=../table.gz
KENLM name=LM0 path=lm.arpa

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.7
PhrasePenalty0= 0.4
Distortion0= 0.2
Phrases= 0.3 0.2 0.5 0.1 0.1
LM0= 0.8
"""


def test_of_a_system_a_new_system_is_made(
    table: Path, run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system, out, single = tmp_path / "system", tmp_path / "all" / "new", tmp_path / "single"
    out.parent.mkdir()
    system.mkdir()
    (system / "moses.ini").write_text(MOSES_INI)
    assert main(_words(table, run_folder, single, "--unknown")) == 0
    assert main(_words(system, tmp_path / "missing", out)) == 2
    assert not out.exists(), "a model that is missing leaves nothing"
    capsys.readouterr()
    assert main(_words(system, run_folder, out, "--unknown")) == 0
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in out.iterdir()) == ["moses.ini", "phrase-table.gz"]
    assert list(read_lines(out / "phrase-table.gz")) == list(read_lines(single))
    written = (out / "moses.ini").read_text()
    assert "PhraseDictionaryMemory name=Phrases num-features=7 path=phrase-table.gz\n" in written
    assert "KENLM name=LM0 path=../../system/lm.arpa\n" in written
    assert "Phrases= 0.3 0.2 0.5 0.1 0.1 0.2 0\n" in written
    assert main(_words(system, run_folder, out)) == 2
    assert main(_words(system, run_folder, tmp_path / "other", "--name", "X")) == 2
    messages = capsys.readouterr().err.splitlines()
    assert messages[0].endswith(f"{out}: has a system already; give a new folder, or remove it")
    assert "--name: the table has its name from the moses.ini" in messages[1]
    pairs = tmp_path / "pairs.tsv"
    assert main(["phrase-table", str(system), "--write-pairs", str(pairs)]) == 0
    assert len(list(read_lines(pairs))) == len({tuple(line.split(" ||| ")[:2]) for line in LINES})


def test_each_pair_is_scored_once_and_no_more_after_a_stop(
    table: Path, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[tuple[str, str]] = []
    whole, out, journal = tmp_path / "whole", tmp_path / "out", tmp_path / "out.scores"
    score_window = Scorer._score_window

    def counting(self, window, at_once):
        scored.extend((one.source, text) for one in window for text in dict.fromkeys(one.targets))
        return score_window(self, window, at_once)

    def failing(self, window, at_once):
        if scored:
            raise KeyboardInterrupt
        return counting(self, window, at_once)

    monkeypatch.setattr("dragoman.scoring.scorer.WINDOW_TARGETS", 10)
    monkeypatch.setattr(Scorer, "_score_window", counting)
    assert main(_words(table, run_folder, whole)) == 0
    distinct = len({tuple(line.split(" ||| ")[:2]) for line in LINES})
    assert len(scored) == len(set(scored)) == distinct

    scored.clear()
    monkeypatch.setattr(Scorer, "_score_window", failing)
    assert main(_words(table, run_folder, out)) == 130
    before = set(scored)
    assert 0 < len(before) < distinct
    with journal.open("ab") as file:
        file.write(b"torn")  # what a kill in the middle of a row leaves

    monkeypatch.setattr(Scorer, "_score_window", counting)
    scored.clear()
    assert main(_words(table, run_folder, out)) == 0
    assert not before & set(scored)
    assert len(before) + len(scored) == distinct
    for one, other in zip(read_table(whole), read_table(out), strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-4)
        assert one.fields[3:] == other.fields[3:]
    assert not journal.exists()


def test_scores_of_another_table_or_other_columns_are_not_gone_on_with(
    table: Path, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(phrase_tables, "write", stop)
        assert main(_words(table, run_folder, out)) == 130
    head = (tmp_path / "out.scores").read_bytes().split(b"\n")[0]
    assert json.loads(head)["of"]["phrase-scores"]["columns"] == ["forward"]
    entries = ENTRY * len(PHRASES) + ROW * len(LINES)
    assert (tmp_path / "out.scores").stat().st_size == len(head) + 1 + entries
    write_lines(table, LINES[:3])
    assert main(_words(table, run_folder, out, "--unknown")) == 0
    assert [len(row.scores) for row in read_table(out)] == [7, 7, 7]


def test_rows_that_a_power_failure_damaged_are_computed_again(
    table: Path, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out, journal = tmp_path / "whole", tmp_path / "out", tmp_path / "out.scores"
    assert main(_words(table, run_folder, whole)) == 0

    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(phrase_tables, "write", stop)
        assert main(_words(table, run_folder, out)) == 130
    written = journal.read_bytes()
    journal.write_bytes(written[: -2 * ROW] + bytes(2 * ROW))  # the size reached the disk, the last rows did not
    assert main(_words(table, run_folder, out)) == 0
    for one, other in zip(read_table(whole), read_table(out), strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-4)


@pytest.mark.slow
def test_a_kill_loses_little(run_folder: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "table", tmp_path / "out"
    letters = "abcdef"
    lines = [
        f"{a}{b}{c} {d} ||| {a.upper()}{e.upper()} ||| 1"
        for a, b, c, d, e in (
            (a, b, c, d, e) for a in letters for b in letters for c in letters for d in letters for e in letters
        )
    ]
    write_lines(table, lines)
    words = [sys.executable, "-m", "dragoman", *_words(table, run_folder, out, "--threads", "1")]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    journal = tmp_path / "out.scores"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size > ROW * 1000) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not out.exists()
    size = journal.stat().st_size
    assert ROW * 1000 < size < ROW * len(lines)
    done = subprocess.run([word for word in words if word != "--quiet"], capture_output=True, text=True, check=True)
    (said,) = [line for line in done.stderr.splitlines() if line.endswith("phrase pairs were scored before")]
    assert 800 < int(said.split()[0]) <= size // ROW  # records have more bytes than their rows
    scored = list(read_table(out))
    assert [row.source for row in scored] == [line.split(" ||| ")[0] for line in lines]
    assert all(0 < row.scores[1] < 1 for row in scored)


def test_distinct_pairs_are_training_text(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.tsv.gz"
    assert main(["phrase-table", str(table), "--write-pairs", str(out)]) == 0
    pairs = list(read_lines(out))
    assert pairs == list(dict.fromkeys("\t".join(line.split(" ||| ")[:2]) for line in LINES))
    assert [(pair.source, pair.target) for pair in read_pairs([[out]])] == [tuple(pair.split("\t")) for pair in pairs]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--output", "O"], "--model and --output are required, or --write-pairs"),
        (["--model", "RUN"], "--model and --output are required, or --write-pairs"),
        (["--model", "RUN", "--output", "TABLE"], "TABLE: is both an input and an output"),
        (["--write-pairs", "O.txt"], "--write-pairs O.txt: give a name that ends in .tsv"),
        (["--write-pairs", "O.tsv", "--model", "RUN"], "--write-pairs computes no scores"),
        (["--model", "RUN", "--output", "O"], "TABLE:2: no scores in the third field"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(
    more: list[str],
    said: str,
    run_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "table"
    write_lines(table, ["a ||| b ||| 1", "a ||| c ||| "])
    places = {"TABLE": str(table), "RUN": str(run_folder)}
    assert main(["phrase-table", str(table), *(places.get(word, word) for word in more), "--quiet"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"dragoman: error: {said.replace('TABLE', str(table))}")
    assert not Path("O").exists()
