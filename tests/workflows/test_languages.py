"""The languages of a run: from its configuration or from the names of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.building import override
from dragoman.config.schema import Config, SideConfig
from dragoman.workflows.languages import with_language, with_languages


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, line in (("b.tsv", "a\tb"), ("train.tsv", "a\tb"), ("train.csv", "en,ko\na,b"), ("b.fr", "a\n")):
        Path(name).write_text(f"{line}\n", encoding="utf-8")


def found(*corpora: str, settings: tuple[str, ...] = ()) -> tuple[tuple[str | None, str | None], str]:
    files = [[Path(name) for name in corpus.split()] for corpus in corpora]
    config, line = with_languages(override(Config(), settings), files)
    return (config.text.source.language, config.text.target.language), line


def test_the_files_of_a_corpus_name_its_languages() -> None:
    line = "languages: de to en, from the file names"
    assert found("train.de train.en") == (("de", "en"), line)
    assert found("a.de.gz a.en.gz", "b.tsv", "c.txt c.en", "d.deu d.eng") == (("de", "en"), line)
    assert found("a.de a.en", "b.de-AT b.en-GB") == (("de", "en"), line)  # variants of one language
    assert found("b.de-AT b.en-GB")[0] == ("de-AT", "en-GB")


def test_columns_name_languages_too() -> None:
    assert found("train.csv") == (("en", "ko"), "languages: en to ko, from the names of files and columns")
    assert found("train.csv", "train.de train.en") == (
        (None, None),
        found("train.src train.tgt")[1].replace("file names", "names of files and columns"),
    )


def test_the_configuration_has_precedence() -> None:
    german = ("text.source.language=de", "text.target.language=en")
    assert found("a.de a.en", settings=german) == (("de", "en"), "languages: de to en, as configured")
    otherwise = "languages: de to en, as configured, although the file names say otherwise"
    assert found("a.en a.de", settings=german) == (("de", "en"), otherwise)
    line = "languages: de to es; de as configured and es from the file names"
    assert found("a.fr a.es", settings=german[:1]) == (("de", "es"), line)


def test_unknown_languages_stay_unknown_and_are_told() -> None:
    advice = "give --languages SRC TGT, such as --languages de en"
    for corpora in (["train.src train.tgt"], ["train.tsv"], ["a.de a.en", "b.fr b.es"]):
        assert found(*corpora) == ((None, None), f"languages: not known from the file names; {advice}")
    line = "languages: de to unknown, from the file names; " + advice
    assert found("a.de a.txt") == (("de", None), line)
    rules = ". Until then words are split by the Moses rules for en"
    assert found("a.de a.txt", settings=("text.target.segmentation=words",)) == (("de", None), line + rules)


def test_the_files_of_a_language_model_name_its_language() -> None:
    side, line = with_language(SideConfig(), [Path("a.en"), Path("b.en.gz"), Path("c.txt")])
    assert (side.language, line) == ("en", "language: en, from the file names")
    side, line = with_language(SideConfig(), [Path("a.en"), Path("b.de")])
    assert side.language is None
    assert line == "language: not known from the file names; give --language LANG, such as --language en"
