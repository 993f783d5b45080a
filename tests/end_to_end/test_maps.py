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
    for of, more in (
        ("words", ["-i", texts, "--method", "pca"]),
        ("phrases", ["-i", texts]),
        ("sentences", ["-i", texts]),
    ):
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
    assert main(["map", str(run_folder), "-i", texts, *more, *ONE_THREAD]) == 0
    assert f"only the first 5 lines of {texts} are drawn; raise --limit" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8").count("\n") == 1 + 4


def test_words_come_from_the_vocabulary_without_a_file(run_folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "map.tsv"
    assert main(["map", str(run_folder), "--of", "words", "--limit", "5", "-o", str(table), *ONE_THREAD]) == 0
    assert table.read_text(encoding="utf-8").count("\n") == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--of", "phrases", "-o", "m.html"], "--of phrases requires -i FILE with phrases, one a line"),
        (
            ["-i", "TEXTS", "--of", "sentences", "--side", "target", "-o", "m.svg"],
            "--side requires --of words; sentences",
        ),
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


def test_letters_without_a_font_are_warned_of(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts"
    texts.write_text("ab\t\U000e0fff\ncd\tx\nfe\tx\n", encoding="utf-8")
    command = ["map", str(run_folder), "-i", str(texts), "--of", "words", "--method", "pca", "-o"]
    for name, count in (("m.svg", 1), ("m.tsv", 0)):
        assert main([*command, str(tmp_path / name), *ONE_THREAD]) == 0
        assert capsys.readouterr().err.count("dragoman: warning: no font of this system has") == count
