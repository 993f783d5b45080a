"""The page about pages states how much of them is run; the README is short; the reference has every public name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import dragoman
from docs.site_builder.printed import public_names, python_page
from tests.cli.test_documented_commands import ROOT, commands_of
from tests.site.page_blocks import blocks_of, english_pages


@dataclass
class Count:
    """Blocks of the pages by what the tests do with them."""

    blocks: int = 0
    run: int = 0
    compared: int = 0
    python: int = 0
    files: int = 0
    left: int = 0
    elsewhere: int = 0
    commands: int = 0
    commands_left: list[str] = field(default_factory=list)


def count() -> Count:
    found = Count()
    for page in english_pages():
        for block in blocks_of(page):
            found.blocks += 1
            commands = [command for _, command in commands_of(f"```\n{block.text}\n```")] if block.is_shell else []
            found.commands += len(commands)
            if block.reason is not None:
                found.left += 1
                found.elsewhere += "tests/" in block.reason
                found.commands_left += commands
            elif block.file is not None or block.is_list_of_files:
                found.files += 1
            elif block.is_python:
                found.python += 1
            else:
                found.run += not block.is_output
                found.compared += block.is_output or any(shown for _, shown in block.steps())
    return found


def test_the_page_about_pages_counts_their_blocks() -> None:
    """Within a twentieth or two, so that not every change of a page changes that page too."""
    found = count()
    stated = " ".join(_text(ROOT / "docs" / "contributing" / "pages.md").split())
    for words, number in (
        ("The pages in English have # blocks", found.blocks),
        ("with # commands of `dragoman`", found.commands),
        ("# blocks of commands", found.run),
        ("and # of Python are run", found.python),
        ("# outputs are compared", found.compared),
        ("# blocks are files", found.files),
        ("# blocks are not run", found.left),
        ("with # commands of `dragoman` in them", len(found.commands_left)),
        ("and # of them name the test", found.elsewhere),
        ("the # cells of code of the five notebooks", _cells()),
    ):
        numbers = re.findall(re.escape(words).replace(r"\#", r"(\d+)"), stated)
        assert numbers, words
        assert any(abs(int(one) - number) <= max(2, number / 20) for one in numbers), (words, number)


def _cells() -> int:
    notebooks = [json.loads(_text(path)) for path in (ROOT / "docs" / "tutorials").glob("*.ipynb")]
    assert len(notebooks) == 5
    return sum(cell["cell_type"] == "code" for notebook in notebooks for cell in notebook["cells"])


def test_it_states_how_many_public_names_the_reference_has() -> None:
    page, names = python_page(), public_names()
    missing = [name for name in dragoman.__all__ if f":: dragoman.{name}\n" not in page and name != "__version__"]
    assert not missing
    stated = " ".join(_text(ROOT / "docs" / "contributing" / "pages.md").split())
    assert f"{len(names)} of {len(names)} public names (100 %)" in stated


def test_the_path_from_a_clone_to_a_translator_is_that_of_the_readme() -> None:
    page, readme = _text(ROOT / "docs" / "contributing" / "pages.md"), _text(ROOT / "README.md")
    steps = re.findall(r"^\| (\d) \| (.*) \| ([\d,]*) ?\|$", page, flags=re.MULTILINE)
    assert [int(number) for number, _, _ in steps] == [1, 2, 3, 4, 5, 6]
    for _, shown, _ in steps[2:]:
        assert shown.strip("`") in readme, shown
    times = json.loads(_text(ROOT / "bench" / "results" / "demo-time.json"))
    assert steps[2][2] == f"{times['total']['median_seconds']:.0f}"
    assert f"{times['installation']['median_seconds']} s of it for installing" in page
    assert int(steps[4][2].replace(",", "")) == 60 * int(steps[4][1].rpartition("--minutes ")[2].strip("`"))


def test_the_readmes_are_short_and_have_one_picture_and_five_links_further() -> None:
    for name in ("README.md", "README.ko.md"):
        text = _text(ROOT / name)
        assert len(text.splitlines()) < 100, name
        assert len(re.findall(r"!\[", text)) == 1, name
        rows = re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", text, flags=re.MULTILINE)
        assert len(rows) == 5, name
        assert all((ROOT / row).is_file() for row in rows), name


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")
