"""Pages keep their encoding and say the new language; XML stays XML."""

from __future__ import annotations

import pytest

from dragoman.documents.html_text import Xml
from dragoman.errors import InputError
from tests.documents.translators import same, translated, translated_html


def test_a_page_is_written_in_the_encoding_that_it_declares() -> None:
    for encoding, text in (
        ("iso-8859-1", "é €"),
        ("windows-1251", "привет"),
        ("utf-8", "é 日本"),
        ("shift_jis", "日本"),
        ("euc-kr", "한국"),
    ):
        page = f'<html lang="de-AT"><head><meta charset="{encoding}"></head><p>{text} a</p></html>'
        raw = page.encode("cp1252" if encoding == "iso-8859-1" else encoding)
        expected = page.replace("de-AT", "en").replace(" a<", " A<").replace(text, text.upper())
        assert translated(".html", raw) == expected.encode("cp1252" if encoding == "iso-8859-1" else encoding)
    ascii_page = b'<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>gr&uuml;n'
    assert translated(".html", ascii_page, lambda text: "ĝ") == ascii_page.replace(b"gr&uuml;n", b"&#285;")
    for bom in (b"\xef\xbb\xbf", b"\xff\xfe"):
        raw = bom + "<p>é".encode("utf-8" if bom[0] == 0xEF else "utf-16-le")
        assert translated(".html", raw, same) == raw


def test_attributes_that_readers_see_are_translated() -> None:
    for before, after in (
        ('<img alt="ein Hund" src=a>', '<img alt="EIN HUND" src=a>'),
        (
            "<input placeholder=Suche><a title='a &amp; b'>c</a>",
            "<input placeholder=\"SUCHE\"><a title='A &amp; B'>C</a>",
        ),
        ('<p translate="no"><img alt="ein Hund"></p><img alt="2018"><code title="a">b</code>',) * 2,
        ('ein <b title="x y">Hund</b> <i alt="x y">da</i>', 'EIN <b title="X Y">HUND</b> <i alt="X Y">DA</i>'),
    ):
        assert translated(".html", before.encode()).decode() == after
    assert translated(".html", b"<a title='x>y' alt=a>b</a>", same) == b"<a title='x>y' alt=a>b</a>"


def test_the_language_of_a_page_becomes_the_target() -> None:
    for given, expected in (
        ("<html lang=de>", "<html lang=en>"),
        ("<HTML class=a xml:lang='de' LANG=\"de\">", "<HTML class=a xml:lang='en' LANG=\"en\">"),
        ('<html lang="fr">', '<html lang="fr">'),
        ('<html hreflang="de">', '<html hreflang="de">'),
    ):
        assert translated(".html", given.encode()).decode() == expected


def test_encodings_are_those_that_browsers_read_and_attributes_of_templates_stay() -> None:
    for label, codec, text in (("gb2312", "gbk", "镕 a"), ("shift_jis", "cp932", "① a"), ("euc-kr", "cp949", "똠 a")):
        page = f'<meta charset="{label}"><p>{text}</p>'
        assert translated(".html", page.encode(codec)) == page.replace(" a", " A").encode(codec)
    page = '<img alt="<?= $title ?>"><p title="<% a %>">B</p><i title="&lt;?= a">B</i>'
    assert translated(".html", page.encode()).decode() == page.replace("= a", "= A")


def test_a_page_in_another_encoding_than_it_declares_is_refused() -> None:
    for raw, message in (
        (b'<meta charset="shift_jis">\x81', r"is not UTF-8, nor in the encoding that it declares \(shift_jis\)"),
        (b'<meta charset="x-none">\xe9', r"is not UTF-8, nor in the encoding that it declares \(x-none\)"),
        (b"\xe9", "the file is not UTF-8"),
    ):
        with pytest.raises(InputError, match=message):
            translated(".html", raw)


def test_xml_is_read_as_xml() -> None:
    for source, expected, xml in (
        (
            '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d><t>ein Hund.</t></d>',
            '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d><t>EIN HUND.</t></d>',
            Xml(),
        ),
        ("Ein <x>Hund</x> im <p>Park</p>.", "EIN <x>Hund</x> IM <p>PARK</p>.", Xml(frozenset(["x"]))),
        ("<a>Ein<p/>Hund</a>", "<a>EIN<p/>HUND</a>", Xml(frozenset(), frozenset(["p"]))),
        ("<![CDATA[a > b]]>c<?x a > b?>", "<![CDATA[a > b]]>C<?x a > b?>", Xml()),
        ("<script>a</script><X>b</X><x>c</x>", "<script>A</script><X>B</X><x>C</x>", Xml()),
        ("<br>a</br> b", "<br>A</br> B", Xml()),
    ):
        assert translated_html(source, xml=xml) == expected
