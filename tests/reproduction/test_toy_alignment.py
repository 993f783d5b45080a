"""A model that has learnt a made-up language aligns it, by the reading that its training has chosen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.reproduction

BENCH = Path(__file__).parents[2] / "bench" / "toy_alignment.py"


@pytest.mark.parametrize(
    "name",
    [
        "Bahdanau, both, additive, global",
        "Luong, forward, dot, global, fed",
        "Luong, reversed, concat, global, fed",  # by either word, depending on the training
    ],
)
def test_a_model_that_has_learnt_a_language_aligns_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("toy_alignment", BENCH)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "toy_alignment", program)
    spec.loader.exec_module(program)
    right, shares, chosen = program.measured(tmp_path, name, program.write_language(tmp_path), updates=500)
    assert right >= 0.9
    assert shares[chosen] >= 0.9
