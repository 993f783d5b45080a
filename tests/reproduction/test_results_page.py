"""The page of results in docs is that of the results that are kept."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

BENCH = Path(__file__).parents[2] / "bench" / "reproduction_page.py"


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
