"""The page on single words prints the figures of bench/results."""

from __future__ import annotations

import json
from statistics import mean
from typing import Any

import pytest

from tests.cli.test_documented_commands import ROOT


def _rows(level: str) -> list[dict[str, Any]]:
    paths = sorted((ROOT / "bench" / "results" / "tasks").glob(f"{level}.*.json"))
    return [json.loads(path.read_text(encoding="utf-8"))["test"] for path in paths]


@pytest.mark.parametrize("page", ["docs/how-to/single-words.md", "docs/ko/how-to/single-words.md"])
def test_wrong_words_are_those_of_the_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    low, medium = _rows("low"), _rows("medium")
    assert len(low) == len(medium) == 10
    wrong = [mean(mean(model["WER"] for model in row["single"]) for row in rows) for rows in (low, medium)]
    wrong.append(mean(row["ensemble"]["WER"] for row in low))
    for rate in wrong:
        assert f"{rate:.1f} %" in text
