"""The pages of results in docs are those of the results that are kept; what they show of results that are made up."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from dragoman.errors import ConfigError
from dragoman.reproduction.decisions import METRICS, Verdict
from dragoman.reproduction.experiment import load_experiment
from dragoman.reproduction.page import effect_text, rows_not_run, scores_table

BENCH = Path(__file__).parents[2] / "bench" / "reproduction_page.py"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """The program that writes the pages."""
    spec = importlib.util.spec_from_file_location("reproduction_page", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _result(name: str, rows: Sequence[str], seeds: int, share: float, verdict: str) -> dict[str, Any]:
    """A result of an experiment: some of its rows have the paper's scores and a share of the paper's differences."""
    experiment = load_experiment(name)
    systems: dict[str, Any] = {}
    for key in experiment.needed_systems():
        scores = {}
        for metric in experiment.measured(key):
            paper = experiment.systems[key].paper.get(metric)
            values = [paper or 1.0] * seeds if key in rows else [None] * seeds
            scores[metric] = {"values": values, "mean": values[0], "deviation": 0.5 if seeds > 1 else None}
            scores[metric] |= {"not run": 0 if key in rows else seeds, "paper": paper, "test sets": {"set-1": 4.25}}
        systems[key] = {"label": experiment.systems[key].label, "models": [], "seeds": 1, "scores": scores}
    claims = {}
    for key, claim in experiment.claims.items():
        comparisons = []
        for comparison in claim.comparisons():
            measured = {one for _, value in comparison.terms for one in value.systems} <= set(rows)
            comparisons.append(
                {
                    "expected": comparison.text,
                    "values": [share] * seeds if measured else [],
                    "mean": share if measured else None,
                    "interval": [share - 0.1, share + 0.1] if measured else [None, None],
                    "verdict": verdict,
                    "effect": {"ours": share, "paper": 1.0} if measured else None,
                    "seeds that would decide": None,
                }
            )
        claims[key] = {"claim": claim.claim, "where": claim.where, "verdict": verdict, "comparisons": comparisons}
    return {
        "experiment": name,
        "title": experiment.title,
        "paper": experiment.paper,
        "item": experiment.item,
        "note": experiment.note,
        "budget": {"updates": 12000, "minutes": None, "scale": 0.2, "seeds": seeds, "quick": False},
        "corpus": {"train": {"pairs": 62628}, "test sets": {"set-1": {"files": ["a.en.gz", "a.de.gz"], "pairs": 30}}},
        "metrics": {metric: METRICS[metric].heading for metric in experiment.metrics},
        "systems": systems,
        "shown": experiment.rows(),
        "models": {
            name: {"preset": "p", "set": {}, "updates": updates, "epochs": 7.5, "minutes": 40.2, "dev perplexity": 22.2}
            | {"machines": ["A, 2 cores, Linux"]}
            for name, updates in (("base", 9000.0), ("dropout", None))
        },
        "claims": claims,
        "figures": {"figure-5": {"title": "Learning curves"}},
        "heat maps": {"m": ["systems/m-seed1.heatmaps/3.svg"]},
        "phrases": {"network": []},
        "samples": [{"line": 7, "source": "a b", "reference": "A B", "translations": {"base": "A C"}}],
    }


def _keep(folder: Path, result: dict[str, Any]) -> None:
    path = folder / result["experiment"] / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result), encoding="utf-8")


def _row(page: str, beginning: str) -> list[str]:
    found, *_ = [line for line in page.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_the_pages_are_those_of_the_results_that_are_kept(program: ModuleType) -> None:
    for path, text in program.pages(program.RESULTS, program.SECOND).items():
        assert path.read_text(encoding="utf-8") == text, path


def test_a_bound_of_an_interval_keeps_its_sign(program: ModuleType) -> None:
    assert [program.signed(value) for value in (-0.0002, 0.046, 1.6, -15.94)] == ["-0.000", "+0.046", "+1.60", "-15.9"]


def test_each_main_claim_has_claims_of_experiments_that_exist(program: ModuleType, tmp_path: Path) -> None:
    results = program.Results(tmp_path)
    headlines = yaml.safe_load(program.HEADLINES.read_text(encoding="utf-8"))["headlines"]
    assert len(headlines) == 15
    for headline in headlines:
        for name in (*headline["claims"], *headline.get("reported", {}).values()):
            assert results.claim(name) is None
        comparisons = sum(len(program.effects_of(results, name)) for name in headline["claims"])
        for parts in ("parts", "korean parts"):
            assert len(headline.get(parts, [""] * comparisons)) == comparisons
    with pytest.raises(ConfigError, match="no claim named luong2015-table1/nothing"):
        results.claim("luong2015-table1/nothing")


def test_what_has_not_run_takes_a_line_and_not_a_table(program: ModuleType, tmp_path: Path) -> None:
    pages = program.pages(tmp_path, tmp_path / "second")
    first = pages[program.PAGE]
    assert "Of 15 main claims: 15 not run yet." in first
    assert first.count("\n|") == 17  # the main claims alone
    assert pages.pop(program.KOREAN_PAGE).count("\n|") == 17
    for path, text in pages.items():
        assert path == program.PAGE or "|" not in text
        assert path == program.PAGE or text.count("`luong2015-table4`") == (path.stem == "luong2015")


def test_a_single_seed_shows_its_figures_and_decides_nothing(program: ModuleType, tmp_path: Path) -> None:
    _keep(tmp_path, _result("luong2015-table1", ["base", "reverse"], 1, 1.3, "not decided at this size"))
    (tmp_path / "luong2015-table1" / "figure-5.svg").touch()
    pages = program.pages(tmp_path, tmp_path / "second")
    first, page = pages[program.PAGE], pages[program.PAGE.with_suffix("") / "luong2015.md"]
    assert _row(first, "2 ")[2:] == [
        "Sutskever: +4.42; Luong: +1.3",
        "Luong: +1.30",
        "not decided: rows are missing",
        "",
    ]
    assert _row(first, "reversing the source sentence improves")[2:5] == ["+1.3", "+1.30", "not decided: 1 seed"]
    korean = pages[program.KOREAN_PAGE]
    assert _row(korean, "2 ")[4] == "미정: 빠진 행이 있음"
    assert "미정 2, 아직 실행하지 않음 13." in korean
    assert _row(first, "10 ")[3:] == ["", "not run yet", ""]
    assert _row(page, "base")[1:4] == ["1", "10.60", "10.6"]
    assert not [line for line in page.splitlines() if line.startswith("| + dropout")]
    assert "seeds decide nothing" in page
    assert "Not run yet: + dropout; " in page
    assert "BLEU, a (30)" in page
    assert "A C" not in page  # a sentence of the corpora
    assert page.count("![") == 1
    assert (
        f"![Learning curves](../../../bench/results/reproduction/{tmp_path.name}/luong2015-table1/figure-5.svg)" in page
    )
    assert "| base | 9,000 | 7.50 | 40.2 | 22.20 |" in page
    assert "Trained on: A, 2 cores, Linux." in page


def test_a_training_is_shown_where_its_rows_have_a_value(program: ModuleType) -> None:
    result = _result("luong2015-table1", ["base"], 3, 1.0, "holds")
    result["models"]["dropout"]["updates"] = 12000.0
    for name in ("base", "dropout"):
        result["systems"][name]["models"] = [name]
    table, machines = program.trainings(result, None)
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| base"]
    assert machines.startswith("Trained on: A")


def test_decided_claims_have_a_verdict_an_interval_and_a_size(program: ModuleType, tmp_path: Path) -> None:
    rows = list(load_experiment("luong2015-table1").systems)
    result = _result("luong2015-table1", rows, 3, 0.4, "holds")
    result["claims"]["dropout-bleu"]["verdict"] = "does not hold"
    _keep(tmp_path, result)
    first = program.pages(tmp_path, tmp_path / "second")[program.PAGE]
    assert _row(first, "9 ")[2:] == ["+2.8", "+0.400 (+0.300 to +0.500)", "holds", "smaller"]
    assert _row(first, "12 ")[4] == "does not hold"
    korean = program.pages(tmp_path, tmp_path / "second")[program.KOREAN_PAGE]
    assert _row(korean, "9 ")[3:] == ["+0.400 (+0.300~+0.500)", "성립", "절반 미만"]
    assert "성립하지 않음 1" in korean
    assert "4 hold," in first  # attention, feeding, local-p, replaced words
    assert _row(first, "an ensemble of models with different attention")[2] == "+2.1"  # over the paper's best member


def test_a_second_pair_of_languages_has_a_table_of_its_own(program: ModuleType, tmp_path: Path) -> None:
    _keep(tmp_path, _result("sutskever2014-table1", ["forward", "reversed"], 3, 1.5, "holds"))
    first = program.pages(tmp_path / "first", tmp_path)[program.PAGE]
    second = first.partition("## English to French")[2].partition("## All claims")[0]
    assert "62,628 pairs" in second
    assert second.count("\n|") == 4  # a heading of two lines, and reversal in perplexity and in BLEU
    assert "Of 15 main claims: 15 not run yet." in first


def test_every_claim_that_does_not_hold_is_explained(program: ModuleType) -> None:
    explained = yaml.safe_load(program.HEADLINES.read_text(encoding="utf-8"))["explanations"]
    refuted = [
        f"{name}/{key}"
        for name, result in program.Results(program.RESULTS).found.items()
        for key, claim in result["claims"].items()
        if claim["verdict"] == "does not hold"
    ]
    assert sorted(explained) == sorted(refuted)


def test_more_seeds_than_anybody_trains_are_not_counted(program: ModuleType) -> None:
    for needed, told in ((23, "23"), (844, "more than 100")):
        comparison = {"values": [0.1] * 3, "verdict": str(Verdict.NOT_DECIDED), "seeds that would decide": needed}
        claim = {"verdict": str(Verdict.NOT_DECIDED), "comparisons": [comparison]}
        assert program.verdict_of([claim]) == f"not decided: {told} seeds would"


def test_a_row_that_was_not_run_is_no_row_that_failed() -> None:
    result = _result("luong2015-table1", ["base"], 2, 1.0, "holds")
    result["systems"]["dropout"]["scores"]["bleu"]["not run"] = 0
    table = {row[0]: row for row in scores_table(result)}
    assert table["base"][1] == "10.60 ± 0.50"
    assert "failed" not in table["+ reverse"]
    assert "failed" in table["+ dropout"]
    assert rows_not_run(result).startswith("Not run yet: + reverse; + global")


def test_an_effect_is_as_large_as_in_the_paper_from_half_of_it_on() -> None:
    for ours, paper, text in (
        (0.5, 1.0, "as large (+0.50, paper +1.00)"),
        (0.49, 1.0, "smaller (+0.49, paper +1.00)"),
        (-2.0, 1.0, "opposite (-2.00, paper +1.00)"),
    ):
        assert effect_text({"ours": ours, "paper": paper}) == text
    assert effect_text(None) == ""
