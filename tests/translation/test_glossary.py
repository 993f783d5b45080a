"""Glossaries: which words match a term, which messages a bad file gets, and that translations hold what they must."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError, InputError
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.translation.glossary import Glossary, alternating_endings, make_glossary, make_term, read_glossary
from dragoman.translation.translator import Translator

from .test_translator import SIDE, SIZE, copy

STEMS = ["walk", "talk", "jump", "call", "look", "play", "stay", "dog", "cat", "hat", "car", "card", "cart", "care"]
ENGLISH = TextSide(
    WhitespaceSegmentation(),
    Vocabulary(
        [
            *STEMS,
            *(f"{stem}s" for stem in STEMS),
            *(f"{stem}ed" for stem in STEMS[:7]),
            "walking",
            "the",
            "wine",
            "Wine",
        ]
    ),
)


def glossary(*terms: tuple[str, str], side: TextSide = ENGLISH) -> Glossary:
    return Glossary((make_term(*term, f"line {number}") for number, term in enumerate(terms, 1)), side)


def found(line: str, *terms: str, side: TextSide = ENGLISH) -> list[str]:
    return [" ".join(term.words) for term in glossary(*((term, "x") for term in terms), side=side).find(line)]


@pytest.mark.parametrize(
    ("line", "terms", "matches"),
    [
        ("The dog walked, talking.", ["walk", "talk"], ["walk"]),  # only walking ends in -ing: too few to show it
        ("(Walks) and “WALKED”!", ["walk"], ["walk", "walk"]),
        ("the cards of a car, a cart and care", ["car"], ["car"]),
        ("dogs", ["dog"], ["dog"]),
        ("a hot dog and hot dogs", ["dog", "hot dog"], ["hot dog", "hot dog"]),
        ("hot. dog", ["hot dog"], ["hot dog"]),  # punctuation around words does not count
        ("red Wine and wine", ["Wine"], ["Wine"]),  # capitals count where the term has them
        ("red Wine and wine", ["wine"], ["wine", "wine"]),
        ("walked", ["walk", "walked"], ["walked"]),
        ("cattle catalogue", ["cat"], []),
        ("", ["cat"], []),
        ("犬が犬を見る", ["犬", "見る"], ["犬", "犬", "見 る"]),
    ],
)
def test_terms_are_found_also_in_other_forms(line: str, terms: list[str], matches: list[str]) -> None:
    assert found(line, *terms) == matches


def test_characters_show_no_endings() -> None:
    letters = TextSide(CharacterSegmentation(), Vocabulary("abcdefghijklmnopqrstuvwxyz"))
    assert found("walk walks", "walk", side=letters) == ["walk"]


def test_endings_are_counted_by_stem() -> None:
    endings = alternating_endings(["walk", "walks", "walked", "Talk", "talks", "car"])
    assert endings["", "s"] == endings["s", ""] == 2
    assert endings["ed", "s"] == 1
    assert ("k", "ks") not in endings  # a common letter belongs to the stem


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dog", "1 tab-separated column; a line of a glossary has 2: source term and translation"),
        ("dog\tHund\tx", "3 tab-separated columns; a line of a glossary has 2: source term and translation"),
        (" \tHund", "the source term ' ' has no word to look for"),
        ("dog\t ", "no translation for 'dog'; give one, or leave the line out"),
        ("cat\tKater", "'cat' has the translation 'Kater' here, but 'Katze' at {path}:1; leave one of the two out"),
    ],
)
def test_a_bad_line_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "terms.tsv", "cat\tKatze", "", line)
    with pytest.raises(InputError) as caught:
        make_glossary(path, ENGLISH)
    assert str(caught.value) == f"{path}:3: " + message.replace("{path}", str(path))


def test_the_same_term_twice_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "terms.tsv", "cat\tKatze", "cat\tKatze")
    assert len(list(read_glossary(path))) == 2
    assert len(make_glossary(path, ENGLISH).terms) == 1


@pytest.fixture
def copier(toy_engine):  # type: ignore[no-untyped-def]
    return Translator(toy_engine(SIZE, answer=copy), SIDE, SIDE, SearchConfig(beam=3, normalisation="none"))


def test_translations_hold_the_terms_of_their_lines(copier: Translator) -> None:
    with_terms = copier.with_options(glossary={"ab": "gh", "c": "d"})
    texts = [best.text for best in with_terms.translate(["ab", "ab c", "ef"])]
    assert "gh" in texts[0]
    assert "gh" in texts[1]
    assert "d" in texts[1]
    assert texts[2] == "ef"
    assert [best.text for best in copier.translate(["ab", "ef"])] == ["ab", "ef"]
    both = with_terms.translate("ab", constraints=["h"]).text
    assert "h" in both.split()
    assert "gh" in both


def test_a_glossary_that_cannot_be_used_is_refused_before_any_line(copier: Translator, tmp_path: Path) -> None:
    path = write(tmp_path / "terms.tsv", "ab\tgh", "c\tX")
    with pytest.raises(
        InputError, match=rf"{path}:2: 'X' cannot appear in a translation: the model does not know '▁X'"
    ):
        copier.with_options(glossary=path)
    with pytest.raises(InputError, match="glossary: 'gh' must appear in a translation, but is banned as well"):
        copier.with_options(glossary={"ab": "gh"}, ban=["gh"])
    with pytest.raises(ConfigError, match="glossary requires beam search; leave sample out"):
        copier.with_options(glossary={"ab": "gh"}, sample=True)
    with pytest.raises(TypeError, match="glossary has 3 in it"):
        copier.with_options(glossary={"ab": 3})  # type: ignore[dict-item]
