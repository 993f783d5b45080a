"""The translation memories that a command line names, each for a served model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.corpora.reading import reading_corpora
from dragoman.errors import ConfigError
from dragoman.runs.exported import ExportFolder, is_export
from dragoman.runs.layout import RunFolder
from dragoman.runs.memories import open_memory
from dragoman.serving.models import NAMED, LanguagePair, ServedFolder
from dragoman.text.languages import language_code
from dragoman.text.side import TextSide
from dragoman.translation_memory.memory import TranslationMemory


def read_memories(
    given: Sequence[Sequence[str]], folders: Sequence[ServedFolder]
) -> dict[LanguagePair, TranslationMemory]:
    """Read memories: the files of a corpus or a run each, for the only model, or named as SOURCE:TARGET=FILE.

    Raises:
        ConfigError: there are several models and it is not said for which one, or no model has the languages.
        InputError, RunError: as for `open_memory`.
    """
    by_pair: dict[LanguagePair, list[list[str]]] = {}
    served = {folder.pair: folder for folder in folders}
    for first, *others in given:
        named = None if Path(first).exists() else NAMED.fullmatch(first)
        if named:
            pair, first = LanguagePair(language_code(named["source"]), language_code(named["target"])), named["path"]
        elif len(folders) == 1:
            pair = folders[0].pair
        else:
            source, target = folders[0].pair
            raise ConfigError(
                f"--memory {first}: several models are served; say whose it is: {source}:{target}={first}"
            )
        if pair not in served:
            raise ConfigError(f"--memory {first}: no model is served from {pair.source} to {pair.target}")
        by_pair.setdefault(pair, []).append([first, *others])
    memories: dict[LanguagePair, TranslationMemory] = {}
    for pair, corpora in by_pair.items():
        with reading_corpora(languages=pair):
            memories[pair] = open_memory(corpora, source_side(served[pair]).formed)
    return memories


def source_side(served: ServedFolder) -> TextSide:
    """The source side of a model, which need not be loaded."""
    path = served.path
    return (ExportFolder.open(path) if is_export(path) else RunFolder.existing(path)).source_side()
