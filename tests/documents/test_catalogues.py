"""Files of translators: only what has no translation is filled, and marked."""

from __future__ import annotations

import pytest

from dragoman.errors import InputError
from tests.documents.translators import reversed_words, translated

PO = """# translator
msgid ""
msgstr ""
"Language: en\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. a comment
#: file.c:1
#, c-format
msgid "ein Hund"
msgstr ""

msgctxt "menu"
msgid "Datei"
msgstr "File"

msgid "ein Ordner"
msgid_plural "viele Ordner"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "alt"
msgstr "old"

msgid ""
"erste <b>Zeile</b> & mehr\\n"
"zweite\\n"
msgstr ""

msgid "42"
msgstr ""
"""


def test_a_catalogue_gets_fuzzy_translations() -> None:
    pytest.importorskip("polib", reason="needs polib")
    expected = (
        PO.replace(
            '#, c-format\nmsgid "ein Hund"\nmsgstr ""', '#, c-format, fuzzy\nmsgid "ein Hund"\nmsgstr "EIN HUND"'
        )
        .replace('msgid "ein Ordner"', '#, fuzzy\nmsgid "ein Ordner"')
        .replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "EIN ORDNER"\nmsgstr[1] "VIELE ORDNER"')
        .replace('msgid ""\n"erste', '#, fuzzy\nmsgid ""\n"erste')
        .replace('"zweite\\n"\nmsgstr ""', '"zweite\\n"\nmsgstr ""\n"ERSTE <b>ZEILE</b> & MEHR\\n"\n"ZWEITE\\n"')
        .replace('msgid "42"\nmsgstr ""', '#, fuzzy\nmsgid "42"\nmsgstr "42"')
    )
    assert translated(".po", PO.encode()).decode() == expected
    assert translated(".po", PO.replace("\n", "\r\n").encode()) == expected.replace("\n", "\r\n").encode()
    assert translated(".po", b"# none\n") == b"# none\n"
    remarked = translated(".po", PO.encode(), confidence=0.254).decode()
    remark = "# machine translation, confidence 0.25\n"
    assert f"{remark}#. a comment\n#: file.c:1\n#, c-format, fuzzy\n" in remarked
    assert remarked.count(remark) == remarked.count("fuzzy\n") - 1  # one was fuzzy before
    with pytest.raises(InputError, match="the file is not a catalogue, or is damaged"):
        translated(".po", b"msgid 1\nxx")


def test_xliff_gets_targets_with_their_inline_elements() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">'
        '<file source-language="de" original="a"><body>'
        '<trans-unit id="1"><source>ein <g id="1">Hund</g><x id="2"/> hier</source></trans-unit>'
        '<trans-unit id="2"><source>ein Mann</source><target>a man</target></trans-unit>'
        '<trans-unit id="3" translate="no"><source>ein Mann</source></trans-unit>'
        '<trans-unit id="4"><source>eine Frau</source><target/></trans-unit>'
        "</body></file></xliff>"
    )
    marked = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
    expected = (
        before.replace('source-language="de" original="a"', 'source-language="de" original="a" target-language="en"')
        .replace("hier</source>", f'hier</source>{marked}hier <g id="1">Hund</g><x id="2"/> ein</target>')
        .replace("<target/>", f"{marked}Frau eine</target>")
    )
    assert translated(".xliff", before.encode(), reversed_words).decode() == expected
    remark = "machine translation, confidence 0.25"
    rated = translated(".xliff", before.encode(), confidence=0.25).decode()
    assert rated.count(f'</target><note from="Dragoman" annotates="target">{remark}</note></trans-unit>') == 2
    second = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de"><file id="f"><unit id="u">'
        '<segment><source>ein <pc id="1">Hund</pc></source></segment><segment><source>a</source><target>b</target>'
        "</segment></unit></file></xliff>"
    )
    found = translated(".xlf", second.encode()).decode().partition("?>\n")[2]
    assert found == second.replace('srcLang="de"', 'srcLang="de" trgLang="en"').replace(
        "<segment><source>ein", '<segment state="translated"><source>ein'
    ).replace("</pc></source>", '</pc></source><target>EIN <pc id="1">HUND</pc></target>')
    rated = translated(".xlf", second.encode(), confidence=0.25).decode()
    note = f'<notes><note appliesTo="target" category="confidence">{remark}</note></notes>'
    assert f'<unit id="u">{note}<segment state="translated">' in rated


def test_a_memory_gets_the_target_language() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<?xml version="1.0" encoding="utf-16"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
        '<header srclang="de"/><body><tu><tuv xml:lang="de-AT"><seg>ein <ph x="1">&lt;b&gt;</ph>Hund</seg></tuv></tu>'
        '<tu><tuv xml:lang="de"><seg>a</seg></tuv><tuv xml:lang="EN-us"><seg>b</seg></tuv></tu></body></tmx>'
    )
    found = translated(".tmx", before.encode("utf-16")).decode("utf-16")
    new = '</tuv><tuv xml:lang="en"><seg>EIN <ph x="1">&lt;b&gt;</ph>HUND</seg></tuv></tu>'
    assert found.partition("<tmx")[2] == before.partition("<tmx")[2].replace("</tuv></tu>", new, 1)
    with pytest.raises(InputError, match="the target language is not known"):
        translated(".tmx", before.encode("utf-16"), target="")
    with pytest.raises(InputError, match="declares entities"):
        translated(".tmx", b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx>&a;</tmx>')
    with pytest.raises(InputError, match="the file is not TMX: its outermost element is a"):
        translated(".tmx", b"<a/>")
