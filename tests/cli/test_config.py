"""`dragoman presets` and `dragoman config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.files import load_config
from dragoman.config.presets import load_preset, preset_names


def test_every_preset_is_listed_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in lines] == preset_names()
    assert all(len(meaning) > 20 for _, meaning in lines)


@pytest.mark.parametrize("name", preset_names())
def test_a_printed_preset_is_a_complete_configuration_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", name]) == 0
    path = tmp_path / "config.yaml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert load_config(path) == load_preset(name)


def test_values_that_are_set_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "standard", "--set", "training.epochs=3", "search.beam=7", "--set", "training.seed=5"]) == 0
    shown = capsys.readouterr().out
    assert "  epochs: 3.0" in shown
    assert "  beam: 7" in shown
    assert "  seed: 5" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["standrd"], "no preset named 'standrd' (did you mean 'standard'?)"),
        (["standard", "--set", "training.epoch=3"], "unknown key 'training.epoch' (did you mean 'training.epochs'?)"),
        (["standard", "--set", "training.epochs=many"], "training.epochs"),
        (["standard", "--set", "training.epochs"], "write key=value"),
    ],
)
def test_a_wrong_preset_or_value_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
