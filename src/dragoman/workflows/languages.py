"""The languages of a run, by its configuration or else by the names of its files; printed in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.config.schema import Config, SideConfig
from dragoman.corpora.pair_files import column_languages
from dragoman.corpora.pairs import Corpora
from dragoman.evaluation.tokenizers import fitting_tokenizer, require_installed
from dragoman.text.languages import base_language, language_of_file
from dragoman.text.segmentation import DEFAULT_RULES


class SideLanguage(NamedTuple):
    """The language of one side."""

    code: str | None
    """None: unknown."""
    given: bool
    """Whether the configuration names it; else the files' names do."""
    contradicted: bool = False
    """Whether the files' names have another one."""


def with_languages(config: Config, corpora: Corpora) -> tuple[Config, str]:
    """Return the configuration with the languages of the training files where it has none, and the line to print."""
    source, target = config.text.source, config.text.target
    named = list(map(languages_of, corpora))
    languages = (
        _side_language(source.language, (code for code, _ in named)),
        _side_language(target.language, (code for _, code in named)),
    )
    text = config.text.replaced(
        source=source.replaced(language=languages[0].code), target=target.replaced(language=languages[1].code)
    )
    in_columns = any(len(files) == 1 and any(codes) for files, codes in zip(corpora, named, strict=False))
    where = "names of files and columns" if in_columns else "file names"
    advice = "--languages SRC TGT, such as --languages de en"
    return config.replaced(text=text), _line(languages, (source, target), advice, where)


def with_tokenizer(config: Config) -> tuple[Config, str]:
    """Return the configuration with the tokenizer of BLEU that `auto` stands for here, and a note for the user.

    It stays in the run's configuration, so that a resumed run, on whatever machine, goes on with the same one.

    Raises:
        ConfigError: a tokenizer is configured whose packages are not installed.
    """
    validation = config.training.validation
    if validation.tokenizer != "auto":
        require_installed(validation.tokenizer)
        return config, ""
    fitting = fitting_tokenizer(config.text.target.language)
    training = config.training.replaced(validation=validation.replaced(tokenizer=fitting.name))
    return config.replaced(training=training), fitting.note


def with_language(side: SideConfig, files: Sequence[Path]) -> tuple[SideConfig, str]:
    """Return the settings of a language model's text with the language of its files, and the line to print."""
    language = _side_language(side.language, map(language_of_file, files))
    return side.replaced(language=language.code), _line([language], [side], "--language LANG, such as --language en")


def languages_of(files: Sequence[Path]) -> tuple[str | None, str | None]:
    """Return the languages that the names of the files of a corpus, or of the columns of its file, say."""
    if len(files) == 2:
        return language_of_file(files[0]), language_of_file(files[1])
    return column_languages(files[0])


def _side_language(configured: str | None, named: Iterable[str | None]) -> SideLanguage:
    codes = {code for code in named if code is not None}
    bases = {*map(base_language, codes)}
    if configured is not None:
        return SideLanguage(configured, given=True, contradicted=bool(bases - {base_language(configured)}))
    [code] = codes if len(codes) == 1 else bases if len(bases) == 1 else [None]
    return SideLanguage(code, given=False)


def _line(
    languages: Sequence[SideLanguage], sides: Sequence[SideConfig], option: str, where: str = "file names"
) -> str:
    what = "language" if len(languages) == 1 else "languages"
    if all(side.code is None for side in languages):
        names = f"not known from the {where}"
    elif all(side.given for side in languages):
        otherwise = f", although the {where} say otherwise" * any(side.contradicted for side in languages)
        names = f"{_codes(languages)}, as configured{otherwise}"
    elif not any(side.given for side in languages):
        names = f"{_codes(languages)}, from the {where}"
    else:
        names = f"{_codes(languages)}; {' and '.join(_origin(side, where) for side in languages)}"
    if any(side.code is None for side in languages):
        names += f"; give {option}"
    rules = any(
        side.code is None and config.segmentation == "words" for side, config in zip(languages, sides, strict=True)
    )
    return f"{what}: {names}{f'. Until then words are split by the Moses rules for {DEFAULT_RULES}' if rules else ''}"


def _codes(languages: Sequence[SideLanguage]) -> str:
    return " to ".join(side.code or "unknown" for side in languages)


def _origin(side: SideLanguage, where: str) -> str:
    if side.code is None:
        return f"the other is not known from the {where}"
    return f"{side.code} {'as configured' if side.given else f'from the {where}'}"
