"""Corpora in other encodings than UTF-8: recognised where it is clear, refused with candidates where it is not."""

from __future__ import annotations

import codecs
import json
import re
import sys
from pathlib import Path
from unicodedata import normalize

import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.reading import reading_corpora
from dragoman.errors import ConfigError, InputError
from dragoman.inspection.inspect import inspect_corpus
from dragoman.text.lines import read_lines

KOREAN = (
    "정부는 올해 말까지 새로운 주택 정책을 발표할 예정이라고 밝혔다.",
    "어제 저녁에 비가 많이 와서 강물이 크게 불어났습니다.",
    "그 회사는 내년에 서울과 부산에 새 공장을 지을 계획이다.",
    "학생들은 도서관에서 늦은 밤까지 시험 공부를 하고 있었다.",
)
JAPANESE = (
    "政府は今年の終わりまでに新しい住宅政策を発表する予定だと述べた。",
    "昨日の夜は雨がたくさん降って、川の水がとても増えました。",
    "その会社は来年、東京と大阪に新しい工場を建てる計画です。",
    "学生たちは図書館で夜遅くまで試験の勉強をしていた。",
)
SIMPLIFIED = (
    "政府表示将在今年年底之前公布新的住房政策。",
    "昨天晚上下了很大的雨,河水涨了很多。",
    "这家公司计划明年在北京和上海建设新的工厂。",
    "学生们在图书馆里学习到很晚,准备考试。",
)
TRADITIONAL = (
    "政府表示將在今年年底之前公布新的住房政策。",
    "昨天晚上下了很大的雨,河水漲了很多。",
    "這家公司計劃明年在臺北和高雄建設新的工廠。",
    "學生們在圖書館裡學習到很晚,準備考試。",
)
RUSSIAN = (
    "Правительство сообщило, что до конца года объявит новую жилищную политику.",
    "Вчера вечером шёл сильный дождь, и вода в реке поднялась.",
    "В следующем году компания собирается построить завод в Москве.",
    "Студенты до поздней ночи готовились в библиотеке к экзаменам.",
)
GERMAN = (
    "Die Regierung kündigte an, bis zum Jahresende eine neue Wohnungspolitik vorzustellen.",
    "Gestern Abend hat es stark geregnet, und das Wasser im Fluß ist höher geworden.",
    "Die Firma möchte nächstes Jahr in München und Köln neue Fabriken eröffnen.",
    "Die Schüler übten in der Bücherei bis spät in die Nacht für die Prüfungen.",
    "Für größere Städte müssen natürlich höhere Gebühren gezahlt werden, erklärte der Bürgermeister.",
)
POLISH = (
    "Rząd ogłosił, że do końca roku przedstawi nową politykę mieszkaniową.",
    "Wczoraj wieczorem padał silny deszcz i poziom wody w rzece się podniósł.",
    "W przyszłym roku spółka chce zbudować fabryki w Łodzi i w Gdańsku.",
    "Uczniowie uczyli się w bibliotece do późnej nocy, żeby zdać egzaminy.",
)


VIETNAMESE = (
    "Tiếng Việt là ngôn ngữ chính thức tại Việt Nam.",
    "Hôm nay trời rất đẹp, chúng tôi đi dạo trong công viên.",
    "Con chó đang chạy trên cánh đồng rộng lớn.",
)


def corpus(folder: Path, lines: tuple[str, ...], encoding: str) -> list[Path]:
    """A corpus of two files: numbered lines in ASCII, and lines in an encoding."""
    source, target = folder / "a.src", folder / "a.tgt"
    source.write_text("".join(f"line {number}\n" for number in range(3 * len(lines))))
    target.write_bytes("".join(f"{line}\r\n" for line in 3 * lines).encode(encoding))
    return [source, target]


def read(files: list[Path], encoding: str | None = None) -> tuple[list[str], list[str]]:
    """The targets of a corpus, and what is said about it."""
    said: list[str] = []
    with reading_corpora(encoding=encoding, say=said.append):
        return [pair.target for pair in read_pairs([files])], said


@pytest.mark.parametrize(
    ("lines", "encoding", "found"),
    [
        (KOREAN, "cp949", "cp949 (Korean, "),
        (KOREAN, "euc_kr", "cp949 (Korean, "),
        (JAPANESE, "shift_jis", "cp932 (Japanese, "),
        (JAPANESE, "euc_jp", "euc_jp (Japanese, "),
        (SIMPLIFIED, "gb18030", "gb18030 (Chinese, "),
        (TRADITIONAL, "big5", "big5 (Chinese, "),
        (RUSSIAN, "cp1251", "cp1251 (Russian, "),
        (JAPANESE, "iso2022_jp", "iso2022_jp (by its escapes"),
        (RUSSIAN, "koi8_r", "koi8_r (Russian, "),
        (RUSSIAN, "iso8859_5", "iso8859_5 (Russian, "),
        (RUSSIAN, "cp866", "cp866 (Russian, "),
        (GERMAN * 10, "cp1252", "cp1252 (German, "),
        (GERMAN, "utf-16-le", "UTF-16LE (by its zero bytes"),
        (KOREAN, "utf-16-le", "UTF-16LE (by its line ends"),
        (JAPANESE, "utf-16-be", "UTF-16BE (by its line ends"),
        (GERMAN, "utf-32-be", "UTF-32BE (by its zero bytes"),
    ],
)
def test_an_encoding_is_recognised_and_said(tmp_path: Path, lines: tuple[str, ...], encoding: str, found: str) -> None:
    files = corpus(tmp_path, lines, encoding)
    texts, said = read(files)
    assert texts == [*3 * lines]
    assert len(said) == 1
    assert said[0].startswith(f"{files[1]}: read as {found}")


def test_vietnamese_is_recognised_by_its_tones(tmp_path: Path) -> None:
    """Which stand behind their vowel in cp1258."""
    apart = [
        re.sub(
            "[aeouAEOU][\u0302\u0306\u031b]",
            lambda found: normalize("NFC", found[0]),
            re.sub("(\u0323)([\u0302\u0306])", r"\2\1", normalize("NFD", line)),
        )
        for line in VIETNAMESE
    ]
    targets, said = read(corpus(tmp_path, tuple(apart), "cp1258"))
    assert [normalize("NFC", target) for target in targets[:3]] == list(VIETNAMESE)
    assert "read as cp1258 (Vietnamese, 100 % sure)" in said[0]
    (tmp_path / "a.tgt").write_bytes(f"{apart[0]}\n".encode("cp1258"))
    (tmp_path / "a.src").write_text("a\n")
    with pytest.raises(InputError, match=r"give --encoding NAME: cp1258 \(T"):
        read([tmp_path / "a.src", tmp_path / "a.tgt"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_decides(tmp_path: Path, encoding: str) -> None:
    assert read(corpus(tmp_path, KOREAN, encoding), "cp949") == ([*3 * KOREAN], [])


def test_utf8_is_never_guessed(tmp_path: Path) -> None:
    for lines in (KOREAN, GERMAN):
        assert read(corpus(tmp_path, lines, "utf-8")) == ([*3 * lines], [])
        assert read(corpus(tmp_path, lines, "utf-8"), "cp949") == ([*3 * lines], [])


def test_the_encoding_that_is_given_holds_where_text_is_not_utf8(tmp_path: Path) -> None:
    files = corpus(tmp_path, ("Zürich",), "latin-1")
    assert read(files, "latin-1") == (["Zürich"] * 3, [])
    files = corpus(tmp_path, JAPANESE, "iso2022_jp")  # bytes of ASCII only
    assert read(files, "iso2022_jp")[0] == [*3 * JAPANESE]
    with (
        pytest.raises(ConfigError, match="--encoding klingon: not a known encoding"),
        reading_corpora(encoding="klingon"),
    ):
        pass


def test_text_of_which_it_is_not_clear_is_refused_with_candidates(tmp_path: Path) -> None:
    files = corpus(tmp_path, ("Das Wetter in Zürich ist schön.",), "cp1252")
    with pytest.raises(InputError) as caught:
        read(files)
    message = str(caught.value)
    assert message.startswith(f"{files[1]}:1: byte 0xfc at position 16 is not UTF-8; give --encoding NAME: ")
    assert "cp1252 (etter in Zürich ist)" in message
    assert "cp1251 (etter in Zьrich ist)" in message


def test_text_of_a_language_that_two_code_pages_spell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cp1250 \(Rząd ogłosił, że do\)"):
        read(corpus(tmp_path, POLISH, "cp1250"))
    with pytest.raises(InputError, match=r"give --encoding NAME: iso8859_2 \(Rząd ogłosił, że do\)"):
        read(corpus(tmp_path, 2 * POLISH, "iso8859_2"))


def test_a_line_in_utf8_text_that_is_not_is_refused(tmp_path: Path) -> None:
    files = corpus(tmp_path, KOREAN, "utf-8")
    files[1].write_bytes(files[1].read_bytes().replace("학생".encode(), b"\xff\xfe", 1))
    with pytest.raises(InputError, match=r"a\.tgt:4: byte 0xff at position 1 is not UTF-8; convert the file"):
        read(files)


def test_candidates_are_shown_of_a_line_with_tabs_and_marks_of_direction(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("Attention\tתשומת\u200f לב\n".encode("cp1255"))
    with pytest.raises(InputError, match=r"cp1255 \(Attention תשומת לב\)"):
        list(read_pairs([[path]]))


def test_text_that_is_not_in_the_encoding_is_refused(tmp_path: Path) -> None:
    files = corpus(tmp_path, KOREAN, "cp949")
    with pytest.raises(InputError, match=r"a\.tgt: byte 0x.. after line 0 is not cp932; --encoding NAME decides"):
        read(files, "cp932")


def test_without_the_library_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    with pytest.raises(
        InputError, match=r"a\.tgt:1: byte 0x.. at position 1 is not UTF-8; give --encoding NAME: cp932 "
    ):
        read(corpus(tmp_path, JAPANESE, "cp932"))


def test_a_little_korean_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    files = corpus(tmp_path, ("나는 학교에 간다.",), "cp949")
    what = f"{files[1]}:1: byte 0xb3 at position 1 is not UTF-8; it reads as Korean in cp949 (나는 학교에 간다.); "
    how = "convert the file: iconv -f CP949 -t UTF-8 OLD > NEW"
    for attempt in (lambda: read(files), lambda: inspect_corpus([files])):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value) == f"{what}give --encoding cp949, or {how}"
    with pytest.raises(InputError) as caught:
        list(read_lines(files[1]))
    assert str(caught.value) == f"{what}{how}"
    assert read(files, "cp949")[0] == ["나는 학교에 간다."] * 3


def test_tables_and_json_in_other_encodings(tmp_path: Path) -> None:
    table, text = tmp_path / "a.csv", tmp_path / "a.json"
    table.write_bytes("".join(["en,ko\n", *(f"x,{line}\n" for line in 3 * KOREAN)]).encode("cp949"))
    assert read([table])[0] == [*3 * KOREAN]
    entries = [{"en": "x", "ko": line} for line in 3 * KOREAN]
    for encoding in ("cp949", "utf-16", "utf-8-sig"):
        text.write_bytes(json.dumps(entries, ensure_ascii=False).encode(encoding))
        assert read([text])[0] == [*3 * KOREAN]
    text.write_bytes(codecs.BOM_UTF16_LE + '[{"en": "'.encode("utf-16-le") + b"\0\xd8a\0")
    with pytest.raises(InputError, match=r"a\.json: not utf-16"):
        read([text])
