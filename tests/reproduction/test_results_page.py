"""The page of results in docs is that of the results that are kept."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from dragoman.reproduction.experiment import load_experiment
from dragoman.reproduction.page import effect_text

BENCH = Path(__file__).parents[2] / "bench" / "reproduction_page.py"
EXPLANATIONS = BENCH.parent / "explanations"


def _program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reproduction_page", BENCH)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def test_it_was_written_from_the_results() -> None:
    program = _program()
    assert program.PAGE.read_text(encoding="utf-8") == program.page()
    for folder, result in program.results():
        for claim in result["claims"].values():
            assert claim["claim"] in program.page(), folder


def test_each_claim_that_does_not_hold_is_explained_once() -> None:
    program = _program()
    refuted = [
        f"{folder}/{result['experiment']}/{name}"
        for folder, result in program.results()
        for name, claim in result["claims"].items()
        if claim["verdict"] == "does not hold"
    ]
    groups = yaml.safe_load((program.RESULTS / "explanations.yaml").read_text(encoding="utf-8"))
    assert sorted(refuted) == sorted(claim for group in groups for claim in group["claims"])


@pytest.mark.parametrize("path", sorted(EXPLANATIONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_experiments_that_explain_are_sound(path: Path) -> None:
    assert load_experiment(str(path)).claims


def test_an_effect_is_as_large_as_in_the_paper_from_half_of_it_on() -> None:
    for ours, paper, text in (
        (0.5, 1.0, "as large (+0.50, paper +1.00)"),
        (0.49, 1.0, "smaller (+0.49, paper +1.00)"),
        (-2.0, 1.0, "opposite (-2.00, paper +1.00)"),
    ):
        assert effect_text({"ours": ours, "paper": paper}) == text
    assert effect_text(None) == ""
