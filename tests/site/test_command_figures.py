"""The page on testing states how many commands the pages have, and how many of them their test cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_documented_commands import PAGES, ROOT, commands_of
from tests.site.test_command_runs import _prepared

pytestmark = pytest.mark.site


def test_the_page_on_testing_counts_the_commands_of_pages() -> None:
    pages = [page for page in PAGES if not {"lab-book", "learn", "ko"} & set(page.relative_to(ROOT).parts)]
    found = [command for page in pages for complete, command in commands_of(_text(page)) if complete]
    never = sum(_prepared(command) is None for command in found)
    stated = " ".join(_text(ROOT / "docs" / "contributing" / "testing.md").split())
    assert f"have {len(found)} commands in blocks, of which {never} are never run" in stated


def test_the_readme_is_short() -> None:
    assert len(_text(ROOT / "README.md").splitlines()) < 100


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")
