"""`dragoman doctor` and `--version`: what is installed, what is missing, how fast the machine is."""

from __future__ import annotations

import json
import time
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import torch

from dragoman import systems
from dragoman.cli.main import main
from dragoman.config.presets import load_preset
from dragoman.workflows import installation
from tests.schemas import require_fits

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_speed_is_measured_and_the_json_fits_its_schema(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.workflows import speed as speeds

    monkeypatch.setattr(speeds, "PRESET", "demo")  # `standard` takes seconds
    assert main(["doctor", "--json", "--seconds", "0.01", "--threads", "1", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    require_fits("doctor", found)
    assert torch.__version__.startswith(found["packages"]["torch"]), "+cu130 is not in what is installed"
    speed = found["speed"]
    assert 0 < speed["updates_a_second"] < 10_000
    assert 0 < speed["lines_a_second"] < 1_000_000
    demo = load_preset("demo")
    assert (speed["tokens_an_update"], speed["beam"]) == (demo.training.batch.size, demo.search.beam)


def test_a_slow_machine_is_not_waited_for() -> None:
    from dragoman.workflows.speed import _rate

    done = []

    def slow() -> None:
        done.append(1)
        time.sleep(0.021)

    assert 0 < _rate(slow, 0.02) <= 50
    assert len(done) == 1, "the first time takes all the seconds"
    assert _rate(lambda: done.append(1), 0.01) > 1000
    assert len(done) > 3


def test_what_is_missing_is_named_with_what_it_would_bring(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {"torch", "safetensors", "uvicorn"}
    monkeypatch.setattr(
        installation, "package_version", lambda name: None if name in missing else metadata.version("pytest")
    )
    monkeypatch.setattr(systems, "_CPUINFO", Path(__file__).with_name("none"))
    assert main(["doctor", "--seconds", "5"]) == 0
    text = capsys.readouterr().out
    assert "features: not known\nbfloat16 instructions: no; AMX: no" in text
    [train] = [line for line in text.splitlines() if line.startswith("train ")]
    assert train.split(maxsplit=1)[1] == (
        f"pip install 'dragoman[train]' (lacks safetensors, torch): {installation.BRINGS['train']}"
    )
    assert "dragoman[serve]' (lacks uvicorn): the HTTP server" in text
    assert text.endswith("\nspeed: not measured; it needs the extra train\n")
    assert main(["doctor", "--seconds", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    require_fits("doctor", found)
    assert found["packages"]["torch"] is None
    assert [extra["name"] for extra in found["extras"] if extra["missing"]] == ["train", "serve", "files"]


def test_every_extra_for_users_is_explained() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(installation.BRINGS) == set(extras) - {"bench", "dev", "docs", "release"}
    named = {requirement for extra in ("serve", "files") for requirement in installation._needed(extra)}
    assert {"uvicorn", "starlette", "polib"} <= named
    assert "numpy" in set(installation._needed(""))
