"""Files of translators: only what has no translation is filled, and marked."""

from __future__ import annotations

import pytest

from dragoman.documents.document import Languages, RatedText, Review, Units
from dragoman.documents.files import open_document
from dragoman.errors import InputError
from dragoman.translation_memory.memory import MemoryMatch
from tests.documents.translators import reversed_words, same, translated

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
    with pytest.raises(InputError, match="line 2 is not a text in quotes"):
        translated(".po", b'msgid "a"\nmsgstr "bc\n')


def test_forms_of_a_plural_that_are_there_stay_beside_those_that_are_filled() -> None:
    pytest.importorskip("polib", reason="needs polib")
    before = 'msgid "ein Hund"\nmsgid_plural "viele Hunde"\nmsgstr[0] "a dog"\nmsgstr[1] ""\n'
    after = before.replace('""', '"VIELE HUNDE"')
    assert translated(".po", before.encode()).decode() == f"#, fuzzy\n{after}"


def test_lines_of_a_catalogue_may_be_indented() -> None:
    before = '  msgid "ein Hund"\n  msgstr ""\n  ""\n\nmsgid "Mann"\nmsgstr ""\n'
    expected = '#, fuzzy\n  msgid "ein Hund"\nmsgstr "EIN HUND"\n\n#, fuzzy\nmsgid "Mann"\nmsgstr "MANN"\n'
    assert translated(".po", before.encode()).decode() == expected


def test_a_catalogue_in_the_encoding_that_it_names() -> None:
    pytest.importorskip("polib", reason="needs polib")
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=EUC-KR\\n"\n\n#: 파일\nmsgid "dog"\nmsgstr ""\n'
    found = translated(".po", text.encode("euc-kr"), lambda _: "개")
    assert found.decode("euc-kr") == text.replace('dog"\nmsgstr ""', 'dog"\nmsgstr "개"').replace(
        "#: 파일\n", "#: 파일\n#, fuzzy\n"
    )
    plain = text.replace("파일", "file")
    assert translated(".po", plain.encode(), lambda _: "개") == found.replace("파일".encode("euc-kr"), b"file")
    wider = translated(".po", text.encode("euc-kr"), lambda _: "ğ")
    assert wider.decode() == found.decode("euc-kr").replace("EUC-KR", "UTF-8").replace("개", "ğ")
    for name in ("EUC-KR", "CHARSET", "utf8"):  # the bytes are UTF-8
        given = text.replace("EUC-KR", name)
        named = given if name == "utf8" else text.replace("EUC-KR", "UTF-8")
        assert translated(".po", given.encode(), lambda _: "개").decode() == named.replace(
            'dog"\nmsgstr ""', 'dog"\nmsgstr "개"'
        ).replace("#: 파일\n", "#: 파일\n#, fuzzy\n")
    with pytest.raises(InputError, match="the file is not UTF-9, which its header names"):
        translated(".po", text.replace("EUC-KR", "UTF-9").encode("euc-kr"))


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
    found = translated(".xlf", second.encode()).decode()
    assert found == second.replace('srcLang="de"', 'srcLang="de" trgLang="en"').replace(
        "<segment><source>ein", '<segment state="translated" subState="dragoman:mt"><source>ein'
    ).replace("</pc></source>", '</pc></source><target>EIN <pc id="1">HUND</pc></target>')
    rated = translated(".xlf", second.encode(), confidence=0.25).decode()
    note = f'<notes><note appliesTo="target" category="confidence">{remark}</note></notes>'
    assert f'<unit id="u">{note}<segment state="translated" ' in rated


def test_the_languages_that_a_file_names_are_known() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    first = '<xliff><file source-language="nl-nl" target-language="en-gb"><body/></file></xliff>'
    second = '<xliff srcLang="nl"><file id="f"/></xliff>'
    for kind, text, languages in (
        (".mqxliff", first, ("nl-nl", "en-gb")),
        (".xlf", second, ("nl", "")),
        (".po", PO, ("", "en")),
    ):
        assert open_document(kind, text.encode(), Languages("de", "en")).declared == languages


def test_a_memory_gets_the_target_language() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<?xml version="1.0" encoding="utf-16"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
        '<header srclang="de"/><body><tu><tuv xml:lang="de-AT"><seg>ein <ph x="1">&lt;b&gt;</ph>Hund</seg></tuv></tu>'
        '<tu><tuv xml:lang="de"><seg>a</seg></tuv><tuv xml:lang="EN-us"><seg>b</seg></tuv></tu></body></tmx>'
    )
    found = translated(".tmx", before.encode("utf-16")).decode("utf-16")
    new = '</tuv><tuv xml:lang="en" creationtool="Dragoman"><seg>EIN <ph x="1">&lt;b&gt;</ph>HUND</seg></tuv></tu>'
    assert found.partition("<tmx")[2] == before.partition("<tmx")[2].replace("</tuv></tu>", new, 1)
    rated = translated(".tmx", before.encode("utf-16"), confidence=0.25).decode("utf-16")
    assert '<prop type="x-confidence">0.25</prop><seg>EIN' in rated
    assert rated.count("<prop") == 1
    with pytest.raises(InputError, match="the target language is not known"):
        translated(".tmx", before.encode("utf-16"), target="")
    with pytest.raises(InputError, match="declares entities"):
        translated(".tmx", b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx>&a;</tmx>')
    with pytest.raises(InputError, match="the file is not TMX: its outermost element is a"):
        translated(".tmx", b"<a/>")


def test_files_of_other_languages_stay() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    file = '<file source-language="{}" target-language="{}"><trans-unit id="{}"><source>{}</source></trans-unit></file>'
    files = [("de", "en", 1, "ein"), ("de-DE", "en", 2, "zwei"), ("de", "fr", 3, "drei"), ("nl", "en", 4, "vier")]
    before = f"<xliff>{''.join(file.format(*each) for each in files)}</xliff>"
    document = open_document(".xliff", before.encode(), Languages("de", "en"))
    assert (document.texts, document.untranslated) == (["ein", "zwei"], ["unit 3", "unit 4"])


TRADOS = """\ufeff<?xml version="1.0" encoding="utf-8"?><xliff xmlns:sdl='http://sdl.com/FileTypes/SdlXliff/1.0' \
xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<!-- kept --><file original="a &amp; b.docx" source-language='de' target-language="en"><header><sdl:cxts>\
<![CDATA[<x>]]></sdl:cxts></header><body>
  <trans-unit id='1'><source>a &quot;b&quot;</source><target>done</target></trans-unit>
  <trans-unit id='2' ><?a b?><!-- > -->
    <source>ein <g id='5' >Hund</g>. &quot;Zwei&quot; <x id="1" />.<![CDATA[&]]></source >
    <seg-source><mrk mtype="seg" mid="1">ein <g id="5">Hund</g>.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></seg-source>
    <sdl:seg-defs><sdl:seg id="1" /><sdl:seg id="2" /></sdl:seg-defs>
  </trans-unit>
</body></file></xliff>
"""


def test_the_rest_of_a_file_of_xml_keeps_its_characters() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    content = TRADOS.replace("\n", "\r\n").encode()
    found = translated(".xliff", content)
    target = (
        '    <target><mrk mtype="seg" mid="1">EIN '
        '<g id="5">HUND</g>.</mrk> <mrk mtype="seg" mid="2">ZWEI.</mrk></target>\r\n    <sdl:seg-defs>'
    )
    expected = content.decode().replace("    <sdl:seg-defs>", target)
    for number in ("1", "2"):
        marked = f'<sdl:seg id="{number}" conf="Draft" origin="mt" origin-system="Dragoman"/>'
        expected = expected.replace(f'<sdl:seg id="{number}" />', marked)
    assert found.decode() == expected
    memory = (
        "<?xml version='1.0' encoding='ISO-8859-1'?><tmx><header srclang='de'/><body>\n<tu tuid='1'>\n"
        "  <tuv xml:lang='de'><seg>grün &gt; rot</seg></tuv>\n</tu>\n<tu/><!-- <tu> -->\n"
        "<tu a='>'><tuv xml:lang='de'><seg>a</seg></tuv><tuv xml:lang='en'><seg>\"</seg></tuv></tu></body></tmx>\n"
    )
    found = translated(".tmx", memory.encode("latin-1"), target="en", change=lambda text: "€ green")
    assert found.decode("latin-1") == memory.replace(
        "<seg>grün &gt; rot</seg></tuv>\n",
        '<seg>grün &gt; rot</seg></tuv>\n  <tuv xml:lang="en" creationtool="Dragoman"><seg>&#8364; green</seg></tuv>\n',
    )


MARKED = """<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0">\
<file source-language="de" target-language="en"><body><trans-unit id="u"><source>Eins. Zwei. Drei. 4.</source>\
<seg-source><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk> <g id="5">\
<mrk mtype="seg" mid="3">Drei.</mrk></g> <mrk mtype="seg" mid="4">4.</mrk></seg-source>{target}{definitions}\
</trans-unit></body></file></xliff>"""


def marked_target(*texts: str) -> str:
    one, two, three = (f'<mrk mtype="seg" mid="{number}">{text}</mrk>' for number, text in enumerate(texts, 1))
    return f'<target>{one} {two} <g id="5">{three}</g> <mrk mtype="seg" mid="4">4.</mrk></target>'.replace(
        "></mrk>", "/>"
    )


def test_a_sentence_that_is_marked_in_a_unit_is_translated_alone() -> None:
    """In files of Trados, sentences of one paragraph are translated one by one, and may be locked."""
    pytest.importorskip("lxml", reason="needs lxml")
    definitions = (
        '<sdl:seg-defs><sdl:seg id="1" conf="Translated" origin="tm" percent="98"/><sdl:seg id="2" percent="9"/>{}'
        "</sdl:seg-defs>"
    )
    locked = definitions.format('<sdl:seg id="3" locked="true"/>')
    new = (
        '<sdl:seg id="2" conf="Draft" origin="mt" origin-system="Dragoman"><sdl:value key="confidence">0.25</sdl:value>'
    )
    for old, expected in (
        (marked_target("One.", "", ""), marked_target("One.", "ZWEI.", "")),
        ("", marked_target("EINS.", "ZWEI.", "")),
        ("<target/>", marked_target("EINS.", "ZWEI.", "")),
    ):
        before = MARKED.format(target=old, definitions=locked)
        found = translated(".sdlxliff", before.encode(), confidence=0.25).decode()
        assert expected in found
        assert found.count(new) == 1
        assert '<sdl:seg id="3" locked="true"/>' in found
        assert translated(".sdlxliff", found.encode()).decode() == found
    whole = MARKED.format(target="<target>One. Two.</target>", definitions=locked)
    assert translated(".sdlxliff", whole.encode()).decode() == whole
    alike = MARKED.format(target="", definitions="").replace('mid="2"', 'mid="1"')
    assert (
        marked_target("EINS.", "ZWEI.", "DREI.").partition(" ")[2].replace('mid="2"', 'mid="1"')
        in translated(".xlf", alike.encode()).decode()
    )
    lacking = MARKED.format(target='<target><mrk mtype="seg" mid="1">One.</mrk></target>', definitions="")
    document = open_document(".xlf", lacking.encode(), Languages("de", "en"))
    assert document.places == ["unit u, segment 2", "unit u, segment 3"]
    match = MemoryMatch("Zwo.", "Two.", 0.875, [])
    found = document.write([RatedText("Two.", 0.5, [match]), RatedText("Three.", 0.25)]).decode()
    target = (
        '<mrk mtype="seg" mid="1">One.</mrk><mrk mtype="seg" mid="2">Two.</mrk><mrk mtype="seg" mid="3">Three.</mrk>'
    )
    assert f">{target}</target>" in found
    notes = [found.index(f"segment {number}: machine translation, confidence") for number in (2, 3)]
    assert notes == sorted(notes)
    assert '<alt-trans match-quality="88%" origin="memory" mid="2">' in found


def test_units_of_memoq_get_its_status() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff"><file source-language="de" '
        'target-language="en"><body><trans-unit id="1" mq:status="NotStarted"><source xml:space="preserve">'
        '<bpt id="1">{{}}</bpt>ein Hund<ept id="1">{{}}</ept></source><target>{}</target></trans-unit>'
        '<trans-unit id="2" mq:status="NotStarted" mq:locked="locked"><source>ein</source><target/></trans-unit>'
        "</body></file></xliff>"
    )
    content = before.format('<bpt id="1">{}</bpt><ept id="1">{}</ept>').encode()
    found = translated(".mqxliff", content).decode()
    target = '<bpt id="1">{}</bpt>EIN HUND<ept id="1">{}</ept>'
    assert found == before.format(target).replace('"NotStarted"><source', '"MachineTranslated"><source')
    units = open_document(".mqxliff", content, Languages("de", "en")).units
    assert units is not None
    assert b'id="1" mq:status="ManuallyConfirmed"' in units.write([RatedText("a dog", None)], {0}, {})


@pytest.mark.parametrize(
    ("of_unit", "of_target", "fuzzy"),
    [
        ("", "", False),
        ("", 'state="final"', False),
        ("", 'state="needs-review-translation"', True),
        ("", 'state="new"', True),
        ("", 'state-qualifier="fuzzy-match"', True),
        ('mq:status="MachineTranslated"', "", True),
    ],
)
def test_translations_that_somebody_has_to_look_at_are_fuzzy(of_unit: str, of_target: str, fuzzy: bool) -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    content = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff"><file source-language="de"><body>'
        f'<trans-unit id="1" {of_unit}><source>ein</source><target {of_target}>a</target></trans-unit>'
        "</body></file></xliff>"
    )
    units = open_document(".xlf", content.encode(), Languages("de", "en")).units
    assert units is not None
    assert [one.fuzzy for one in units.done] == [fuzzy]


def test_segments_of_trados_without_a_confirmation_are_fuzzy() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    segments = '<sdl:seg id="1" conf="Translated"/><sdl:seg id="2" conf="Draft"/><sdl:seg id="3"/>'
    definitions = f"<sdl:seg-defs>{segments}</sdl:seg-defs>"
    content = MARKED.format(target=marked_target("One.", "Two.", "Three."), definitions=definitions)
    units = open_document(".sdlxliff", content.encode(), Languages("de", "en")).units
    assert units is not None
    assert [one.fuzzy for one in units.done][:3] == [False, True, True]


def test_a_copy_of_the_source_that_is_called_new_is_translated() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de" trgLang="en"><file id="f"><unit id="u">'
        '<segment state="initial" subState="a:b"><source>ein Hund</source><target>ein Hund</target></segment>'
        '<segment state="initial"><source>ein Mann</source><target>a man</target></segment>'
        "<segment><source>Taxi</source><target>Taxi</target></segment></unit></file></xliff>"
    )
    expected = before.replace('"initial" subState="a:b"', '"translated" subState="dragoman:mt"')
    assert translated(".xlf", before.encode()).decode() == expected.replace("<target>ein Hund", "<target>EIN HUND")


def test_text_within_a_tag_is_told() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    tag = '<ph id="1">alt=<sub>ein Bild</sub></ph>'
    unit = f'<trans-unit id="u"><source>ein {tag} Hund</source></trans-unit>'
    xliff = f'<xliff><file source-language="de"><body>{unit}</body></file></xliff>'
    memory = f'<tmx><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>{tag} da</seg></tuv></tu></body></tmx>'
    for kind, content, place in ((".xlf", xliff, "unit u"), (".tmx", memory, "line 1")):
        assert open_document(kind, content.encode(), Languages("de", "en")).untranslated == [place]


def test_messages_with_cases_stay_and_are_told() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    cases = "{n, plural, one {ein Hund} other {# Hunde}}"
    unit = '<trans-unit id="{}"><source>{}</source></trans-unit>'
    units = unit.format("u", cases) + unit.format("v", "ein")
    xliff = f'<xliff><file source-language="de"><body>{units}</body></file></xliff>'
    catalogue = f'msgid "{cases}"\nmsgstr ""\n\nmsgid "ein"\nmsgstr ""\n'
    program = f'{{"a": "{cases}", "b": "ein"}}'
    for kind, content, place in ((".xlf", xliff, "unit u"), (".po", catalogue, "line 1"), (".json", program, "line 1")):
        document = open_document(kind, content.encode(), Languages("de", "en"))
        assert (document.texts, document.untranslated) == (["ein"], [place])
        assert cases.encode() in translated(kind, content.encode())


def test_protected_words_and_lines_stay() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="de" target-language="en"><body>'
        '<trans-unit id="1" xml:space="preserve"><source> ein <mrk mtype="protected">Hund</mrk>\n\tzwei\n</source>'
        "</trans-unit></body></file></xliff>"
    )
    target = '> EIN <mrk mtype="protected">Hund</mrk>\n\tZWEI\n</target>'
    assert target in translated(".xlf", before.encode()).decode()


def test_an_element_that_comes_twice_gets_its_own_id() -> None:
    """As XLIFF 2 wants it."""
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de"><file id="f"><unit id="u"><segment>'
        '<source><pc id="1">a</pc> b <pc id="2" dataRefStart="d">c</pc></source></segment></unit></file></xliff>'
    )
    document = open_document(".xlf", before.encode(), Languages("de", "en"))
    assert document.texts == ["<g0>a</g0> b <g1>c</g1>"]
    found = document.write([RatedText("<g0>a</g0> <g1>c</g1> <g0>b</g0> <g1>c</g1>", None)]).decode()
    assert (
        '<target><pc id="1">a</pc> <pc id="2" dataRefStart="d">c</pc> <pc id="1-1" copyOf="1">b</pc> '
        '<pc id="2-1" dataRefStart="d">c</pc></target>'
    ) in found


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ('ein <b i="1"/>Hund<e i="1"/> da', 'da <b i="1"/>Hund<e i="1"/> ein'),
        ('<b i="1"/><b i="2"/>ein Hund<e i="1"/><e i="2"/> da', 'da <b i="1"/><b i="2"/>Hund ein<e i="1"/><e i="2"/>'),
        (
            '<b i="1"/>a<e i="1"/><b i="2"/>ein Hund<e i="2"/> da',
            'da <b i="2"/>Hund<e i="2"/> <b i="1"/>a<e i="1"/><b i="3"/>ein<e i="3"/>',
        ),
        ('<b i="1"/>ein <b i="2"/>Hund<e i="2"/><e i="1"/> da', 'da <b i="1"/><b i="2"/>Hund<e i="2"/> ein<e i="1"/>'),
        ('<e i="1"/>ein Hund <b i="2"/>', '<e i="1"/>Hund ein <b i="2"/>'),
    ],
)
def test_tags_that_begin_and_end_stay_around_their_words(source: str, target: str) -> None:
    """In TMX and in files of memoQ, formatting is two elements without content; i becomes id there."""
    pytest.importorskip("lxml", reason="needs lxml")
    source, target = (text.replace("<b ", "<bpt ").replace("<e ", "<ept ") for text in (source, target))
    memory = f'<tmx><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>{source}</seg></tuv></tu></body></tmx>'
    assert f"<seg>{target}</seg></tuv></tu>" in translated(".tmx", memory.encode(), reversed_words).decode()
    assert memory.count(source) + 1 == translated(".tmx", memory.encode(), same).decode().count(source)
    source, target = (text.replace(" i=", " id=") for text in (source, target))
    unit = f'<trans-unit id="u"><source>{source}</source></trans-unit>'
    file = f'<xliff><file source-language="de"><body>{unit}</body></file></xliff>'
    found = translated(".xlf", file.encode(), reversed_words).decode()
    assert target.replace('id="3"', 'id="2-1"') + "</target>" in found


def test_links_between_tags_are_kept_in_copies() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    before = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de"><file id="f"><unit id="u"><segment>'
        '<source><sc id="1"/>ein<ec startRef="1"/><sc id="2"/>Hund ist<ec startRef="2"/> da</source>'
        "</segment></unit></file></xliff>"
    )
    found = translated(".xlf", before.encode(), reversed_words).decode()
    assert (
        '<target>da <sc id="2"/>ist<ec startRef="2"/> <sc id="1"/>ein<ec startRef="1"/>'
        '<sc id="2-1" copyOf="2"/>Hund<ec startRef="2-1"/></target>'
    ) in found


def test_xliff_2_gets_near_matches_of_a_memory() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    content = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de" trgLang="en"><file id="f"><unit id="s1">'
        "<segment><source>ein Hund</source></segment></unit></file></xliff>"
    )
    document = open_document(".xlf", content.encode(), Languages("de", "en"))
    match = MemoryMatch("ein Mund", "a mouth", 0.875, [])
    found = document.write([RatedText("a dog", 0.5, [match])]).decode()
    matches = (
        '<mtc:matches xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0">'
        '<mtc:match ref="#s2" similarity="87.5" type="tm">'
        "<source>ein Mund</source><target>a mouth</target></mtc:match></mtc:matches>"
    )
    notes = (
        '<notes><note appliesTo="target" category="confidence">segment s2: machine translation, confidence 0.50</note>'
    )
    assert f'<unit id="s1">{matches}{notes}</notes><segment state="translated" subState="dragoman:mt" id="s2">' in found


def opened_units(suffix: str, content: str) -> Units:
    units = open_document(suffix, content.encode(), Languages("de", "en")).units
    assert units is not None
    return units


def reviewed(suffix: str, content: str, reviews: dict[int, Review], texts: int = 0) -> str:
    """A file whose fuzzy units are reviewed, and nothing else."""
    return opened_units(suffix, content).write([RatedText("", None)] * texts, (), reviews).decode()


FUZZY = """msgid ""
msgstr "Language: en\\n"

# of the translator
# machine translation, confidence 0.25
#, fuzzy, c-format
#| msgctxt "old"
#| msgid "ein "
#| "Kater"
msgid "eine Katze"
msgstr "a cat "

#, fuzzy
msgid "\\nerste\\nzweite\\n"
msgstr "\\nfirst\\nsecond\\n"

#, fuzzy
msgid "ein Hund"
msgid_plural "%d Hunde"
msgstr[0] "a dog"
msgstr[1] ""
msgstr[2] "dogs"

#, fuzzy
msgid "leer"
msgstr ""

#~ msgid "weg"
#~ msgstr "gone"
"""


def test_a_confirmed_entry_is_not_fuzzy() -> None:
    pytest.importorskip("polib", reason="needs polib")
    done = opened_units(".po", FUZZY).done
    assert [(one.source, one.target, one.fuzzy) for one in done] == [
        ("eine Katze", "a cat ", True),
        ("\nerste\nzweite\n", "\nfirst\nsecond\n", True),
        ("ein Hund", "a dog", True),
        ("%d Hunde", "", True),
        ("%d Hunde", "dogs", True),
    ]
    head = FUZZY[FUZZY.index("# machine") : FUZZY.index('msgid "eine')]
    plural = FUZZY[FUZZY.index('#, fuzzy\nmsgid "ein Hund') : FUZZY.index('#, fuzzy\nmsgid "leer')]
    sure_plural = plural.replace("#, fuzzy\n", "").replace('[1] ""', '[1] "%d dogs"')
    as_left = {index: Review(one.target, confirmed=False) for index, one in enumerate(done)}
    for reviews, expected in (
        (as_left, FUZZY),
        ({0: Review("a cat ", True)}, FUZZY.replace(head, "#, c-format\n")),
        ({0: Review("a tomcat", False)}, FUZZY.replace("a cat ", "a tomcat")),
        ({0: Review("a\u2028cat", False)}, FUZZY.replace('"a cat "', '""\n"a\\n"\n"cat"')),
        (
            {1: Review("one\ntwo", True)},
            FUZZY.replace('#, fuzzy\nmsgid "\\nerste', 'msgid "\\nerste').replace(
                '"\\nfirst\\nsecond\\n"', '""\n"\\n"\n"one\\n"\n"two\\n"'
            ),
        ),
        (
            {2: Review("a dog", True), 3: Review("%d dogs", True), 4: Review("dogs", True)},
            FUZZY.replace(plural, sure_plural),
        ),
        ({3: Review("%d dogs", True), 4: Review("dogs", True)}, FUZZY.replace('[1] ""', '[1] "%d dogs"')),
    ):
        assert reviewed(".po", FUZZY, reviews, 1) == expected
        wide = reviewed(".po", FUZZY.replace("\n", "\r\n"), reviews, 1)
        assert wide == expected.replace("\n", "\r\n")
    filled = opened_units(".po", FUZZY).write([RatedText("empty", None)], {0}, {}).decode()
    assert filled == FUZZY.replace('#, fuzzy\nmsgid "leer"\nmsgstr ""', 'msgid "leer"\nmsgstr "empty"')


NEEDS_REVIEW = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="de" target-language="en"><body>'
    '<trans-unit id="1"><source>die <g id="1">alte</g> Katze</source>\n<target state="needs-review-translation" '
    'state-qualifier="fuzzy-match">the <g id="1">young</g> cat <x id="2"/>of the house</target>'
    '<note from="Dragoman" annotates="target">machine translation, confidence 0.25</note>\n<note>kept</note>'
    "</trans-unit></body></file></xliff>"
)


def test_a_confirmed_unit_of_xliff_has_the_state_of_one() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    text = "the young cat of the house"
    assert [one.target for one in opened_units(".xlf", NEEDS_REVIEW).done] == [text]
    sure = NEEDS_REVIEW.replace('"needs-review-translation" state-qualifier="fuzzy-match"', '"translated"').replace(
        '<note from="Dragoman" annotates="target">machine translation, confidence 0.25</note>', ""
    )
    for review, expected in (
        (Review(text, False), NEEDS_REVIEW),
        (Review(text, True), sure),
        (Review("the old cat of  the house", True), sure.replace("young", "old")),
        (Review("the old cat of the house", False), NEEDS_REVIEW.replace("young", "old")),
        (
            Review("a little cat & one dog of the house", True),
            sure.replace('the <g id="1">young</g> cat', 'a <g id="1">little</g> cat &amp; one dog'),
        ),
    ):
        assert reviewed(".xlf", NEEDS_REVIEW, {0: review}) == expected
    remark = "machine translation, confidence 0.25"
    second = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de" trgLang="en"><file id="f"><unit id="u">'
        f'<notes><note appliesTo="target" category="confidence">segment 1: {remark}</note></notes>'
        '<segment id="1" state="translated" subState="dragoman:mt"><source>ein</source><target>a</target></segment>'
        "</unit></file></xliff>"
    )
    found = reviewed(".xlf", second, {0: Review("one", True)})
    notes = second[second.index("<notes>") : second.index("<segment")]
    expected = second.replace(notes, "").replace('"translated" subState="dragoman:mt"', '"reviewed"')
    assert found == expected.replace("<target>a<", "<target>one<")
    lines = (
        NEEDS_REVIEW.replace("<source>", '<source xml:space="preserve">')
        .replace(text[:3] + " ", "first\n the ", 1)
        .replace("<target ", '<target xml:space="preserve" ')
    )
    [unit] = opened_units(".xlf", lines).done
    assert unit.target == f"first\n {text}"
    assert "old</g> cat" in reviewed(".xlf", lines, {0: Review("first\n the old cat\nof the house", True)})
    assert 'cat\n<x id="2"/>of the house</target>' in reviewed(
        ".xlf", lines, {0: Review("first\n the old cat\nof the house", True)}
    )


def test_a_target_is_to_be_reviewed_until_all_of_its_sentences_are_confirmed() -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    target = marked_target("One.", "Two.", "").replace("<target>", '<target state="needs-review-translation">')
    whole = MARKED.format(target=target, definitions="")
    units = opened_units(".xlf", whole)
    texts = [RatedText("Three.", None)]
    first, both = {0: Review("1.", True)}, {0: Review("1.", True), 1: Review("Two.", True), 2: Review("4.", True)}
    for confirmed, reviews, state in (
        ({0}, first, "needs-review-translation"),
        ((), both, "needs-review-translation"),
        ({0}, both, "translated"),
    ):
        found = opened_units(".xlf", whole).write(texts, confirmed, reviews).decode()
        assert f'<target state="{state}"' in found
        assert marked_target("1.", "Two.", "Three.").partition(">")[2] in found
    assert len(units.done) == 3
    segments = '<sdl:seg id="1" conf="Draft" origin="mt" percent="90"/><sdl:seg id="2" conf="Draft"/><sdl:seg id="3"/>'
    trados = MARKED.format(target=target, definitions=f"<sdl:seg-defs>{segments}</sdl:seg-defs>")
    found = reviewed(".sdlxliff", trados, first, 1)
    assert '<sdl:seg id="1" conf="Translated" origin="interactive"/><sdl:seg id="2" conf="Draft"/>' in found
    assert marked_target("1.", "Two.", "").partition(">")[2] in found
    memoq = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff"><file source-language="de"><body>'
        '<trans-unit id="1" mq:status="PartiallyEdited"><source>ein</source><target>a</target></trans-unit>'
        "</body></file></xliff>"
    )
    expected = memoq.replace("PartiallyEdited", "ManuallyConfirmed").replace('"de"', '"de" target-language="en"')
    assert reviewed(".mqxliff", memoq, {0: Review("a", True)}) == expected
