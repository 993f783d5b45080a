"""Pages print the figures of bench/results."""

from __future__ import annotations

import importlib.util
import json
import re
from statistics import mean
from types import ModuleType
from typing import Any

import pytest

from tests.cli.test_documented_commands import ROOT

PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plots() -> ModuleType:
    spec = importlib.util.spec_from_file_location("performance_plots", ROOT / "bench" / "performance_plots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _row(label: str) -> list[float]:
    """The figures of a table's row that begins with a label."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {label} |"))
    return [float(figure.replace(",", "")) for figure in re.findall(r"[\d,]+\.?\d*", line.removeprefix(f"| {label} |"))]


SYSTEMS = {
    "OpenNMT-py, recurrent, by updates": "opennmt-recurrent-by-updates",
    "OpenNMT-py, small Transformer": "opennmt-transformer",
    "OpenNMT-py, small Transformer, by updates": "opennmt-transformer-by-updates",
    "Dragoman, `standard`, by updates": "dragoman-by-updates",
    "Dragoman, `standard`, newer processor": "dragoman-newer-processor",
}

BY_UPDATES = {label: system for label, system in SYSTEMS.items() if system.endswith("-by-updates")}


@pytest.mark.parametrize(
    ("table", "text", "metric", "systems"),
    [
        ("minutes", "captions", "bleu", {"OpenNMT-py, recurrent": "opennmt-recurrent", **SYSTEMS}),
        ("minutes, lower-cased and tokenised", "captions", "bleu_lowercased_tokenised", SYSTEMS),
        ("minutes, software manual", "manual", "bleu", BY_UPDATES),
    ],
)
def test_bleu_over_minutes_is_that_of_the_results(
    plots: ModuleType, table: str, text: str, metric: str, systems: dict[str, str]
) -> None:
    head, *rows = PAGE[PAGE.index(f"| {table} |") :].splitlines()
    minutes = [int(cell) for cell in head.split("|")[2:-1]]
    for label, system in systems.items():
        cells = next(row for row in rows if row.startswith(f"| {label} |")).split("|")[2:-1]
        measured = dict(plots.quality(metric, text)[system])
        expected = [f"{measured[at]:.1f}" if at in measured else "" for at in minutes]
        assert [cell.strip() for cell in cells] == expected, label


def test_speed_and_memory_of_translation_are_those_of_the_results(plots: ModuleType) -> None:
    rows = plots.translation()
    for label, shown in (
        ("run folder (torch)", "run folder"),
        ("exported", "exported"),
        ("exported, `--int8`", "exported, int8"),
        ("exported, `--int8 --shortlist 2000`", "int8, shortlist"),
    ):
        figures = _row(label)
        assert figures[1] == pytest.approx(rows[shown]["tokens a second"], rel=0.01)
        assert figures[-1] == pytest.approx(rows[shown]["memory"], rel=0.03)


def test_training_speeds_are_those_of_the_results(plots: ModuleType) -> None:
    models = plots.read("training")["models"]
    for label, name in (("OpenNMT-py 3.5.1", "opennmt"), ("Dragoman, float32", "dragoman fp32")):
        for place, model in ((0, "B"), (2, "L")):
            measured = models[model]["runs"][name]["target_tokens_per_second"]
            assert _row(label)[place] == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize("page", ["docs/how-to/single-words.md", "docs/ko/how-to/single-words.md"])
def test_wrong_words_are_those_of_the_results(page: str) -> None:
    def rows(level: str) -> list[dict[str, Any]]:
        paths = (ROOT / "bench" / "results" / "tasks").glob(f"{level}.*.json")
        return [json.loads(path.read_text(encoding="utf-8"))["test"] for path in paths]

    wrong = [mean(mean(model["WER"] for model in row["single"]) for row in rows(level)) for level in ("low", "medium")]
    for rate in (*wrong, mean(row["ensemble"]["WER"] for row in rows("low"))):
        assert re.search(rf"\b{rate:.1f} ?%", (ROOT / page).read_text(encoding="utf-8"))
