"""Languages in the names of files."""

import pytest

from dragoman.errors import ConfigError
from dragoman.text.languages import base_language, language_code, language_of_file


def test_the_suffix_of_a_file_names_its_language() -> None:
    cases = {
        "train.de": "de",
        "data/train.tok.en": "en",
        "train.ja.gz": "ja",
        "train.zh.xz": "zh",
        "train.fr.zst": "fr",
        "europarl.de-en.de": "de",
        "a.pt_BR": "pt-BR",
        "a.zh-TW": "zh-TW",
        "wiki.deu": "de",
        "flores.zho_Hans": "zh-Hans",
        "corpus.EN": "en",
        "test.ur-en.en.0.xz": "en",
        "train.hsb": "hsb",
    }
    assert {name: language_of_file(name) for name in cases} == cases


def test_a_suffix_that_is_no_code_names_no_language() -> None:
    for name in ("train.txt", "train.src", "train.tgt", "a.tsv", "a.jsonl.gz", "de", "train", ".de", "x.gz", "a.xy",
                 "test.hyp", "test.ref0", "new.de-en", "-"):  # fmt: skip
        assert language_of_file(name) is None, name


def test_codes_are_written_in_one_way() -> None:
    cases = {"de": "de", "DEU": "de", "ger": "de", "pt_BR": "pt-BR", "tlh": "tlh", "zho_Hant": "zh-Hant"}
    assert {code: language_code(code) for code in cases} == cases
    assert [base_language(code) for code in ("pt-BR", "zh_TW", "de", "hsb")] == ["pt", "zh", "de", "hsb"]


@pytest.mark.parametrize("text", ["german", "", "d", "../../x", "de en", "12", "de-"])
def test_what_is_no_code_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a language code; give one of ISO 639"):
        language_code(text)
