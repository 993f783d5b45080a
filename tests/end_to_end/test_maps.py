"""`dragoman map`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main

ONE_THREAD = ["--threads", "1", "--device", "cpu"]


@pytest.fixture
def texts(tmp_path: Path) -> str:
    path = tmp_path / "texts"
    path.write_text("ab c\tone\nab cd\tone\n\nfe d\ttwo\nfa d\ttwo\nbad\nfee\n", encoding="utf-8")
    return str(path)


def test_maps_of_words_phrases_and_sentences(
    run_folder: Path, texts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "map.tsv"
    for of, more in (("words", [texts, "--method", "pca"]), ("phrases", [texts]), ("sentences", [texts])):
        page = tmp_path / f"{of}.svg"
        outputs = ["-o", str(page), "-o", str(table)]
        assert main(["map", str(run_folder), *more, "--of", of, *outputs, *ONE_THREAD]) == 0
        printed = capsys.readouterr()
        assert printed.out == ""
        assert page.read_text(encoding="utf-8").startswith("<svg")
        assert f"6 {of} of tiny, " in printed.err
        assert "; 1 empty or unknown ones left out" in printed.err
        assert table.read_text(encoding="utf-8").count("\n") == 1 + 6


def test_lines_beyond_the_limit_are_reported(
    run_folder: Path, texts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "map.tsv"
    more = ["--of", "sentences", "--limit", "5", "-o", str(table)]
    assert main(["map", str(run_folder), texts, *more, *ONE_THREAD]) == 0
    assert f"only the first 5 lines of {texts} are drawn; raise --limit" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8").count("\n") == 1 + 4


def test_words_come_from_the_vocabulary_without_a_file(run_folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "map.tsv"
    assert main(["map", str(run_folder), "--of", "words", "--limit", "5", "-o", str(table), *ONE_THREAD]) == 0
    assert table.read_text(encoding="utf-8").count("\n") == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--of", "phrases", "-o", "m.html"], "--of phrases requires a FILE with phrases, one a line"),
        (["TEXTS", "--of", "sentences", "--side", "target", "-o", "m.svg"], "--side requires --of words; sentences"),
        (
            ["--of", "words", "--seed", "4294967296", "-o", "m.svg"],
            "argument --seed: '4294967296' is not a whole number, 0 or more, at most 4,294,967,295",
        ),
        (["--of", "words", "-o", "m.gif"], "--output m.gif: a map is written as .html, .svg, .png, .tsv"),
        (
            ["--of", "words", "--limit", "2", "--method", "pca", "-o", "m.svg"],
            "2 points are too few for a map",
        ),
    ],
)
def test_errors_are_one_clear_line(
    run_folder: Path,
    texts: str,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [texts if word == "TEXTS" else word for word in arguments]
    assert main(["map", str(run_folder), *given, *ONE_THREAD]) == 2
    assert capsys.readouterr().err.startswith(f"dragoman: error: {message}")
    assert not list(tmp_path.glob("m.*"))
