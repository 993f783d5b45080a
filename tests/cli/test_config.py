"""`dragoman presets` and `dragoman config`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dragoman.cli.main import main
from dragoman.config.files import load_config
from dragoman.config.presets import load_preset, preset_names
from dragoman.workflows.preset_choice import FEW


def test_every_preset_is_listed_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    families = capsys.readouterr().out.split("\n\n")
    lines = [line.split(maxsplit=1) for family in families for line in family.splitlines()]
    assert sorted(name for name, _ in lines) == preset_names()
    assert all(len(meaning) > 20 for _, meaning in lines)
    assert [family.split()[0] for family in families] == [
        *("demo", "cho2014", "sutskever2014", "bahdanau2015", "luong2015-base")
    ]


def test_a_printed_preset_is_a_complete_configuration_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.yaml"
    for name in preset_names():
        assert main(["config", name]) == 0, name
        path.write_text(capsys.readouterr().out, encoding="utf-8")
        assert load_config(path) == load_preset(name), name


def test_values_that_are_set_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "standard", "--set", "training.epochs=3", "search.beam=7", "--set", "training.seed=5"]) == 0
    shown = capsys.readouterr().out
    assert "  epochs: 3.0" in shown
    assert "  beam: 7" in shown
    assert "  seed: 5" in shown


def test_values_carry_the_section_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "luong2015-local-p-dot"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "# Preset luong2015-local-p-dot: Luong et al. 2015, local attention" in lines[1]
    assert any(
        line.startswith("    window: 10  ") and "# [section 4.1: D = 10] local scopes: half width D" in line
        for line in lines
    )
    assert any(
        line.startswith("  epochs: 12.0  ") and "# [section 4.1, with dropout] maximum" in line for line in lines
    )


def test_sizes_are_scaled_before_values_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "bahdanau2015", "--scale", "0.25", "--set", "model.attention.size=9"]) == 0
    model = yaml.safe_load(capsys.readouterr().out)["model"]
    assert [model["embedding"]["source"], model["encoder"]["size"], model["readout"]["size"]] == [155, 250, 125]
    assert model["attention"]["size"] == 9


def test_what_scaling_changed_is_said_beside_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["config", "luong2015-local-m-dot", "--scale", "0.128"]
    assert main([*command, "--set", "model.decoder.size=200", "model.encoder.size=200"]) == 0
    shown = capsys.readouterr().out
    assert "init_scale: 0.2795                # [--scale 0.128: 0.1 / sqrt(0.128); --sizes-only keeps it] " in shown
    assert "    target: 128                     # [--scale 0.128: 1000 units x 0.128] size of" in shown
    assert "    reference_length: 25.8 " in shown
    assert shown.count("    size: 200                       # units per layer") == 2  # set afterwards
    assert main([*command, "--sizes-only"]) == 0
    shown = capsys.readouterr().out
    assert "  init_scale: 0.1                   # [section 4.1: U(-0.1, 0.1)] range" in shown
    assert "    reference_length: null" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["standard", "--sizes-only"], "--sizes-only: has no effect without --scale F"),
        (["standrd"], "no preset named 'standrd' (did you mean standard?); `dragoman presets` lists all"),
        (["standard", "--set", "training.epoch=3"], "unknown key 'training.epoch' (did you mean training.epochs?)"),
        (["standard", "--set", "training.epochs=many"], "training.epochs"),
        (["standard", "--set", "training.epochs"], "write key=value"),
        (["standard", "--scale", "0"], "argument --scale: '0' is not a number above 0"),
    ],
)
def test_a_wrong_preset_or_value_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_the_configuration_for_a_training_text_is_that_of_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, path = tmp_path / "train.tsv", tmp_path / "config.yaml"
    corpus.write_text("aber\ta b ɛ r\nalban\ta l b a n\n", encoding="utf-8")
    assert main(["config", "--train", str(corpus), "--set", "training.epochs=7"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("preset: characters, because the text has single words")
    path.write_text(printed.out, encoding="utf-8")
    config = load_config(path)
    assert (config.preset, config.text.target.segmentation, config.training.epochs) == ("characters", "whitespace", 7)

    few = "vocabulary: 3,000, because the text has no more than 10,000 pairs; --preset standard has its own\n"
    usual = "preset: standard, because the text has sentences, and more than 10,000 pairs\n"
    for pairs, said in ((1, few), (FEW + 1, usual)):
        corpus.write_text("Ein Hund läuft.\tA dog runs.\n" * pairs, encoding="utf-8")
        assert main(["config", "--train", str(corpus)]) == 0
        assert capsys.readouterr().err == f"{said}length: 30 epochs\n"


def test_the_length_for_a_training_text_is_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, path = tmp_path / "train.tsv", tmp_path / "config.yaml"
    corpus.write_text("Ein Hund läuft.\tA dog runs.\n", encoding="utf-8")
    for arguments, told in (
        (["--minutes", "20"], "30 epochs or 20 minutes, whichever ends first"),
        (["--updates", "4000"], "4,000 updates"),
        (["--updates", "4000", "--minutes", "2.5"], "4,000 updates or 2.5 minutes, whichever ends first"),
    ):
        assert main(["config", "--train", str(corpus), *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err.endswith(f"\nlength: {told}\n")
        path.write_text(printed.out, encoding="utf-8")
        given = dict(zip(arguments[::2], map(float, arguments[1::2]), strict=True))
        training = load_config(path).training
        assert (training.updates, training.minutes) == (given.get("--updates"), given.get("--minutes"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a PRESET or --train FILES"),
        (["standard", "--train", "a.tsv"], "give either a PRESET or --train FILES"),
        (["--train", "missing.tsv"], "--train: missing.tsv is not a file"),
        (["--train", "/dev/null"], "--train: /dev/null is not a file"),
        (["--train", "a", "b", "c"], "--train: expected one or two files (source and target), not 3: a b c"),
    ],
)
def test_what_the_configuration_is_for_must_be_given_once(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", *arguments]) == 2
    assert message in capsys.readouterr().err
