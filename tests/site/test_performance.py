"""The page Performance prints the figures of bench/results, and its plots are drawn from them."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

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


@pytest.mark.parametrize(
    ("table", "metric", "label", "system"),
    [
        ("minutes", "bleu", "OpenNMT-py, recurrent", "opennmt-recurrent"),
        *(
            (table, metric, label, system)
            for table, metric in (
                ("minutes", "bleu"),
                ("minutes, lower-cased and tokenised", "bleu_lowercased_tokenised"),
            )
            for label, system in (
                ("OpenNMT-py, recurrent, by updates", "opennmt-recurrent-by-updates"),
                ("OpenNMT-py, small Transformer", "opennmt-transformer"),
                ("OpenNMT-py, small Transformer, by updates", "opennmt-transformer-by-updates"),
                ("Dragoman, `standard`, by updates", "dragoman-by-updates"),
                ("Dragoman, `standard`, newer processor", "dragoman-newer-processor"),
            )
        ),
    ],
)
def test_bleu_over_minutes_is_that_of_the_results(
    plots: ModuleType, table: str, metric: str, label: str, system: str
) -> None:
    head, *rows = PAGE[PAGE.index(f"| {table} |") :].splitlines()
    minutes = [int(cell) for cell in head.split("|")[2:-1]]
    cells = next(row for row in rows if row.startswith(f"| {label} |")).split("|")[2:-1]
    measured = dict(plots.quality(metric)[system])
    assert [cell.strip() for cell in cells] == [f"{measured[at]:.1f}" if at in measured else "" for at in minutes]


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
        figures = _row(label)
        for place, model in ((0, "B"), (2, "L")):
            assert figures[place] == pytest.approx(models[model]["runs"][name]["target_tokens_per_second"], rel=0.01)


def test_every_plot_of_the_page_is_there() -> None:
    pictures = re.findall(r"images/(performance-\w+\.svg)", PAGE)
    assert len(pictures) == 3
    assert all((ROOT / "docs" / "images" / name).is_file() for name in pictures)
