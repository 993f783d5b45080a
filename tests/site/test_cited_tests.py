"""Tests that pages name as evidence exist, under that name and in that file."""

from __future__ import annotations

import re

from tests.cli.test_documented_commands import PAGES, ROOT


def test_every_test_that_a_page_names_exists() -> None:
    cited, missing = 0, []
    for page in PAGES:
        for file, function in re.findall(r"([\w/]+/test_\w+\.py)::(test_\w+)", page.read_text(encoding="utf-8")):
            cited += 1
            path = ROOT / "tests" / file.removeprefix("tests/")
            if not path.is_file() or f"def {function}(" not in path.read_text(encoding="utf-8"):
                missing.append(f"{page.relative_to(ROOT)}: {file}::{function}")
    assert not missing, "\n".join(missing)
    assert cited >= 15
