"""Segmentations, from raw lines to pieces with offsets and back: words, characters, SentencePiece, whitespace.

Each kind is a file of this package and a branch of the two functions below, which make a segmentation from training
text and load one. The saved files name their kind, so loading needs no configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dragoman.config.schema import SideConfig
from dragoman.errors import ConfigError, RunError
from dragoman.text.segmentation.base import FORMAT, Segmentation, Segments
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.segmentation.subwords import SubwordSegmentation, model_path, read_model, train_model
from dragoman.text.segmentation.whitespace import WhitespaceSegmentation

__all__ = ["DEFAULT_RULES", "Segmentation", "Segments", "load_segmentation", "train_segmentation"]

DEFAULT_RULES = "en"
"""The language whose Moses rules are used for text of an unknown language."""


def train_segmentation(config: SideConfig, lines: Iterable[str]) -> Segmentation:
    """Make the segmentation that the configuration describes; only bpe and unigram without a model read the lines.

    Raises:
        ConfigError: the vocabulary is too small for the characters of the text, or a model is given for another
            kind.
        InputError: there is no text to train on, or the model file given cannot be used.
    """
    if config.segmentation in ("bpe", "unigram"):
        if config.model is not None:
            return SubwordSegmentation(read_model(Path(config.model)))
        return SubwordSegmentation(train_model(lines, config.segmentation, config.vocabulary))
    if config.model is not None:
        raise ConfigError(
            f"model: {config.model} is for segmentation: bpe or unigram, but segmentation is {config.segmentation}; "
            "leave one of the two out"
        )
    if config.segmentation == "words":
        return _words(config.language or DEFAULT_RULES)
    return WhitespaceSegmentation() if config.segmentation == "whitespace" else CharacterSegmentation()


def load_segmentation(path: Path) -> Segmentation:
    """Read what `Segmentation.save(path)` wrote.

    Raises:
        RunError: a file is missing, damaged, or of another format.
    """
    damaged = f"{path}: damaged; take the file from a copy of the run folder"
    try:
        entry = json.loads(path.read_bytes())
        version, kind = int(entry["format"]), str(entry["kind"])
        if version > FORMAT:
            raise RunError(
                f"{path}: format {version} is newer than this program, which reads up to {FORMAT}; update it"
            )
        if version < FORMAT:
            raise RunError(
                f"{path}: format {version} is from an earlier version of dragoman; train the model again, or import "
                "or export it again"
            )
        if kind == "words":
            return _words(str(entry["language"]))
        if kind == "characters":
            return CharacterSegmentation()
        if kind == "whitespace":
            return WhitespaceSegmentation()
        if kind == "sentencepiece":
            return SubwordSegmentation.load(model_path(path), digest=str(entry["sha256"]))
    except FileNotFoundError:
        raise RunError(f"{path}: missing; the run folder is not complete") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise RunError(damaged) from None
    raise RunError(damaged)


def _words(language: str) -> Segmentation:
    # Imported when needed: sacremoses takes most of half a second, which every command would pay.
    from dragoman.text.segmentation.words import WordSegmentation

    return WordSegmentation(language)
