"""Translation memories of files of pairs, and of the training text that is stored in runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import GivenCorpora
from dragoman.data.store import Store
from dragoman.errors import RunError
from dragoman.runs.exported import is_export
from dragoman.runs.layout import RunFolder
from dragoman.runs.parts import MARK
from dragoman.text.items import NAMES
from dragoman.text.vocabulary import UNK
from dragoman.translation_memory.memory import TranslationMemory


def open_memory(corpora: GivenCorpora, normal_form: Callable[[str], str]) -> TranslationMemory:
    """The memory of corpora as for training; a run in the place of a corpus stands for its training text.

    Args:
        normal_form: returns the normal form of a source.

    Raises:
        InputError: as for `read_pairs`.
        RunError: a run has no stored text, or it is damaged; a folder is an exported one.
    """
    return TranslationMemory(_pairs(corpora), normal_form)


def _pairs(corpora: GivenCorpora) -> Iterator[tuple[str, str]]:
    for files in corpora:
        if len(files) == 1 and (Path(files[0]) / MARK).is_file():
            yield from stored_pairs(RunFolder.existing(files[0]))
        elif len(files) == 1 and is_export(files[0]):
            raise RunError(f"{files[0]}: is an exported folder, which has no training text; give the run or its files")
        else:
            yield from ((pair.source, pair.target) for pair in read_pairs([files]))


def stored_pairs(run: RunFolder) -> Iterator[tuple[str, str]]:
    """The pairs of the training text that is stored in a run, as the model reads them.

    Those that the segments do not hold whole are left out: with an unknown segment, or an item that a placeholder
    stands for.

    Raises:
        RunError: the text was deleted, or is damaged.
    """
    if not run.train_data.is_dir():
        raise RunError(
            f"{run.path}: has no training text (data/train), which is its translation memory; give its files"
        )
    source, target = run.source_side(), run.target_side()
    store = Store.open(run.train_data, (source.vocabulary, target.vocabulary))
    lost = [{UNK, *side.vocabulary.ids(NAMES)} for side in (source, target)]
    for row in range(len(store)):
        ids = store.pair(row)
        if not any(some.intersection(own) for some, own in zip(lost, ids, strict=True)):
            yield source.decode(ids[0]), target.decode(ids[1])
