"""Segmentations, from raw lines to pieces with offsets and back: words, characters, letters, SentencePiece, whitespace.

Each kind is a file of this package and a branch of the two functions below, which make a segmentation from training
text and load one. The saved files name their kind, so loading needs no configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dragoman.config.schema import LANGUAGE_CODE, SideConfig
from dragoman.errors import ConfigError, RunError
from dragoman.stored_files import JsonFile, read_json
from dragoman.text.items import Items
from dragoman.text.names import WordFilter
from dragoman.text.segmentation.base import FORMAT, Segmentation, Segments
from dragoman.text.segmentation.case_marks import JOINED, CaseMarks
from dragoman.text.segmentation.characters import CharacterSegmentation, LetterSegmentation, WhitespaceSegmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation
from dragoman.text.segmentation.subwords import (
    SubwordSegmentation,
    model_path,
    read_model,
    train_case_marks,
    train_model,
)
from dragoman.text.spelling import Spelling

__all__ = ["DEFAULT_RULES", "Segmentation", "Segments", "load_segmentation", "train_segmentation"]

DEFAULT_RULES = "en"
"""The language whose Moses rules are used for text of an unknown language."""

_WITHOUT_SETTINGS: dict[str, Callable[[], Segmentation]] = {
    "characters": CharacterSegmentation,
    "letters": LetterSegmentation,
    "whitespace": WhitespaceSegmentation,
}

_REMEDY = "take the file from a copy of the run folder, or train, import or export the model again"


def train_segmentation(config: SideConfig, lines: Iterable[str], *, case_marks: bool = False) -> Segmentation:
    """Make the segmentation that the configuration describes; only bpe and unigram without a model read the lines.

    Args:
        case_marks: write the case of words as marks; for bpe and unigram without a model.

    Raises:
        ConfigError: the vocabulary is too small for the characters of the text, or a model is given for another
            kind.
        InputError: there is no text to train on, or the model file given cannot be used.
    """
    if config.segmentation in ("bpe", "unigram"):
        if config.model is not None:
            return SubwordSegmentation(read_model(Path(config.model)))
        if case_marks:
            return train_case_marks(lines, config.segmentation, config.vocabulary)
        return SubwordSegmentation(train_model(lines, config.segmentation, config.vocabulary))
    if config.model is not None:
        raise ConfigError(
            f"model: {config.model} is for segmentation: bpe or unigram, but segmentation is {config.segmentation}; "
            "leave one of the two out"
        )
    if config.segmentation == "words":
        return _words(config.language or DEFAULT_RULES)
    return _WITHOUT_SETTINGS[config.segmentation]()


class _Spelling(Struct, forbid_unknown_fields=True):
    words: str
    """With spaces between them; as `Spelling`."""
    repeated: int
    frequent: int


class _NormalForm(Struct, forbid_unknown_fields=True):
    known: str | None
    """The characters of the training sources; None on the target side."""
    spelling: _Spelling | None = None
    """None where words stay as they are written."""

    def opened(self) -> NormalForm:
        own = self.spelling
        spelling = None if own is None else Spelling(own.words.split(), own.repeated, own.frequent)
        return NormalForm(self.known, spelling)


class _Protected(Struct, forbid_unknown_fields=True):
    patterns: tuple[str, ...]
    separators: tuple[tuple[str, bool, str], ...]
    known_words: str | None
    """Of the training sources, as `WordFilter.text` gives them."""
    foreign_words: bool
    """Whether words with letters that the sources never had are items."""
    source: bool
    anywhere: bool = False
    """Whether patterns of the user are among them, as `Items.anywhere`."""
    letterless_stay: bool = True
    """As `Items.letterless_stay`."""


class _Description(JsonFile, frozen=True, kw_only=True):
    """SIDE.segmentation.json."""

    kind: Literal["words", "characters", "letters", "whitespace", "sentencepiece"]
    language: Annotated[str, Meta(pattern=LANGUAGE_CODE)] | None = None
    """Of words."""
    sha256: str | None = None
    """Of the model file of sentencepiece."""
    normal_form: _NormalForm | None = None
    """None where lines are segmented as they are."""
    protected: _Protected | None = None
    """None without placeholders."""
    case_marks: tuple[Annotated[str, Meta(pattern=JOINED)], ...] | None = None
    """Of sentencepiece: the pieces that are a case mark and a piece; None without case marks."""


def load_segmentation(path: Path) -> Segmentation:
    """Read what `Segmentation.save(path)` wrote.

    Raises:
        RunError: a file is missing, damaged, or of another format.
    """
    try:
        entry = read_json(path, _Description, newest=FORMAT, oldest=FORMAT, remedy=_REMEDY)
    except FileNotFoundError:
        raise RunError(f"{path}: missing; the run folder is not complete") from None
    segmentation = _load(path, entry)
    form = None if entry.normal_form is None else entry.normal_form.opened()
    if form is not None:
        segmentation = NormalisedSegmentation(segmentation, form)
    if (protected := entry.protected) is None:
        return segmentation
    foreign_words = form.foreign_words if form and protected.foreign_words else None
    try:
        known = None if protected.known_words is None else WordFilter.of_text(protected.known_words)
        items = Items(
            protected.patterns,
            protected.separators,
            known,
            foreign_words,
            anywhere=protected.anywhere,
            letterless_stay=protected.letterless_stay,
        )
    except (re.error, ValueError) as error:
        raise RunError(f"{path}: is damaged: protected cannot be read: {error}; {_REMEDY}") from None
    return ProtectedSegmentation(segmentation, items, source=protected.source)


def _load(path: Path, entry: _Description) -> Segmentation:
    if entry.kind == "words" and entry.language is not None:
        return _words(entry.language)
    if entry.kind in _WITHOUT_SETTINGS:
        return _WITHOUT_SETTINGS[entry.kind]()
    if entry.kind == "sentencepiece" and entry.sha256 is not None:
        case = None if entry.case_marks is None else CaseMarks(entry.case_marks)
        return SubwordSegmentation.load(model_path(path), entry.sha256, case)
    missing = "language" if entry.kind == "words" else "sha256"
    raise RunError(f"{path}: is damaged: {entry.kind} lacks {missing}; {_REMEDY}")


def _words(language: str) -> Segmentation:
    # Imported when needed: sacremoses takes most of half a second, which every command would pay.
    from dragoman.text.segmentation.words import WordSegmentation

    return WordSegmentation(language)
