"""Texts of programs: values are translated, and nothing else changes."""

from __future__ import annotations

import json

import pytest
import yaml

from dragoman.documents.document import Languages
from dragoman.documents.files import open_document
from dragoman.errors import InputError
from tests.documents.translators import same, translated

FILES = {
    "json": (
        '{"a": "ein Hund", "b" : ["zwei\\nZeilen", 3, true, null, "2018"], "c": {"d": "http://x/y", "e": "#fff"},\n'
        ' "f": "{n, plural, one {Hund} other {Hunde}}", "g": "ein \\"Mann\\" <b>läuft</b> & geht", "h": ""}',
        '{"a": "EIN HUND", "b" : ["ZWEI\\nZEILEN", 3, true, null, "2018"], "c": {"d": "http://x/y", "e": "#fff"},\n'
        ' "f": "{n, plural, one {Hund} other {Hunde}}", "g": "EIN \\"MANN\\" <b>LÄUFT</b> & GEHT", "h": ""}',
    ),
    "yaml": (
        "# hund\nde:\n  a: ein Hund # x\n  b: 'zwei'\n  c: \"drei: vier\"\n"
        "  d: |\n    eins\n    zwei\n\n  # drei\n  e: 3\n  f: ja\n  g: [eins, 2]\n",
        '# hund\nde:\n  a: "EIN HUND" # x\n  b: "ZWEI"\n  c: "DREI: VIER"\n  d: "EINS\\nZWEI\\n"\n\n'
        '  # drei\n  e: 3\n  f: "JA"\n  g: ["EINS", 2]\n',
    ),
    "properties": (
        "# hund\na.b = ein Hund\nc: zwei \\\n   drei\nd=gr\\u00fcn\n! x\ne=1\nf ein Hund\n",
        "# hund\na.b = EIN HUND\nc: ZWEI DREI\nd=GR\\u00dcN\n! x\ne=1\nf EIN HUND\n",
    ),
    "strings": (
        '/* hund\n"alt" = "ein";\n*/ "key" = "ein \\"Hund\\"";\n"zwei" = "a\\nb"; "u" = "//x/y";\n// "x" = "y";\n'
        "'drei' = 'l\\'\"Hund\"';\na.b-c = \"vier\";\n",
        '/* hund\n"alt" = "ein";\n*/ "key" = "EIN \\"HUND\\"";\n"zwei" = "A\\nB"; "u" = "//x/y";\n// "x" = "y";\n'
        "'drei' = 'L\\'\"HUND\"';\na.b-c = \"VIER\";\n",
    ),
    "resx": (
        '<root><data name="a" xml:space="preserve"><value>ein &lt;b&gt;Hund&lt;/b&gt;</value></data>'
        '<data name="i" type="System.Drawing"><value>abc</value></data></root>',
        '<root><data name="a" xml:space="preserve"><value>EIN &lt;b&gt;HUND&lt;/b&gt;</value></data>'
        '<data name="i" type="System.Drawing"><value>abc</value></data></root>',
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_values_are_translated(kind: str) -> None:
    before, expected = FILES[kind]
    assert translated(f".{kind}", before.encode()).decode() == expected
    if kind == "json":
        assert translated(".json", before.encode(), same).decode() == before
        assert json.loads(translated(".json", json.dumps({"a": "grün"}).encode())) == {"a": "GRÜN"}
    if kind == "yaml":
        assert yaml.safe_load(translated(".yaml", before.encode(), same)) == yaml.safe_load(before)


@pytest.mark.parametrize("form", ['["{}"]', 'a: "{}"', '"a" = "{}";'])
@pytest.mark.parametrize("value", ["ein \\ud83d\\ude00 Hund", "ein \\ud800 Hund"])
def test_halves_of_surrogate_pairs_are_no_characters(form: str, value: str) -> None:
    kind = {"[": ".json", "a": ".yaml", '"': ".strings"}[form[0]]
    before = form.format(value).encode()
    assert translated(kind, before, same) == before
    found = translated(kind, before).decode()
    assert found.split()[-1].startswith("HUND")
    assert "\ud800" not in found


def test_values_with_an_anchor_or_a_tag_are_translated() -> None:
    before = "a: &x ein Hund\nb: *x\nc: !!str &y\n  'zwei'\nd: !custom drei\n"
    expected = 'a: &x "EIN HUND"\nb: *x\nc: !!str &y\n  "ZWEI"\nd: !custom drei\n'
    assert translated(".yaml", before.encode()).decode() == expected


def test_no_break_spaces_at_the_end_of_a_yaml_value_stay() -> None:
    before = "a: ein Hund :\u00a0\nb: |\n  zwei\u00a0\n\nc: d\n"
    expected = 'a: "EIN HUND :\u00a0"\nb: "ZWEI\u00a0\\n"\n\nc: "D"\n'
    assert translated(".yaml", before.encode()).decode() == expected


def test_tabs_stay_between_the_words_of_a_menu_and_their_keys() -> None:
    for kind, before, expected in (
        (".properties", "a=&Datei\\tStrg+D\n", "a=&DATEI\\tSTRG+D\n"),
        (".json", '{"a": "Datei\\tStrg+D"}', '{"a": "DATEI\\tSTRG+D"}'),
        (".resx", "<a><data><value>Datei\tX</value></data></a>", "<a><data><value>DATEI\tX</value></data></a>"),
    ):
        assert translated(kind, before.encode()).decode() == expected


def test_carriage_returns_stay() -> None:
    for kind, before, expected in (
        (".properties", "a=ein\\r\\nHund\\rda\n", "a=EIN\\r\\nHUND\\rDA\n"),
        (".strings", '"a" = "ein\\r\\nHund\\rda";', '"a" = "EIN\\r\\nHUND\\rDA";'),
        (".json", '{"a": "ein\\r\\nHund\\rda"}', '{"a": "EIN\\r\\nHUND\\rDA"}'),
    ):
        assert translated(kind, before.encode()).decode() == expected


def test_apostrophes_of_messages_with_arguments_are_doubled() -> None:
    before = b"a=nicht {0}\nb=geht''s {0}\nc=geht''s\nd='{'0'}' {0}\n"
    document = open_document(".properties", before, Languages("de", "en"))
    assert document.texts == ["nicht {0}", "geht's {0}", "geht''s"]
    assert translated(".properties", before, same) == before
    after = translated(".properties", before, lambda text: text.replace("nicht", "don't"))
    assert after == before.replace(b"nicht", b"don''t")


def test_choices_of_java_stay() -> None:
    before = b"a={0,choice,0#keine Hunde|1#ein Hund}\n"
    document = open_document(".properties", before, Languages("de", "en"))
    assert (document.texts, document.untranslated) == ([], ["line 1"])


def test_comments_and_objects_of_resx_stay() -> None:
    before = (
        '<root>\n<!-- <data name="x"><value>ein Hund</value><comment>Katze</comment></data> -->\n'
        '<data name="a" xml:space="preserve">\r\n<comment>wo</comment>\r\n<value>ein\nHund &gt; 1</value></data>'
        '<data name="b"/>'
        '<data name="&gt;&gt;c.Name"><value>Knopf</value></data><data name=">>d.Type"><value>Knopf</value></data>'
        '<data name="e" mimetype="base64"><value>QUJD</value></data><metadata name="f"><value>wahr</value></metadata>'
        "<data name='g'><value><![CDATA[ein <Mann> & mehr]]></value></data></root>"
    )
    expected = before.replace("ein\nHund &gt; 1", "EIN\nHUND &gt; 1").replace("ein <Mann> & mehr", "EIN <Mann> & MEHR")
    assert translated(".resx", before.encode()).decode() == expected


def test_values_that_cannot_be_read_are_told() -> None:
    row = "<data name='a'><value>{}</value></data>\n"
    text = f"<root>{row.format('ein')}{row.format('ein <!-- x --> Hund')}</root>"
    document = open_document(".resx", text.encode(), Languages("de", "en"))
    assert (document.texts, document.untranslated) == (["ein"], ["line 2"])


def test_files_that_are_damaged_are_refused() -> None:
    with pytest.raises(InputError, match="the file is not JSON: Expecting"):
        translated(".json", b"{a}")
    for kind in (".resx", "strings.xml"):
        with pytest.raises(InputError, match=r"the file is not XML, or is damaged: no element found: line 1"):
            translated(kind, b"<root><data name='a'><value>ein Hund</value></data>")
    with pytest.raises(InputError, match=r"the file is not YAML: .*line 1"):
        translated(".yaml", b"a: [")


def test_strings_of_android_are_translated() -> None:
    before = (
        '<!DOCTYPE resources [<!ENTITY app "Hund">]>\n<resources><!-- <string name="x">alt</string> -->'
        '<string name="c"><![CDATA[ein <i>Mann</i>]]></string><string name="d">&app; ist</string>'
        '<string name="e">@string/hund</string>'
        '<string name="a">ein <b>Hund</b> ist\\nda</string><string name="b" translatable="false">c</string>'
        '<plurals name="p"><item quantity="one">ein Hund</item></plurals></resources>'
    )
    expected = before.replace("ein <b>Hund</b> ist\\nda", "EIN <b>HUND</b> IST\\nDA").replace(">ein Hund", ">EIN HUND")
    expected = expected.replace("ein <i>Mann", "EIN <i>MANN").replace("; ist", "; IST")
    assert translated("strings.xml", before.encode()).decode() == expected
    assert "l\\'eau" in translated("strings.xml", before.encode(), lambda text: "l'eau").decode()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (r"ein Hund\u2026 gr\u00fcn \u003c ist\u0027s", r"EIN HUND… GRÜN &lt; IST\'S"),
        (r"\u0022ein\u0022 Hund", r"\"EIN\" HUND"),
        (r"\u0020ein\tHund \ud83d\ude00 da", r"\u0020EIN\tHUND \ud83d\ude00 DA"),
        ("<![CDATA[Hund & Mann < da]]>", "<![CDATA[HUND & MANN < DA]]>"),
        ("<![CDATA[<b>Hund</b> &amp; Mann]]>", "<![CDATA[<b>HUND</b> &amp; MANN]]>"),
    ],
)
def test_escaped_characters_of_android_stay(before: str, expected: str) -> None:
    file = '<resources><string name="a">{}</string></resources>'
    assert translated("strings.xml", file.format(before).encode()).decode() == file.format(expected)


def test_lists_and_escaped_marks_of_android_are_translated() -> None:
    before = (
        "<resources>\n<string-array name=\"n\" translatable = 'false'><item>nie</item></string-array>\n"
        '<string-array name="a"><item>ein Hund</item>\n<item>zwei</item></string-array>\n'
        '<string name="q">ein \\"Hund\\" <a href="x">da</a></string><string name="w">"ein  \\"Hund\\" "</string>\n'
        '<plurals name="p" translatable="false"><item quantity="one">nie</item></plurals>'
        '<string name="x">\\@hund</string></resources>'
    )
    expected = before.replace("ein Hund", "EIN HUND").replace("zwei", "ZWEI").replace("da</a>", "DA</a>")
    expected = expected.replace('ein \\"Hund\\"', 'EIN \\"HUND\\"').replace('"ein  \\"Hund\\" "', '"EIN "HUND" "')
    assert translated("strings.xml", before.encode()).decode() == expected.replace("@hund", "@HUND")


def test_tags_over_several_lines_stay_tags() -> None:
    text = '{"a": "ein <a\\nhref=\\"x.html\\">Hund</a>\\nda"}'
    expected = '{"a": "EIN <a\\nhref=\\"x.html\\">HUND</a>\\nDA"}'
    assert translated(".json", text.encode()).decode() == expected


def test_xml_that_becomes_utf_8_declares_it() -> None:
    for suffix, before in (
        (".resx", '<root><data name="a"><value>hund</value></data></root>'),
        ("strings.xml", '<resources><string name="a"><![CDATA[hund]]></string></resources>'),
    ):
        declared = f'<?xml version="1.0" encoding="iso-8859-1"?>{before}'
        found = translated(suffix, declared.encode(), lambda text: "Ö").decode()
        assert found == f'<?xml version="1.0" encoding="utf-8"?>{before.replace("hund", "Ö")}'


def test_what_android_marks_as_no_text_stays() -> None:
    text = '<resources xmlns:xliff="x"><string name="a">von <xliff:g id="n">ab %1$s</xliff:g> an</string></resources>'
    assert translated("strings.xml", text.encode()).decode() == text.replace(">von ", ">VON ").replace(" an<", " AN<")
