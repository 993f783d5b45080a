"""`dragoman describe`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.presets import load_preset
from dragoman.config.schema import SideConfig
from dragoman.runs.new_run import NewRun
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary


def test_a_preset_is_described_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "bahdanau2015", "--vocabulary", "30000", "30000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["embedding", "source", "620,", "target", "620", "37,200,000"]
    assert "decoder.attention.score.query.weight          1000 x 1000" in "\n".join(lines)
    assert next(line for line in lines if line.startswith("total")).split() == ["total", "80,401,000"]
    assert "state  1,000 numbers" in lines
    assert lines[-1].startswith("step   attend to the source from the previous state; update the state")
    table = lines[: lines.index("")]
    assert len({len(line) for line in table}) == 1, "the counts end in one column"


def test_vocabularies_are_the_configurations_largest(capsys: pytest.CaptureFixture[str]) -> None:
    described = {}
    for name in ("sutskever2014", "standard"):  # the second has one vocabulary for both sides
        assert main(["describe", name, "--json"]) == 0
        described[name] = json.loads(capsys.readouterr().out)["vocabulary"]
    assert described["sutskever2014"] == {"source": 160_004, "target": 80_004}
    assert described["standard"] == {"source": 5000, "target": 5000}


def test_scale_comes_before_set(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--scale", "0.1", "--set", "model.readout.size=7", "--vocabulary", "40", "30", "--json"]
    assert main(["describe", "bahdanau2015", *settings]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["preset"] == "bahdanau2015"
    shapes = {p["name"]: p["shape"] for part in described["parts"] for p in part["parameters"]}
    assert shapes["source.weight"] == [40, 62]
    assert shapes["output.weight"] == [30, 7]
    assert described["count"] == sum(part["count"] for part in described["parts"])


def test_a_file_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("preset: cho2014\nmodel: {encoder: {cell: tanh}}\n", encoding="utf-8")
    assert main(["describe", str(path)]) == 0
    assert "tanh, 1 layer of 1000, read forward" in capsys.readouterr().out


def test_a_run_is_described_with_its_own_vocabularies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with NewRun(tmp_path / "run", load_preset("demo")) as new:
        folder = new.take_place()
    characters = train_segmentation(SideConfig(segmentation="characters"), [])
    TextSide(characters, Vocabulary("abc")).save(folder.text, "source")
    TextSide(characters, Vocabulary("vwxyz")).save(folder.text, "target")
    assert main(["describe", str(folder.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vocabulary"] == {"source": 4 + 3, "target": 4 + 5}
    assert main(["describe", str(folder.path), "--json", "--vocabulary", "20", "30"]) == 0
    assert json.loads(capsys.readouterr().out)["vocabulary"] == {"source": 20, "target": 30}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("bahdanou2015", "no file or folder bahdanou2015, and no preset named 'bahdanou2015' (did you mean"),
        ("mine.yaml", "mine.yaml: cannot read the configuration: No such file"),
        (".", "config.yaml: cannot read the configuration: No such file"),
    ],
)
def test_what_is_not_there_is_told(
    what: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["describe", what]) == 2
    assert message in capsys.readouterr().err
