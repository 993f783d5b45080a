"""The lab book has the figures of the campaign's results."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_table_has_a_row_with_the_figures_of_every_promise() -> None:
    rows = (ROOT / "docs" / "lab-book" / "2026-11-reliability.md").read_text(encoding="utf-8").splitlines()
    results = sorted((ROOT / "bench" / "results").glob("chaos-*.json"))
    for path in results:
        contents = json.loads(path.read_text(encoding="utf-8"))
        for promise in contents["promises"]:
            row = (
                f"| {promise['part']} | {promise['promise']} | {promise['trials']:,} {promise['unit']} | "
                f"{promise['failed']} | `{contents['command']}` |"
            )
            assert row in rows, path.name
    listed = [row for row in rows if "bench/chaos.py" in row and row.startswith("|")]
    assert bool(listed) == bool(results)
