"""How blocks of pages are found, and outputs compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.test_documented_commands import ROOT
from tests.site.page_blocks import blocks_of, english_pages, same

PAGE = """# Title

<!-- file: a.txt -->
```
a text
```

- an item

    of several paragraphs

<!-- words vary -->

```
$ dragoman translate RUN < a.txt | head -1
1 word
$ true
```

Sentence:

    dragoman presets

    dragoman config demo

```{toctree}
page
```

<!-- not run: takes minutes -->
```sh
dragoman demo
```
"""


def test_blocks_are_found_with_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    text, transcript, indented, marked = blocks_of(page)
    assert (text.file, text.line, text.reason) == ("a.txt", 4, None)
    assert transcript.words_vary
    assert transcript.steps() == [("dragoman translate RUN < a.txt | head -1", ["1 word"]), ("true", [])]
    assert indented.steps() == [("dragoman presets\n\ndragoman config demo", None)]
    assert marked.reason == "takes minutes"
    page.write_text("<!-- words vary -->\nno block\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="without a block"):
        list(blocks_of(page))


def test_an_output_is_compared_but_for_its_figures() -> None:
    assert same(["BLEU  50.04", "", "...", "end 1e-05"], ["BLEU 1.5", "x", "y", "end 7"])
    assert same(["a", "..."], ["a"])
    for shown, printed in ((["BLEU 1"], ["chrF 1"]), (["a"], ["a", "b"]), (["a", "b"], ["a"]), (["1 pair"], ["pair"])):
        assert not same(shown, printed), (shown, printed)
    assert same(["1\tein Hund"], ["7\teine Katze und"], words_vary=True)
    assert not same(["1\tein Hund"], ["ein Hund"], words_vary=True)


def test_reasons_name_tests_that_exist() -> None:
    reasons = [block.reason for page in english_pages() for block in blocks_of(page) if block.reason is not None]
    named = re.findall(r"tests/[\w/.]+", " ".join(reasons))
    assert not [name for name in named if not (ROOT / name).is_file()]
    assert len(named) >= 10


def test_no_page_hides_commands_from_the_tests() -> None:
    """A line of a page that looks like a command stands in a block that the tests know."""
    hidden, known = [], 0
    for page in english_pages():
        inside = {line for block in blocks_of(page) for line in block.text.splitlines()}
        known += sum(line.lstrip("$ ").startswith("dragoman ") for line in inside)
        for line in page.read_text(encoding="utf-8").splitlines():
            command = line.lstrip(" $>|").startswith("dragoman ") and line.startswith(("    ", "$", ">"))
            if command and line.removeprefix("    ") not in inside and line not in inside:
                hidden.append(f"{page.name}: {line}")
    assert not hidden, "\n".join(hidden)
    assert known > 150
