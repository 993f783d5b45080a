from __future__ import annotations

import functools
import random
import re
import subprocess
import sys
from collections import Counter

import pytest
from babel import Locale

from dragoman.errors import ConfigError
from dragoman.workflows import demo_corpus
from dragoman.workflows.demo_corpus import DemoCorpus, choose_languages, make_corpus, reader_locale

PAIRS = [("en", "ko"), ("en", "de"), ("fr", "ja"), ("ar", "he")]


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def corpus(request: pytest.FixtureRequest) -> DemoCorpus:
    return _made_once(*request.param)


@pytest.fixture(scope="module")
def korean() -> DemoCorpus:
    return _made_once("en", "ko")


_made_once = functools.cache(make_corpus)


def test_sizes(corpus: DemoCorpus) -> None:
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [8000, 500, 500]


def test_no_source_line_occurs_twice(corpus: DemoCorpus) -> None:
    sources = [source for part in (corpus.train, corpus.dev, corpus.test) for source, _ in part]
    assert len(set(sources)) == len(sources)


def test_held_out_characters_and_numbers_are_in_train(corpus: DemoCorpus) -> None:
    for side in (0, 1):
        train = [pair[side] for pair in corpus.train]
        held_out = [pair[side] for pair in corpus.dev + corpus.test]
        assert set("".join(held_out)) <= set("".join(train))
        if side == 0:
            seen = Counter(number for line in train for number in set(re.findall(r"\d+", line)))
            assert min(seen[number] for line in held_out for number in re.findall(r"\d+", line)) >= demo_corpus.FAMILIAR


def test_lines_hold_plain_blanks_only(corpus: DemoCorpus) -> None:
    for part in (corpus.train, corpus.dev, corpus.test):
        for line in (line for pair in part for line in pair):
            assert line == " ".join(line.split()) != ""
            assert not re.search("[\u061c\u200e\u200f]", line)


def test_english_words_of_held_out_lines_are_in_train(korean: DemoCorpus) -> None:
    known = {word for source, _ in korean.train for word in re.findall(r"[^\W\d]+", source)}
    asked = {word for source, _ in korean.dev + korean.test for word in re.findall(r"[^\W\d]+", source)}
    assert asked <= known


def test_korean_turns_dates_round(korean: DemoCorpus) -> None:
    months = [str(name) for _, name in sorted(Locale("en").months["format"]["wide"].items())]
    found = 0
    for source, target in korean.train:
        if match := re.fullmatch(r"(\w+) (\d+), (\d{4})", source):
            month, day, year = match.groups()
            if month in months:
                assert target == f"{year}년 {months.index(month) + 1}월 {day}일"
                found += 1
    assert found > 100


def test_all_kinds_of_phrases_are_there(korean: DemoCorpus) -> None:
    sources = [source for source, _ in korean.train]
    for kind in (
        r"\w+day, \w+ \d+, \d{4}",  # full date
        r"\d+/\d+/\d\d",
        r"\d+:\d\d [AP]M",
        r"\w+ \d+, \d{4}, \d+:\d\d [AP]M",
        r"\w+ \d+ – \d+, \d{4}",
        r"\d+:\d\d – \d+:\d\d [AP]M",
        r"\d+ hours",
        r"\d+ minutes and \d+ seconds",
        r"in \d+ days",
        r"\d+ weeks ago",
        r"[\d.,]+ kilometers",
        r"[\d.,]+ grams or [\d.,]+ liters|[\d.,]+ \w+ or [\d.,]+ \w+",
        r"[\d.,]+ euros",
        r"€[\d.,]+",
        r"\d+%",
        r"Japan|Kenya|Peru|Chile|Spain|Egypt|India|Cuba|Nepal|Oman",
        r"\w+, \w+, and \w+",
    ):
        assert sum(re.fullmatch(kind, source) is not None for source in sources) >= 1, kind


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_corpus, "TRAIN", 400)
    monkeypatch.setattr(demo_corpus, "HELD_OUT", 25)


@pytest.mark.usefixtures("small")
def test_readers_get_translations_into_their_language() -> None:
    for reader, expected in {
        None: ("de", "en"),
        "en_GB": ("de", "en"),
        "en_US_POSIX": ("de", "en"),
        "de_AT": ("en", "de"),
        "ko": ("en", "ko"),
        "tlh": ("de", "en"),
    }.items():
        assert choose_languages(None, None, reader) == expected, reader
    assert choose_languages(None, "ja", "de_DE") == ("en", "ja")
    assert choose_languages(None, "en-GB", "de_DE") == ("de", "en-GB")
    assert choose_languages("fr", None, None) == ("fr", "en")
    assert choose_languages("de", None, "de_DE") == ("de", "en")
    assert choose_languages("en", None, "en_US") == ("en", "de")
    assert choose_languages("ar", "he", "de_DE") == ("ar", "he")


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"LANG": "fr_CA.UTF-8"}, "fr_CA"),
        ({"LANG": "fr_CA.UTF-8", "LC_CTYPE": "C.UTF-8"}, "fr_CA"),
        ({"LANGUAGE": "de_AT:de:en", "LANG": "fr_CA"}, "de_AT"),
        ({"LC_MESSAGES": "de@euro", "LANG": "fr_CA"}, "de"),
        ({"LC_ALL": "C", "LANG": "fr_CA"}, None),
        ({"LANG": "C.UTF-8"}, None),
        ({}, None),
    ],
)
def test_the_reader_is_known_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], found: str | None
) -> None:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert reader_locale() == found


@pytest.mark.usefixtures("small")
def test_seed_decides_everything() -> None:
    assert make_corpus("en", "de", seed=3) == make_corpus("en", "de", seed=3)
    assert make_corpus("en", "de", seed=3) != make_corpus("en", "de", seed=4)


@pytest.mark.usefixtures("small")
def test_another_process_with_another_hash_seed_makes_the_same_corpus() -> None:
    program = (
        "from dragoman.workflows import demo_corpus; "
        "demo_corpus.TRAIN, demo_corpus.HELD_OUT = 400, 25; print(ascii(demo_corpus.make_corpus()))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "77"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert printed.strip() == ascii(make_corpus())


def test_formats_that_read_alike_share_their_target() -> None:
    """French writes medium and long dates of May alike; Korean does not."""
    corpus = make_corpus("fr", "ko")
    found = 0
    for source, target in corpus.train + corpus.dev + corpus.test:
        if match := re.fullmatch(r"(\d+) mai (\d{4})", source):
            assert target == f"{match[2]}년 5월 {match[1]}일"
            found += 1
    assert found > 10


def test_line_with_two_targets_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def ambiguous(rng: random.Random, names: object) -> list[demo_corpus.Phrase]:
        number, kind = rng.randrange(100), rng.randrange(2)
        return [
            demo_corpus.Phrase(lambda locale: f"{number} {kind if locale.language == 'ko' and number < 50 else ''}", ())
        ]

    monkeypatch.setattr(demo_corpus, "FAMILIES", ((1, ambiguous),))
    sentences = demo_corpus._draw_sentences(random.Random(1), Locale("en"), Locale("ko"), 1000)
    assert sorted(int(sentence.source) for sentence in sentences) == list(range(50, 100))


def test_region_and_script_are_understood_with_either_separator() -> None:
    assert demo_corpus._parse_locale("pt-BR") == Locale("pt", "BR") == demo_corpus._parse_locale("pt_BR")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("kr", "ko"), ("jp", "ja"), ("Korean", "ko"), ("german", "de"), ("englich", "en"), ("en_USA", "en_US")],
)
def test_unknown_locale_names_the_one_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_corpus("en", name)
    expected = f"no locale '{name}' in the CLDR data (did you mean {meant}?); give a code such as en, ko, pt_BR"
    assert str(caught.value) == expected


@pytest.mark.parametrize("name", ["", "xx", "../en", "12", "x" * 1000])
def test_nonsense_is_no_locale(name: str) -> None:
    with pytest.raises(ConfigError, match="no locale"):
        make_corpus(name, "ko")


def test_same_locale_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="source and target are both 'de'; a translation task needs two different"):
        make_corpus("de", "de")


def test_locale_with_hardly_any_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_corpus, "FAMILIES", ((1, demo_corpus._percentages),))
    with pytest.raises(ConfigError, match=r"the CLDR gives only 100 different pairs from 'en' to 'ko', too few"):
        make_corpus("en", "ko")
