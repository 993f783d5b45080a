from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair
from dragoman.errors import ConfigError
from dragoman.runs.layout import RunFolder
from dragoman.workflows import training_text
from dragoman.workflows.training_text import save_dev, try_patterns

TRIED_LINES = ["order PN123456 now", "a dog", "PN000001 is out"]


def test_a_pattern_that_matches_nothing_is_told() -> None:
    assert try_patterns(["PN[0-9]{6}"], TRIED_LINES) == []
    [warning] = try_patterns(["PN[0-9]{6}", "XX[0-9]"], TRIED_LINES)
    assert warning == "warning: text.patterns: 'XX[0-9]' matches nothing in the training text"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a-z ]+", "matches more than half of the training text"),
        ("(?:a+)+b", "is slow: after 1 s it was at a line such as aaaaaa..."),
        ("(?:a+)+$", "is slow: after 1 s it was at a line such as aaaaaa..."),
        ("(?:o|or|r|rd|d|e|er)+PX", "is slow: after 1 s it was at line 4 of the training text"),
    ],
)
def test_a_pattern_that_matches_most_or_is_slow_is_refused(
    pattern: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_text, "TRIAL_SECONDS", 1.0)
    with pytest.raises(ConfigError) as refused:
        try_patterns([pattern], [*TRIED_LINES, "order" * 60])
    assert message in str(refused.value)
    assert pattern in str(refused.value)


@pytest.mark.parametrize("normal_form", [True, False])
def test_dev_targets_are_kept_as_the_model_writes_translations(tmp_path: Path, normal_form: bool) -> None:
    folder, decomposed = RunFolder(tmp_path), unicodedata.normalize("NFD", "두 사람")
    save_dev(folder, [Pair(decomposed, decomposed, "dev:1")], normal_form=normal_form)
    [kept] = read_pairs([[folder.dev_text]])
    assert (kept.source, kept.target) == (decomposed, "두 사람" if normal_form else decomposed)
