"""`dragoman translate`: ensembles, constraints, unknown words, minimum Bayes risk, and `dragoman dictionary`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.text.lines import read_lines
from tests.schemas import require_fits

from .conftest import Corpus

LINES = ["ab c", "", "fed cba", "a"]
Said = pytest.CaptureFixture[str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return _file(tmp_path / "source", LINES)


@pytest.fixture(scope="module")
def words_run(train: Callable[..., int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of words between blanks that knows few of them: what it writes are mostly unknown words."""
    folder = tmp_path_factory.mktemp("runs") / "words"
    settings = ["training.epochs=1", "training.validation.metric=perplexity"]
    for side in ("source", "target"):
        settings += [f"text.{side}.segmentation=words", f"text.{side}.vocabulary=20"]
    assert train(folder, "--quiet", settings=settings) == 0
    return folder


@pytest.fixture(scope="module")
def other_run(train: Callable[..., int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reads words where the tiny run reads letters, and writes the same letters."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    assert train(folder, "--quiet", settings=["training.epochs=1", "text.source.segmentation=words"]) == 0
    return folder


def _file(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _translate(*words: str | Path) -> int:
    return main(["translate", *map(str, words), "--threads", "1", "--device", "cpu"])


@pytest.mark.parametrize("combination", ["probabilities", "log-probabilities", "logits"])
def test_runs_that_read_differently_translate_together(
    run_folder: Path, other_run: Path, source: Path, tmp_path: Path, combination: str, capsys: Said
) -> None:
    links = tmp_path / "links"
    weights = ["--weights", "50", "1"]  # so that the one that has learnt its task decides
    options = ["--combine", combination, *weights, "--alignments", links, "--format", "jsonl"]
    assert _translate(run_folder, other_run, "-i", source, *options) == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["translations"][0]["text"] for entry in entries] == ["AB C", "", "FED CBA", "A"]
    assert entries[0]["source_tokens"] == ["ab", "c"]
    assert list(read_lines(links)) == ["0-0 1-1", "", "0-0 1-1", "0-0"]


def test_a_run_with_itself_is_that_run(run_folder: Path, source: Path, capsys: Said) -> None:
    scores = []
    for runs in ([run_folder], [run_folder, run_folder]):
        assert _translate(*runs, "-i", source, "--format", "nbest", "--nbest", "2", "--beam", "3") == 0
        scores.append([line.split(" ||| ") for line in capsys.readouterr().out.splitlines()])
    for alone, twice in zip(*scores, strict=True):
        assert alone[:2] == twice[:2]
        assert float(alone[3]) == pytest.approx(float(twice[3]), abs=1e-4)


def test_constraints_bans_and_settings_are_obeyed(run_folder: Path, source: Path, tmp_path: Path, capsys: Said) -> None:
    prefixes = _file(tmp_path / "prefixes", ["B", "", "", "ÄB"])
    constraints = _file(tmp_path / "constraints.jsonl", ["[]", "", '["EE", "CC"]', "[]"])
    assert _translate(run_folder, "-i", source, "--prefix", prefixes, "--constraints", constraints) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("B")
    assert lines[1] == ""
    assert "EE" in lines[2]
    assert "CC" in lines[2]
    assert lines[3].startswith("ÄB")
    tabs = _file(tmp_path / "constraints", ["CC\tDD", "", "", ""])
    banned = _file(tmp_path / "banned", ["A", ""])
    options = [
        "--ban",
        "F",
        "--ban-file",
        banned,
        "--no-repeat-ngram",
        "3",
        "--diversity",
        "0.5",
        "--coverage-penalty",
        "0.1",
    ]
    assert _translate(run_folder, "-i", source, "--constraints", tabs, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "CC" in lines[0]
    assert "DD" in lines[0]
    assert not set("AF") & set("".join(lines))


def test_terms_of_a_glossary_appear_in_the_lines_that_have_them(
    run_folder: Path, source: Path, tmp_path: Path, capsys: Said
) -> None:
    terms = _file(tmp_path / "terms.tsv", ["ab c\tDD FF", "", "fed\tEE"])
    assert _translate(run_folder, "-i", source, "--glossary", terms) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "DD FF" in lines[0]
    assert "EE" in lines[2]
    assert [lines[1], lines[3]] == ["", "A"]


def test_a_line_that_the_memory_has_gets_the_translation_there(
    run_folder: Path, source: Path, corpus: Corpus, tmp_path: Path, capsys: Said
) -> None:
    pairs = _file(tmp_path / "memory.tsv", ["ab c\twrong", "fed cbb\tnear"])
    later = [_file(tmp_path / "later.low", ["ab c"]), _file(tmp_path / "later.up", ["kept"])]
    assert _translate(run_folder, "-i", source) == 0
    before = capsys.readouterr().out.splitlines()
    assert _translate(run_folder, "-i", source, "--memory", pairs, "--memory", *later) == 0
    assert capsys.readouterr().out.splitlines() == ["kept", *before[1:]]
    assert _translate(run_folder, "-i", source, "--memory", pairs, "--format", "jsonl") == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for entry in entries:
        require_fits("translate", entry)
    assert [entry["memory"]["used"] for entry in entries] == [True, False, False, False]
    [match] = entries[2]["memory"]["matches"]
    assert match == {"source": "fed cbb", "target": "near", "score": 0.8571, "differences": [[[4, 7], [4, 7]]]}
    learnt = _file(tmp_path / "learnt", corpus.train[0].read_text(encoding="utf-8").splitlines()[:1])
    assert _translate(run_folder, "-i", learnt, "--memory", run_folder, "--format", "jsonl") == 0
    assert json.loads(capsys.readouterr().out)["memory"]["used"] is True


def test_the_translation_that_agrees_most_comes_first(run_folder: Path, source: Path, capsys: Said) -> None:
    for options in (
        ["--beam", "4", "--mbr", "chrf"],
        ["--sample", "--seed", "3", "--mbr", "bleu"],
        ["--sample", "--distinct", "--mbr", "chrf"],
    ):
        assert _translate(run_folder, "-i", source, "--nbest", "4", *options) == 0
        assert capsys.readouterr().out.splitlines()[:2] == ["AB C", ""]


def test_unknown_words_are_replaced_by_a_dictionary_learnt_from_the_runs_own_links(
    words_run: Path, corpus: Corpus, tmp_path: Path, capsys: Said
) -> None:
    links, words, log = tmp_path / "links", tmp_path / "words", tmp_path / "log"
    assert main(["align", str(words_run), *map(str, corpus.train), "-o", str(links), "--threads", "1"]) == 0
    assert main(["dictionary", *map(str, corpus.train), str(links), "--min-count", "1", "-o", str(words)]) == 0
    learnt = [line.split("\t") for line in read_lines(words)]
    assert len(learnt) > 20
    assert all(int(count) >= 1 for _, _, count in learnt)
    assert _translate(words_run, "-i", corpus.test[0], "--min-length-factor", "1") == 0
    assert "<unk>" in capsys.readouterr().out
    options = ["--replace-unk", "--dictionary", words, "--unk-log", log, "--min-length-factor", "1"]
    assert _translate(words_run, "-i", corpus.test[0], *options) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "<unk>" not in "".join(printed)
    dictionary = {source: target for source, target, _ in learnt}
    entries = [line.split("\t") for line in read_lines(log)]
    assert entries
    for line, _, source, target, how in entries:
        assert target in printed[int(line) - 1]
        assert (how, target) == (("dictionary", dictionary[source]) if source in dictionary else ("copy", source))


def test_the_share_that_was_cut_off_is_said(run_folder: Path, source: Path, capsys: Said) -> None:
    assert (
        _translate(run_folder, "-i", source, "--max-length-factor", "0.5", "--max-length-extra", "0", "--beam", "1")
        == 0
    )
    assert capsys.readouterr().err == (
        "dragoman: warning: 2 of 4 translations (50.0 %) were truncated at the maximum length; raise "
        "--max-length-factor or --max-length-extra\n"
    )


def test_a_missing_file_of_constraints_leaves_an_older_output_alone(
    run_folder: Path, source: Path, tmp_path: Path, capsys: Said
) -> None:
    out = _file(tmp_path / "out", ["precious"])
    for option in ("--prefix", "--constraints", "--ban-file", "--glossary"):
        assert _translate(run_folder, "-i", source, "-o", out, option, tmp_path / "missing") == 2
        assert "missing: does not exist" in capsys.readouterr().err
        assert list(read_lines(out)) == ["precious"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--combine", "logits"], "--combine requires several runs, but only RUN is given"),
        (["--weights", "1"], "--weights requires several runs, but only RUN is given"),
        (["RUN", "--weights", "1"], "--weights: 1 weights for 2 runs; give one per run"),
        (["WORDS"], "their target vocabularies differ"),
        (["--mbr", "chrf"], "--mbr requires several translations per sentence; add --nbest N"),
        (["--distinct"], "--distinct requires --sample"),
        (["--sample", "--constraints", "SOURCE"], "--constraints requires beam search; leave --sample out"),
        (["--sample", "--glossary", "SOURCE"], "--glossary requires beam search; leave --sample out"),
        (["--glossary", "NAMES"], "names:1: 1 tab-separated column; a line of a glossary has 2"),
        (["--dictionary", "SOURCE"], "--dictionary requires --replace-unk"),
        (
            ["--replace-unk", "--unk-rule", "dictionary"],
            "--unk-rule dictionary requires --dictionary",
        ),
        (["--memory", "NAMES"], "names: a corpus in one file is .csv, .tsv"),
        (["--memory", "SOURCE", "SOURCE", "SOURCE"], "--memory: expected one or two files (source and target), not 3"),
        (["--encoding", "cp949"], "--encoding requires --memory"),
        (["--replace-unk", "--unk-log", "SOURCE"], "is both an input and an output, so it would be destroyed"),
        (["--prefix", "-", "--constraints", "-"], "standard input is read twice; give a file for all but one"),
        (["--ban", "Ж"], "banned word 'Ж': the model does not know 'Ж'"),
        (["--constraints", "NAMES"], "line 1: 'Ж' cannot appear in a translation: the model does not know 'Ж'"),
        (["--prefix", "NAMES"], "prefixes or constraints end at line 1, but the input goes on"),
        (["--prefix", "SHORT", "--constraints", "LONG"], "ends after line 1, but "),
        (["--constraints", "BAD.jsonl"], "BAD.jsonl:1: '{\"a\": 1}' is not a JSON list of words and phrases"),
        (["--word-penalty", "nan"], "'nan' is not a number"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: list[str], message: str, run_folder: Path, words_run: Path, source: Path, tmp_path: Path, capsys: Said
) -> None:
    places = {"RUN": run_folder, "WORDS": words_run, "SOURCE": source}
    places["SHORT"], places["LONG"] = _file(tmp_path / "short", ["A"]), _file(tmp_path / "long", ["A"] * 4)
    places["NAMES"], places["BAD.jsonl"] = _file(tmp_path / "names", ["Ж"]), _file(tmp_path / "BAD.jsonl", ['{"a": 1}'])
    assert _translate(run_folder, *(places.get(option, option) for option in options), "-i", source) == 2
    printed = capsys.readouterr()
    assert message.replace("RUN", str(run_folder)) in printed.err
    assert printed.out == ""
    assert list(read_lines(source)) == LINES


def test_paragraphs_without_their_extra_are_refused_before_a_model_is_opened(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    for name in ("dragoman.text.sentences", "dragoman.workflows.translation"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert _translate(tmp_path / "no-run", "--paragraphs") == 2
    assert "dragoman[serve]" in capsys.readouterr().err
