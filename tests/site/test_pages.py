"""Pages say their kind, their lines fit a terminal, and what they name exists: files, tests, commands of the README."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from docs.site_builder.kinds import kind_of
from tests.cli.test_documented_commands import PAGES, ROOT
from tests.site.page_blocks import blocks_of, pages_of_own_code

DOCS = ROOT / "docs"


def test_every_page_but_the_first_has_a_kind_in_its_language() -> None:
    sources = [path for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")]
    found = [path.relative_to(DOCS) for path in sources]
    built = {"_build", ".ipynb_checkpoints", "printed"}
    names = {path.with_suffix("").as_posix() for path in found if not built & set(path.parts)}
    kinds = {name: kind_of(name) for name in names}
    assert {name for name, kind in kinds.items() if kind is None} == {"index", "ko/index"}
    assert not [name for name, kind in kinds.items() if kind and kind.isascii() == name.startswith("ko/")]


def _long_lines(text: str) -> Iterator[str]:
    """Lines of sentences that are too long; tables, code, pictures and links that fill a line have their own length."""
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        own = (
            fenced
            or line.startswith(("|", "    ", "`", "![", "<!-- "))
            or re.search(r"\]\([^)]{30,}|`[^`]{60,}`", line)
        )
        if len(line) > 100 and not own:
            yield line


def test_sentences_are_wrapped() -> None:
    pages = [page for page in PAGES if DOCS in page.parents]
    found = [f"{page.relative_to(DOCS)}: {line}" for page in pages for line in _long_lines(page.read_text("utf-8"))]
    assert not found, "\n".join(found)


def _missing(page: Path, text: str) -> list[str]:
    """Relative links that lead to no file; `make docs` prints the pages in reference/printed."""
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    targets = [found for found in re.findall(r"\]\(([^)#\s]+)", sentences) if not re.match(r"[a-z]+:", found)]
    return [target for target in targets if "printed/" not in target and not (page.parent / target).is_file()]


def test_links_lead_to_files() -> None:
    found = [f"{page.name}: {target}" for page in PAGES for target in _missing(page, page.read_text("utf-8"))]
    assert not found, "\n".join(found)
    assert _missing(DOCS / "faq.md", "[a](index.md), [b](../bench), [c](none.md#d)") == ["../bench", "none.md"]


def test_every_test_that_a_page_names_exists() -> None:
    cited = [
        (page.name, *found)
        for page in PAGES
        for found in re.findall(r"([\w/]+/test_\w+\.py)(?:::(test_\w+))?", page.read_text("utf-8"))
    ]
    missing = []
    for page, file, function in cited:
        path = ROOT / "tests" / file.removeprefix("tests/")
        if not path.is_file() or (function and f"def {function}(" not in path.read_text("utf-8")):
            missing.append(f"{page}: {file}::{function}")
    assert not missing, "\n".join(missing)
    assert cited


def test_no_page_hides_commands_from_the_tests() -> None:
    """A line of a page that looks like a command stands in a block that the tests know."""
    hidden = []
    for page in pages_of_own_code():
        inside = {line for block in blocks_of(page) for line in block.text.splitlines()}
        for line in page.read_text(encoding="utf-8").splitlines():
            command = line.lstrip(" $>|").startswith("dragoman ") and line.startswith(("    ", "$", ">"))
            if command and line.removeprefix("    ") not in inside and line not in inside:
                hidden.append(f"{page.name}: {line}")
    assert not hidden, "\n".join(hidden)


def test_the_path_from_a_clone_to_a_translator_is_that_of_the_readme() -> None:
    page, readme = ((ROOT / name).read_text("utf-8") for name in ("docs/contributing/pages.md", "README.md"))
    steps = re.findall(r"^\| (\d) \| (.*) \| ([\d,]*) ?\|$", page, flags=re.MULTILINE)
    assert [shown for _, shown, _ in steps[2:] if shown.strip("`") not in readme] == []
    times = json.loads((ROOT / "bench" / "results" / "demo-time.json").read_text("utf-8"))
    assert steps[2][2] == f"{times['total']['median_seconds']:.0f}"
    assert f"{times['installation']['median_seconds']} s of it for installing" in page
