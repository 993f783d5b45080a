"""Markdown: text is translated, everything else stays."""

from __future__ import annotations

import re

import pytest

from dragoman.documents.document import Languages
from dragoman.documents.files import open_document
from tests.documents.translators import reversed_words, same, translated

markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")

TEXT = """---
title: bleibt
---

# ein *Hund* ##

Ein Mann läuft **durch den `Schnee`** [der Stadt](http://x "t"), und
![Bild](a.png) er lacht[^1]. <http://a.b>\\
Neue Zeile mit snake_case, 2 * 3 und $x + y$.

Lange Zeile
mit dem Wort Zeile
mehr
Zeile

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
        "LANGE ZEILE MIT DEM WORT ZEILE MEHR ZEILE",
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
    joined = (
        render(body)
        .replace("und\n", "und ")
        .replace("Zeile\nm", "Zeile m")
        .replace("mehr\nZ", "mehr Z")
        .replace("</strong>\n", "</strong> ")
    )
    assert render(translated(".md", body.encode(), same).decode()) == joined


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # To CommonMark a footnote of one word is the address of a link.
        ("Siehe dies[^1] und das[^note].\n\n[^1]: http://a.b\n[^note]: http://c.d\n", "das[^note] und dies[^1] Siehe."),
        (
            "| Die erste<br>die zweite Zeile |\n|-|\n| x<br/>y z |\n",
            "| erste Die<br>Zeile zweite die |\n|-|\n| x<br/>z y |",
        ),
        ("## Der Hund {#anker .klasse}\n", "## Hund Der {#anker .klasse}"),
        ("Ein Absatz.\n{: #id }\n", "Absatz Ein. {: #id }"),
        ("Der [Hund](u){.btn} da\n", "da [Hund](u){.btn} Der"),
        ("> [!WARNING]\n> Ein Hund.\n", "> [!WARNING]\n> Hund Ein."),
        ("Das ist <b>ein *alter* Hund</b> hier\n", "hier <b>Hund *alter* ein</b> ist Das"),
        ("Ein <i>alter Hund\n", "Hund <i>alter Ein"),
        ("Mit <kbd>*Strg*</kbd> oder <code>a_b</code>\n", "<code>a_b</code> oder <kbd>*Strg*</kbd> Mit"),
    ],
)
def test_footnotes_tags_and_attributes_stay_in_their_places(given: str, expected: str) -> None:
    found = translated(".md", given.encode(), reversed_words).decode()
    assert found.splitlines()[: len(expected.splitlines())] == expected.splitlines()
    kept = [line for line in given.splitlines() if line.startswith("[^")]
    assert [line for line in found.splitlines() if line.startswith("[^")] == kept


def test_each_footnote_is_a_text() -> None:
    before = "> [^1]: ein Hund\n> [^2]: Katze\n\n[^a]:eine Maus,\n    ein Tier\n\n    und mehr\n"
    expected = "> [^1]: EIN HUND\n> [^2]: KATZE\n\n[^a]:EINE MAUS, EIN TIER\n\n    UND MEHR\n"
    assert translated(".md", before.encode()).decode() == expected


@pytest.mark.parametrize(
    "text",
    [
        "> Ein Hund  \n> \\# Kopf  \n> 1\\. eins",
        "- Ein Hund\\\n  \\>kein Zitat",
        "!!! note\n    Ein Hund  \n    ein Mann",
        "Ein Hund\\\r\nein Mann",
        "> Ein Hund\\\n> {{ name }}\n> ein Mann\\\\\n> {{ name }}\n",
        "\\~\\~\\~ Hund\n\nein \\~\\~Hund\\~\\~",
        "Hier\\![ein Hund](u)",
        "\\# Hund  \nda\n===\n\n## ein Hund \\##",
        r"Ein $\{1,2\}$ und $a*b*c$ und $x^*_{i} + y^*_{i}$ und $$\|x\|_2$$ und $[a](b)$",
        r"Ein \$Hund\$ kostet $5-$6",
        '{{ a_b | c: "*x*" }} und {% link _a/b_.md %} Hund',
    ],
)
def test_escapes_formulas_and_hard_line_breaks_stay(text: str) -> None:
    assert translated(".md", text.encode(), same).decode() == text
    found = translated(".md", text.encode())
    assert translated(".md", found) == found


def test_emphasis_and_references_are_written_as_they_were() -> None:
    text = "ein _Hund_ __und__ [Katze][] und [`code`] oder [das _Haus_][r] ![Bild][Katze]\n\n"
    text += "[r]: /r\n[Katze]: /k\n[`code`]: /c\n"
    assert translated(".md", text.encode(), same).decode() == text
    assert translated(".md", text.encode()).decode() == text.replace("[Katze][]", "[KATZE][]").replace(
        "ein _Hund_ __und__", "EIN _HUND_ __UND__"
    ).replace(" und ", " UND ").replace("oder", "ODER").replace("das _Haus_", "DAS _HAUS_")
    found = translated(".md", b"[ein Hund] _a_b\n\n[ein hund]: /r\n", reversed_words).decode()
    assert found == "\\_a_b [Hund ein][ein Hund]\n\n[ein hund]: /r\n"


def test_signs_of_a_translation_are_no_markup() -> None:
    for text, expected in (
        (b"1 a b", "b a 1"),
        (b"a - b\n", "b - a\n"),
        (b"b \\*c* d", "d \\*c\\* b"),
        (b"*a* b", "b *a*"),
        (b"a b 2)", "2\\) b a"),
        (b"## 1. a", "## a 1."),
        (b"## a 2)", "## 2) a"),
        (b"**-** a _/_ b", "**-** _/_ b a"),
    ):
        assert translated(".md", text, reversed_words).decode() == expected
    assert translated(".md", b"a b", lambda text: "- x <y> [z]").decode() == "\\- x \\<y> \\[z\\]"


def test_emphasis_of_no_word_is_no_markup() -> None:
    for text, expected in (
        (b"# a *b*", "# a"),
        (b"a *b* **c** d", "a"),
        (b"a [***b***](/x)", "a [](/x)"),
    ):
        found = translated(".md", text, lambda sentence: sentence.split()[0]).decode()
        assert found.rstrip() == expected


def test_blocks_within_others_are_found_again() -> None:
    for text, expected in (
        ("> <div>\n> ab\n>\n> cd</div>\n", "> <div>\n> AB\n>\n> CD</div>\n"),
        ("<div>\r\n<p>ab</p>\r\n</div>\r\n\r\ncd\r\nef\r\n", "<div>\r\n<p>AB</p>\r\n</div>\r\n\r\nCD EF\r\n"),
        ("- <p>ab\n  cd</p>\n- ef\n", "- <p>AB CD</p>\n- EF\n"),
        ("1. ab\n\t2. cd\n", "1. AB 2. CD\n"),
        ("# ab\r\rcd\r", "# AB\r\rCD\r"),
    ):
        assert translated(".md", text.encode()).decode() == expected
        assert not open_document(".md", text.encode(), Languages()).untranslated


def test_a_block_that_is_not_found_again_is_said() -> None:
    document = open_document(".md", b"ab\n\nc\x00d\n\n<!-- e -->\n\nf\n", Languages())
    assert document.texts == ["ab", "f"]
    assert document.untranslated == ["line 3"]


def test_addresses_keep_their_characters() -> None:
    for text in (
        '[ab](http://x.y/K\u00f6ln?a=b&c=d%2E "t")',
        "[ab](<a b (c>) ![c](x_y.png)",
        "[ab](a(b)c\\\\*&amp;copy;)",
        "[ab](<>)",
    ):
        assert translated(".md", text.encode(), same).decode() == text


@pytest.mark.parametrize(
    "text",
    [
        "+++\ntitle = 'bleibt'\n+++\nHUND\n",
        "HUND\n:::note\nEIN MANN\n:::\nKATZE\n",
        "> ::: tip\n> HUND\n> :::\n",
        "> [!note]\n> EIN HUND\n\n>[!tip]-\n> HUND\n",
        "!!! note\n    EIN **MANN**\n\n    - EINS\n\n    ```\n    bleibt\n    ```\n\n    ??? x\n        INNEN\n\nAUS\n",
        "{% tabs %}\n{% tab %}\nHUND\n{% endtab %}\n{{ bleibt }}\n",
        "HUND\n$$\nx = bleibt\n$$\nKATZE\n",
        "WORT\n:   HUND\n:   KATZE\n",
        "```\n:::x\n!!! y\n$$\n```\n\nHUND\n",
        "5 $$ UND\n\nMEHR $$\n",
    ],
)
def test_blocks_that_commonmark_does_not_know_stay_where_they_are(text: str) -> None:
    """Of MkDocs, Docusaurus, Pandoc, GitHub, Hugo and templates."""
    before = re.sub("[A-ZÄ]{2,}", lambda word: word[0].lower(), text)
    assert translated(".md", before.encode()).decode() == text


def test_titles_of_such_blocks_are_told() -> None:
    text = ':::tip Mein Titel\nHund\n:::\n\n=== "Karte"\n\n    Text\n\n> [!tip] Titel\n> Mann\n'
    document = open_document(".md", text.encode(), Languages("de", "en"))
    assert (document.texts, document.untranslated) == (["Hund", "Text", "Mann"], ["line 1", "line 5", "line 9"])


def test_a_translation_stands_where_its_text_stood() -> None:
    for before, after in (
        ("| `date` | date |\n|---|---|\n| 1 | 1 |\n", "| `date` | DATE |\n|---|---|\n| 1 | 1 |\n"),
        ("| A | B |\n|--|--|\n| ![n](n.png) | n |\n", "| A | B |\n|--|--|\n| ![n](n.png) | N |\n"),
        ("[[1]](http://x) ein\n", "[\\[1\\]](http://x) EIN\n"),
        ("Text[^source]\n\n[^source]: source\n", "TEXT[^source]\n\n[^source]: SOURCE\n"),
        ("> [^a]: a b\n", "> [^a]: A B\n"),
        ("ein\n: ein\n", "EIN\n: EIN\n"),
    ):
        assert translated(".md", before.encode()).decode() == after


def test_links_of_wikis_citations_and_tables_of_contents_stay() -> None:
    text = "[TOC]\n\n[[_TOC_]]\n\nHUND [[page name]] UND [@smith2004; @b, 3]\n"
    before = text.replace("HUND", "hund").replace("UND", "und")
    assert translated(".md", before.encode()).decode() == text
