"""Translation memories, XLIFF and catalogues of messages: what is read of them, what is left out, what is refused."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import polib
import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pair_files import column_languages
from dragoman.corpora.translation_units import open_tmx
from tests.corpora.pairs import error_of, read


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def unit(**segments: str) -> str:
    variants = (f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>' for code, text in segments.items())
    return f"<tu>{''.join(variants)}</tu>"


def tmx(*units: str, source: str = "en", head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{head}<tmx version="1.4"><header srclang="{source}"/><body>{"".join(units)}</body></tmx>'
    )


def xliff(*units: str, target: str = 'target-language="ko-KR"') -> str:
    return (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:sdl="http://sdl.com/FileTypes">'
        f'<file source-language="en-US" {target}><body><group>{"".join(units)}</group></body></file></xliff>'
    )


def trans_unit(source: str, target: str, attributes: str = "") -> str:
    return f"<trans-unit id='1'><source>{source}</source><target {attributes}>{target}</target></trans-unit>"


def test_a_translation_memory_has_a_pair_a_unit(tmp_path: Path) -> None:
    dtd = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    units = [
        unit(ko="바다", en_US="The\nsea"),
        unit(en_US="Rain", ko="비"),
        unit(en_US="Wind"),
        unit(en_US="x", ko=" "),
    ]
    path = write(tmp_path / "memory.tmx", tmx(*units, head=dtd))
    pairs, said = read(path)
    assert pairs == [("The sea", "바다"), ("Rain", "비")]
    assert said == [
        f"{path}: source en-US, target ko, of the languages en-US, ko; --columns SOURCE TARGET chooses others",
        f"{path}: 2 of 4 records left out: 2 without ko",
    ]
    assert read(path, ("ko", "en"))[0][0] == ("바다", "The sea")
    assert column_languages(path) == ("en-US", "ko")
    assert next(read_pairs([[path]])).origin == f"{path}, unit 1"
    packed = tmp_path / "memory.tmx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed)[0] == pairs


def test_variants_of_a_language_are_taken_where_it_is_lacking(tmp_path: Path) -> None:
    units = [unit(en_US="color", ko="색"), unit(en_GB="lorry", ko="트럭"), unit(en="sea", ko_KR="바다")]
    path = write(tmp_path / "memory.tmx", tmx(*units))
    assert read(path)[0] == [("color", "색"), ("lorry", "트럭"), ("sea", "바다")]
    assert read(path, ("ko", "en"))[0][1:] == [("트럭", "lorry"), ("바다", "sea")]
    assert (
        read(path, ("ko", "en-US"))[0]
        == read(path, languages=("ko", "en"))[0]
        == [("색", "color"), ("트럭", "lorry"), ("바다", "sea")]
    )


def test_variants_of_one_language_are_source_and_target_in_the_order_of_the_languages(tmp_path: Path) -> None:
    units = [unit(pt_BR="trem", pt_PT="comboio"), unit(pt_BR="tela", pt_PT="ecrã")]
    path = write(tmp_path / "memory.tmx", tmx(*units, source="pt-BR"))
    assert read(path, languages=("pt-PT", "pt-BR"))[0] == [("comboio", "trem"), ("ecrã", "tela")]
    assert read(path, languages=("pt-BR", "pt-PT"))[0] == [("trem", "comboio"), ("tela", "ecrã")]


def test_several_languages_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "memory.tmx", tmx(unit(en="sea", ko="바다", de="Meer"), unit(en="rain", de="Regen")))
    assert error_of(path).startswith(f"{path}: which languages are source and target? give --columns SOURCE TARGET")
    pairs, said = read(path, ("de", "ko"))
    assert pairs == [("Meer", "바다")]
    assert said == [f"{path}: 1 of 2 records left out: 1 without ko"]
    assert error_of(path, ("de", "fr")) == f"{path}: --columns fr: is not there; the languages are en, ko, de"


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('<bpt i="1">&lt;b&gt;</bpt>Stop<ept i="1">&lt;/b&gt;</ept> now', "Stop now"),
        ("a <hi>bold</hi> word", "a bold word"),
        ("one<ph>&lt;br/&gt;</ph>two", "one two"),
        ("one<ph>&lt;img src='x'&gt;</ph>two", "onetwo"),
        ("<ph>%1$s</ph> of <ph>{total}</ph>", "%1$s of {total}"),
        ("<ph>%(name)s</ph>, <ph>${x}</ph> <ph>%NAME%</ph>", "%(name)s, ${x} %NAME%"),
        ("a<ph>&lt;a title='<sub>no</sub>'&gt;</ph>b", "ab"),
        ("a<!-- no -->b<?no?>c", "abc"),
        ("<![CDATA[a < b]]> &amp; c", "a < b & c"),
        ('<it pos="begin">{\\b </it>x', "x"),
    ],
)
def test_inline_markup_goes_and_text_stays(tmp_path: Path, segment: str, text: str) -> None:
    path = write(tmp_path / "memory.tmx", tmx(unit(en=segment, ko="바다")))
    assert read(path)[0] == [(text, "바다")]
    other = write(tmp_path / "a.xlf", xliff(trans_unit(segment, "바다")))
    assert read(other)[0] == [(text, "바다")]


def test_xliff_without_what_is_not_translated(tmp_path: Path) -> None:
    units = [
        trans_unit('<g id="1">The sea</g> <x id="2" equiv-text="{0}"/>', "바다 {0}", "state='translated'"),
        trans_unit("Rain", "", "state='needs-translation'"),
        trans_unit("Rain", "Rain", "state='new'"),
        trans_unit("Wind", "바람", "state='needs-review-translation'"),
        trans_unit("Snow", "눈", "state-qualifier='fuzzy-match'"),
        "<trans-unit id='6'><source>Sun</source><alt-trans><target>해</target></alt-trans></trans-unit>",
        "<trans-unit id='7' translate='no'><source>Dragoman</source></trans-unit>",
    ]
    path = write(tmp_path / "text.xliff", xliff(*units))
    pairs, said = read(path)
    assert pairs == [("The sea {0}", "바다 {0}")]
    assert said[0].startswith(f"{path}: source en-US, target ko-KR, of the languages en-US, ko-KR;")
    counted = "3 untranslated, 2 fuzzy, 1 not to be translated"
    assert said[1] == f"{path}: 6 of 7 records left out: {counted}"
    assert column_languages(path) == ("en-US", "ko-KR")
    assert read(path, ("ko", "en"))[0] == [("바다 {0}", "The sea {0}")]


def test_a_file_with_nothing_translated_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "text.xlf", xliff(trans_unit("Rain", "")))
    assert error_of(path) == f"{path}: 1 of 1 records left out: 1 untranslated"


def test_sentences_that_are_marked_in_a_unit_are_pairs(tmp_path: Path) -> None:
    def marked(*texts: str) -> str:
        return " ".join(f'<mrk mtype="seg" mid="{number}">{text}</mrk>' for number, text in enumerate(texts, 1))

    unit = (
        f"<trans-unit id='1'><source>One. Two. Three.</source><seg-source>{marked('One.', 'Two.', 'Three.')}"
        f"</seg-source><target>{marked('하나.', '', '셋.')}</target>"
        "<sdl:seg-defs><sdl:seg id='1' conf='Translated'/><sdl:seg id='3' conf='Draft'/></sdl:seg-defs></trans-unit>"
        f"<trans-unit id='2'><source>Four.</source><seg-source>{marked('Four.')}</seg-source><target>{marked('넷.')}"
        "</target><sdl:seg-defs><sdl:seg id='1' origin='mt'/></sdl:seg-defs></trans-unit>"
    )
    path = write(tmp_path / "text.sdlxliff", xliff(unit))
    pairs, said = read(path)
    assert pairs == [("One.", "하나.")]
    assert said[1] == f"{path}: 3 of 4 records left out: 1 untranslated, 2 fuzzy"


def test_units_that_nobody_has_confirmed_are_left_out(tmp_path: Path) -> None:
    """As memoQ says it, and Dragoman in XLIFF 2."""
    unit = "<trans-unit id='1' mq:status='{}'><source>One.</source><target>하나.</target></trans-unit>"
    states = ("Proofread", "NotStarted", "MachineTranslated", "PartiallyEdited")
    text = xliff("".join(map(unit.format, states))).replace("<xliff ", "<xliff xmlns:mq='MQXliff' ")
    pairs, said = read(write(tmp_path / "text.mqxliff", text))
    assert pairs == [("One.", "하나.")]
    assert said[1].endswith("3 of 4 records left out: 1 untranslated, 2 fuzzy")
    segment = "<segment state='translated' subState='{}'><source>One.</source><target>하나.</target></segment>"
    text = (
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="ko"><file id="f">'
        f'<unit id="u">{segment.format("a:b")}{segment.format("dragoman:mt")}</unit></file></xliff>'
    )
    pairs, said = read(write(tmp_path / "text.xlf", text))
    assert pairs == [("One.", "하나.")]
    assert said[1].endswith("1 of 2 records left out: 1 fuzzy")


def test_the_languages_of_xliff_are_those_of_its_first_file(tmp_path: Path) -> None:
    files = (
        f'<file source-language="{source}" target-language="{target}"><body>{trans_unit(*texts)}</body></file>'
        for source, target, *texts in (("en", "de", "sea", "Meer"), ("de", "en", "Regen", "rain"))
    )
    path = write(tmp_path / "text.xliff", f'<xliff version="1.2">{"".join(files)}</xliff>')
    assert read(path)[0] == [("sea", "Meer"), ("rain", "Regen")]


def test_segments_of_xliff_2_are_pairs(tmp_path: Path) -> None:
    text = (
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="ko"><file id="f">'
        '<group id="g"><unit id="u"><originalData><data id="d">x</data></originalData>'
        '<segment state="final"><source>One <pc id="1">bold</pc> <ph id="2" disp="{n}"/>.</source>'
        "<target>하나 {n}.</target></segment><ignorable><source> </source></ignorable>"
        "<segment><source>Two.</source></segment></unit></group></file></xliff>"
    )
    pairs, said = read(write(tmp_path / "text.xlf", text))
    assert pairs == [("One bold {n}.", "하나 {n}.")]
    assert said[1].endswith("1 of 2 records left out: 1 untranslated")


BOMB = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("head", "segment"),
    [
        (BOMB, "&b;"),
        ('<!DOCTYPE tmx [<!ENTITY secret SYSTEM "file:///etc/passwd">]>', "&secret;"),
        ('<!DOCTYPE tmx [<!ENTITY % remote SYSTEM "http://127.0.0.1:9/x.dtd"> %remote;]>', "x"),
    ],
)
def test_entities_are_refused(tmp_path: Path, head: str, segment: str) -> None:
    path = write(tmp_path / "memory.tmx", tmx(unit(en=segment, ko="x"), head=head))
    assert error_of(path) == f"{path}: declares entities, which is not allowed in a corpus; replace them by their text"


def test_a_bomb_of_entities_in_an_attribute_is_refused(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 12))
    head = f'<!DOCTYPE tmx [<!ENTITY e0 "aaaaaaaaaa">{levels}]>'
    path = write(tmp_path / "memory.tmx", tmx(unit(en="x", ko="x"), head=head, source="&e11;"))
    tracemalloc.start()
    assert error_of(path).startswith(str(path))
    assert tracemalloc.get_traced_memory()[1] < 1e7
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ":1: not XML, or damaged: "),
        ("source\ttarget", ":1: not XML, or damaged: "),
        (tmx(unit(en="a", ko="b"))[:-20], ":1: not XML, or damaged: "),
        (tmx("<x>" * 1000 + "</x>" * 1000), ":1: not XML, or damaged: Excessive depth"),
        (tmx(unit(en="a" * 10_100_000, ko="b")), ":1: not XML, or damaged: "),
        ("<html/>", ": its outermost element is html, not tmx; name the file by its kind"),
        (xliff(trans_unit("a", "b")), ": its outermost element is xliff, not tmx; name the file by its kind"),
        (tmx(), ": no lines in it; a corpus needs at least one pair"),
        (tmx(unit(en="&undefined;", ko="b")), ":1: not XML, or damaged: Entity 'undefined' not defined"),
        (
            tmx(unit(en="a&nbsp;b", ko="b"), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'),
            ", unit 1: has the entity &nbsp;, which XML does not know",
        ),
    ],
)
def test_a_bad_translation_memory_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    path = write(tmp_path / "memory.tmx", text)
    message = error_of(path)
    assert message.startswith(f"{path}{fault}")
    assert "\n" not in message


class Endless:
    """A translation memory of many units, which is made as it is read."""

    def __init__(self, units: int) -> None:
        self._left, self._block = units, unit(en="The sea is calm.", ko="바다가 잔잔하다.").encode() * 100
        head, tail, end = tmx().partition("</body>")
        self._text, self._end = head.encode(), (tail + end).encode()

    def read(self, size: int) -> bytes:
        while len(self._text) < size and self._left:
            self._text += self._block
            self._left -= 100
            if not self._left:
                self._text, self._end = self._text + self._end, b""
        text, self._text = self._text[:size], self._text[size:]
        return text


def test_a_large_translation_memory_takes_no_memory() -> None:
    peaks = []
    for units in (1_000, 8_000):
        source: Any = Endless(units)
        tracemalloc.start()
        assert sum(1 for _ in open_tmx(Path("x.tmx"), source).records) == units
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: pl\n"
"Plural-Forms: nplurals=3; plural=n==1 ? 0 : 1;\n"

msgctxt "menu"
msgid "Open"
msgstr "Otwórz"

msgctxt "state"
msgid "Open"
msgstr "Otwarty"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d plik"
msgstr[1] "%d pliki"
msgstr[2] "%d plików"

msgid ""
"Two "
"lines"
msgstr "Dwa\nwiersze"

#, fuzzy
msgid "Close"
msgstr "Zamek"

msgid "Save"
msgstr ""

#~ msgid "Old"
#~ msgstr "Stary"
"""
MESSAGES = [
    ("Open", "Otwórz"),
    ("Open", "Otwarty"),
    ("%d file", "%d plik"),
    ("%d files", "%d pliki"),
    ("%d files", "%d plików"),
    ("Two lines", "Dwa wiersze"),
]


def test_contexts_and_plurals_of_a_catalogue_are_pairs_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "pl.po", PO)
    pairs, said = read(path)
    assert pairs == MESSAGES
    assert said == [
        f"{path}: source source, target pl, of the languages source, pl; --columns SOURCE TARGET chooses others",
        f"{path}: 3 of 9 records left out: 1 fuzzy, 1 untranslated, 1 obsolete",
    ]
    assert column_languages(path) == (None, "pl")
    assert read(path, ("pl", "en"))[0][0] == ("Otwórz", "Open")
    assert next(read_pairs([[path]])).origin == f"{path}:8"


def test_a_compiled_catalogue_has_the_same_messages(tmp_path: Path) -> None:
    path = tmp_path / "pl.mo"
    polib.pofile(PO).save_as_mofile(str(path))
    assert sorted(read(path)[0]) == sorted(MESSAGES)


def test_a_language_without_plurals_has_one_form_for_both(tmp_path: Path) -> None:
    path = write(tmp_path / "ko.po", 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "파일 %d개"\n')
    assert read(path)[0] == [("%d file", "파일 %d개"), ("%d files", "파일 %d개")]


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("a.po", b'msgid "a"\nmsgstr "b"\nnonsense\n', ":3: not a line of a .po file"),
        ("a.po", b"/etc/passwd", ":1: not a line of a .po file"),
        ("a.po", b'msgid "a"\nmsgstr "bc\n', ":2: not a line of a .po file"),
        ("a.po", b'msgid "a"\nmsgstr "bc\\"\n', ":2: not a line of a .po file"),
        ("a.po", b'msgid "a"\nmsgstr ""\nbc"\n', ":3: not a line of a .po file"),
        ("a.po", b'msgid "a"\nmsgstr "\xff"\n', ":2: is not utf-8, which its header names"),
        (
            "a.po",
            b'msgid ""\nmsgstr "Content-Type: text/plain; charset=klingon\\n"\n',
            ": its header names the encoding",
        ),
        ("a.po", b"", ": no lines in it"),
        ("a.mo", b"msgid", ": not a .mo file"),
        ("a.mo", b"/etc/passwd", ": not a .mo file"),
        ("a.mo", b"\xde\x12\x04\x95" + b"\0" * 4 + b"\xff" * 20, ": damaged: "),
        ("a.mo", b"\xde\x12\x04\x95\0", ": damaged: "),
    ],
)
def test_a_bad_catalogue_is_one_line(tmp_path: Path, name: str, data: bytes, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert error_of(path).startswith(f"{path}{fault}")


def test_a_catalogue_in_the_encoding_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "ko.po"
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=EUC-KR\\n"\n\n'
    path.write_bytes(f'{head}msgid "sea"\nmsgstr "바다"\n'.encode("euc-kr"))
    assert read(path)[0] == [("sea", "바다")]
