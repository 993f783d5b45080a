"""`dragoman score`, `align` and `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main

from .conftest import Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu"]


def test_the_score_of_an_output_is_the_log_probability_that_search_reported(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = str(corpus.test[0]), tmp_path / "target"
    assert main(["translate", str(run_folder), "-i", source, "--format", "jsonl", *ONE_THREAD]) == 0
    found = [json.loads(line)["translations"][0] for line in capsys.readouterr().out.splitlines()]
    target.write_text("".join(f"{translation['text']}\n" for translation in found), encoding="utf-8")
    assert main(["score", str(run_folder), source, str(target), *ONE_THREAD]) == 0
    scores = [float(line) for line in capsys.readouterr().out.splitlines()]
    assert scores == pytest.approx([translation["log_probability"] for translation in found], abs=1e-4)


def test_empty_sides_have_scores(run_folder: Path, tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "scores"
    pairs.write_text("ab\tAB\n\tAB\nab\t\n\t\n", encoding="utf-8")
    assert main(["score", str(run_folder), str(pairs), "-o", str(out), "--quiet", *ONE_THREAD]) == 0
    scores = [float(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(scores) == 4
    assert all(score < 0 for score in scores)


def test_score_prints_the_tokens_that_perplexity_counts(run_folder: Path, tmp_path: Path) -> None:
    pairs, plain, counted = tmp_path / "pairs.tsv", tmp_path / "plain", tmp_path / "counted"
    pairs.write_text("ab\tAB C\nab\t\n", encoding="utf-8")
    assert main(["score", str(run_folder), str(pairs), "-o", str(plain), *ONE_THREAD]) == 0
    assert main(["score", str(run_folder), str(pairs), "--token-counts", "-o", str(counted), *ONE_THREAD]) == 0
    rows = [line.split("\t") for line in counted.read_text(encoding="utf-8").splitlines()]
    assert [score for score, _ in rows] == plain.read_text(encoding="utf-8").splitlines()
    assert rows[1][1] == "1"  # EOS alone
    assert int(rows[0][1]) > 1


def test_align_prints_pharaoh_lines(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("ab c\n\nfe d cb\n", encoding="utf-8")
    target.write_text("AB C\n\nFE D CB\n", encoding="utf-8")
    assert main(["align", str(run_folder), str(source), str(target), *ONE_THREAD]) == 0
    printed = capsys.readouterr()
    assert printed.out == "0-0 1-1\n\n0-0 1-1 2-2\n"
    assert printed.err == ""
    out = tmp_path / "links"
    assert main(["align", str(run_folder), str(source), str(target), "-o", str(out), "--quiet"]) == 0
    assert out.read_text(encoding="utf-8") == printed.out


def test_evaluate_prints_a_table_with_signatures(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, out = tmp_path / "new" / "figures", tmp_path / "out"
    options = ["--report", str(report), "-o", str(out), "--beam", "2", "--tokenizer", "char", *ONE_THREAD]
    assert main(["evaluate", str(run_folder), *map(str, corpus.test), *options]) == 0
    printed = capsys.readouterr()
    for part in ("BLEU", "chrF", "TER", "exact match", "perplexity per token", "source length", "tok:char", "version:"):
        assert part in printed.out
    assert f"report: {report / 'report.html'}" in printed.err
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "Evaluation of tiny" in page
    assert "beam 2" in page
    assert out.read_text(encoding="utf-8").count("\n") == 20


def test_evaluate_prints_json_that_agrees_with_the_translations(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    files = map(str, corpus.test)
    assert main(["evaluate", str(run_folder), *files, "--json", "-o", str(out), "--quiet", *ONE_THREAD]) == 0
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    same = zip(read(out), read(corpus.test[1]), strict=True)
    assert figures["scores"]["exact match"]["score"] == pytest.approx(5 * sum(mine == gold for mine, gold in same))
    assert figures["scores"]["exact match"]["score"] > 50
    assert 1 < figures["perplexity"]["per_token"] < 1.3
    assert figures["perplexity"]["tokens"] == sum(len(line) + 1 for line in read(corpus.test[1]))
    assert printed.err == ""


def read(path: Path) -> list[str]:
    """The lines of a small file."""
    return path.read_text(encoding="utf-8").splitlines()


def test_several_runs_score_and_align_together(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    """Of runs that are the same the combination is that run, whatever the weights."""
    run, pairs = str(run_folder), [str(path) for path in corpus.test]
    for verb in ("score", "align"):
        found = []
        for number, names in enumerate(([run], [run, run, "--weights", "1", "3"], [run, run, "--combine", "logits"])):
            runs, options = names[: names.count(run)], names[names.count(run) :]
            out = tmp_path / f"{verb}.{number}"
            assert main([verb, *runs, *pairs, "-o", str(out), *options, "--quiet", *ONE_THREAD]) == 0
            found.append(out.read_text(encoding="utf-8").splitlines())
        assert len(found[0]) == 20
        for together in found[1:]:
            if verb == "score":
                assert list(map(float, together)) == pytest.approx(list(map(float, found[0])), abs=1e-4)
            else:
                assert together == found[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test.de", "test.en"], "test.de test.en: give a run and two files (source and target), or a run and"),
        (["RUN", "test.tsv", "--weights", "1", "2"], "--weights requires several runs, but only RUN is given"),
        (["RUN", "a", "b", "--combine", "logits"], "--combine requires several runs, but only RUN is given"),
        (["RUN1", "RUN2", "a.tsv"], "RUN1: "),
    ],
)
def test_runs_and_files_are_told_apart(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("score", "align"):
        assert main([verb, *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_single_name_is_no_run_and_no_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, message in (
        ("score", "the following arguments are required: FILE"),
        ("align", "test.tsv.gz: give a run and two files (source and target), or a run and"),
    ):
        assert main([verb, "test.tsv.gz"]) == 2
        assert message in capsys.readouterr().err
