"""Every result and every picture has the program that made it, on the page beside the results."""

from __future__ import annotations

import re
from fnmatch import fnmatch

from tests.cli.test_documented_commands import ROOT

RESULTS = ROOT / "bench" / "results"
PAGE = (RESULTS / "README.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


def _named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_result_is_listed_with_its_program_and_its_page() -> None:
    rows = [row for row in ROWS if len(row) == 3]
    patterns = [pattern.rstrip("/") for row in rows for pattern in _named(row[0])]
    found = sorted(path.name for path in RESULTS.iterdir() if path.name != "README.md")
    assert not [name for name in found if not any(fnmatch(name, pattern) for pattern in patterns)]
    for _, programs, pages in rows:
        for program in _named(programs):
            assert (ROOT / program).is_file() or "until commit" in programs, program
        for page in re.findall(r"\]\(([^)]+)\)", pages):
            assert (RESULTS / page).is_file(), page


def test_every_page_of_the_lab_book_is_dated_and_linked_from_the_results() -> None:
    for page in (ROOT / "docs" / "lab-book").glob("2*.md"):
        assert re.fullmatch(r"\d{4}-\d\d-[\w-]+", page.stem), page.name
        assert f"lab-book/{page.name})" in PAGE, page.name


def test_every_picture_has_the_command_that_made_it() -> None:
    pictures = {name: row[1] for row in ROWS if len(row) == 2 for name in _named(row[0])}
    assert sorted(pictures) == sorted(path.name for path in (ROOT / "docs" / "images").iterdir())
    for made in pictures.values():
        (program,) = re.findall(r"bench/\w+\.py", made)
        assert (ROOT / program).is_file() or "now `dragoman reproduce" in made, made
