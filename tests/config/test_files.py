"""Configuration files: over presets, over the defaults, and written out complete."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dragoman.config.building import override
from dragoman.config.files import dump_config, load_config
from dragoman.config.presets import load_preset, preset_comments, preset_names
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


def _write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def _lines(config: Config) -> dict[str, str]:
    """What `dump_config` writes for each value, by dotted key."""
    found, path = {}, list[str]()
    for line in dump_config(config).splitlines():
        if line.lstrip().startswith("#"):
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        path[depth:] = [line.split(":")[0].strip()]
        found[".".join(path)] = line
    return found


def test_what_is_written_is_read_as_the_same_configuration(tmp_path: Path) -> None:
    for name in preset_names():
        config = load_preset(name)
        assert load_config(_write(tmp_path, dump_config(config))) == config, name


def test_every_comment_of_a_preset_is_written_at_its_value() -> None:
    for name in preset_names():
        lines, comments = _lines(load_preset(name)), preset_comments(name)
        assert comments, name
        for key, comment in comments.items():
            assert f"  # [{comment}]" in lines[key], name


def test_a_value_that_is_no_longer_the_presets_loses_its_comment() -> None:
    before = _lines(load_preset("bahdanau2015"))
    after = _lines(override(load_preset("bahdanau2015"), ["model.readout.size=400"]))
    assert "[A.2.2, A.2.3: l = 500]" in before["model.readout.size"]
    assert after["model.readout.size"].split("#")[1] == " number of maxout units, or size of the attentional vector"
    assert {key for key in before if before[key] != after[key]} == {"model.readout.size"}


def test_a_configuration_of_no_preset_has_no_brackets_of_one() -> None:
    text = dump_config(Config())
    assert "# Preset" not in text
    assert not any("# [" in line for line in text.splitlines())
    assert yaml.safe_load(text)["model"]["encoder"]["size"] == 512


def test_a_file_may_stand_on_a_preset(tmp_path: Path) -> None:
    config = load_config(_write(tmp_path, "preset: luong2015-reverse\ntraining: {epochs: 2}\n"))
    assert config == override(load_preset("luong2015-reverse"), ["training.epochs=2"])


def test_the_preset_that_is_asked_for_stands_below_in_place_of_the_files_own(tmp_path: Path) -> None:
    path = _write(tmp_path, "preset: luong2015-reverse\ntraining: {epochs: 2}\n")
    config = load_config(path, load_preset("bahdanau2015"))
    assert config == override(load_preset("bahdanau2015"), ["training.epochs=2"])


def test_an_unknown_preset_in_a_file_is_told_with_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path, "preset: luong2015-revers\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml: no preset named 'luong2015-revers' \(did you mean"):
        load_config(path)


def test_a_complete_file_outlives_the_preset_it_began_with(tmp_path: Path) -> None:
    text = dump_config(load_preset("demo")).replace("preset: demo", "preset: gone")
    assert load_config(_write(tmp_path, text)) == load_preset("demo").replaced(preset="gone")


@pytest.mark.parametrize(("version", "problem"), [(1, "is from an earlier version"), (3, "is newer than this version")])
def test_another_format_is_refused(version: int, problem: str, tmp_path: Path) -> None:
    text = dump_config(Config()).replace("format: 2", f"format: {version}")
    with pytest.raises(ConfigError, match=rf"mine\.yaml: configuration format {version} {problem} of dragoman"):
        load_config(_write(tmp_path, text))
