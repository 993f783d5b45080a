"""How blocks of pages are found, and outputs compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.page_blocks import blocks_of, same

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
    assert indented.steps() == [("dragoman presets", None)]
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
