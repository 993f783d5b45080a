"""The seeded faults of bench/faults.toml fit the code; `python bench/faults.py` says whether tests catch them."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_fault_can_be_applied() -> None:
    faults = tomllib.loads((ROOT / "bench" / "faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len({fault["name"] for fault in faults}) == len(faults) >= 30
    for fault in faults:
        count = (ROOT / fault["file"]).read_text(encoding="utf-8").count(fault["find"])
        assert count == 1, f"{fault['name']}: {fault['find']!r} occurs {count} times in {fault['file']}"
        assert fault["replace"] != fault["find"], fault["name"]
        for name in fault["tests"]:
            assert (ROOT / name).exists(), f"{fault['name']}: there is no {name}"
