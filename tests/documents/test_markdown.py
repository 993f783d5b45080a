"""Markdown: text is translated, everything else stays."""

from __future__ import annotations

import pytest

from tests.documents.translators import reversed_words, same, translated

markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")

TEXT = """---
title: bleibt
---

# ein *Hund* ##

Ein Mann läuft **durch den `Schnee`** [der Stadt](http://x "t"), und
![Bild](a.png) er lacht[^1]. <http://a.b>\\
Neue Zeile mit snake_case, 2 * 3 und $x + y$.

> Zitat eins
> - Punkt **zwei**
>   [ ] mehr

1. erstens
2. 2018

| A a | b \\| c |
|---|---|
| x *y* | 2018 |

Setext
======

```py
code = "bleibt"
```

    code bleibt

<div class="a">Html <b>Text</b></div>

[^1]: Note eins

[r]: http://y
"""


def test_only_text_is_translated() -> None:
    found = translated(".md", TEXT.encode()).decode()
    for line in (
        "title: bleibt",
        "# EIN *HUND* ##",
        'EIN MANN LÄUFT **DURCH DEN `Schnee`** [DER STADT](http://x "t"), UND ![Bild](a.png) ER LACHT[^1]. <http://a.b>\\',
        "NEUE ZEILE MIT SNAKE_CASE, 2 \\* 3 UND $x + y$.",
        "> ZITAT EINS",
        "> - PUNKT **ZWEI** [ ] MEHR",
        "1. ERSTENS",
        "2. 2018",
        "| A A | B \\| C |",
        "| X *Y* | 2018 |",
        "SETEXT",
        'code = "bleibt"',
        "    code bleibt",
        '<div class="a">HTML <b>TEXT</b></div>',
        "[^1]: NOTE EINS",
        "[r]: http://y",
    ):
        assert line in found.splitlines(), line


def test_the_document_is_the_same_when_the_text_is() -> None:
    render = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render
    body = TEXT.partition("---\n\n")[2]
    joined = render(body).replace("und\n", "und ").replace("</strong>\n", "</strong> ")
    assert render(translated(".md", body.encode(), same).decode()) == joined


def test_signs_of_a_translation_are_no_markup() -> None:
    for text, expected in (
        (b"1 a b", "b a 1"),
        (b"a - b\n", "b - a\n"),
        (b"b \\*c* d", "d \\*c\\* b"),
        (b"*a* b", "b *a*"),
    ):
        assert translated(".md", text, reversed_words).decode() == expected
    assert translated(".md", b"a b", lambda text: "- x <y> [z]").decode() == "\\- x \\<y> \\[z\\]"
