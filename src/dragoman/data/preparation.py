"""Preparing a corpus: segment the lines, clean the pairs, make the vocabularies, store the ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.config.schema import SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.segmenting import segment_pairs
from dragoman.data.store import Store
from dragoman.data.store_writer import StoreWriter
from dragoman.errors import InputError
from dragoman.progress import ProgressCallback
from dragoman.text.items import NAMES
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.base import SPACE_SYMBOL
from dragoman.text.segmentation.case_marks import MARKS
from dragoman.text.segmentation.characters import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

NO_SOURCE = Vocabulary(())
"""The source vocabulary of text of one language."""


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """A stored training corpus with its segmentations and vocabularies."""

    store: Store
    source: TextSide
    target: TextSide

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """The vocabularies of source and target."""
        return self.source.vocabulary, self.target.vocabulary


def build_store(
    folder: Path,
    pairs: Iterable[Pair],
    segmentations: tuple[Segmentation, Segmentation],
    config: TextConfig,
    cleaner: Cleaner,
    *,
    progress: ProgressCallback | None = None,
    workers: int | None = None,
    journal: SegmentJournal | None = None,
) -> PreparedCorpus:
    """Segment, clean and store the training pairs, and make the vocabularies from the pairs that are kept.

    The result does not depend on the number of workers. With `config.joint` both sides share one vocabulary, of the
    source's size and minimum frequency.

    Args:
        workers: processes that segment; None for one a core. A small corpus is segmented in this process.
        journal: keeps what is segmented, so that a preparation that was killed goes on.

    Raises:
        InputError: no pair is left after cleaning, or the folder cannot be written.
    """
    with StoreWriter(folder, joint=config.joint) as writer:
        left_out = _store_segments(writer, pairs, segmentations, cleaner.check, progress, journal, workers)
        _require_training_pairs(writer, left_out)
        settings = (config.source, config.source if config.joint else config.target)
        vocabularies = [
            Vocabulary.from_counts(index.counts(), side.vocabulary, side.min_frequency, _always(config, side))
            for index, side in zip(writer.indexes, settings, strict=True)
        ]
        if config.joint:
            vocabularies[1] = vocabularies[0]
        writer.finish((vocabularies[0], vocabularies[1]), left_out)
    sides = [TextSide(*parts) for parts in zip(segmentations, vocabularies, strict=True)]
    return PreparedCorpus(Store.open(folder, (vocabularies[0], vocabularies[1])), *sides)


def store_pairs(
    folder: Path,
    pairs: Iterable[Pair],
    source: TextSide,
    target: TextSide,
    cleaner: Cleaner | None = None,
    *,
    progress: ProgressCallback | None = None,
    journal: SegmentJournal | None = None,
) -> Store:
    """Store pairs with the segmentations and vocabularies of a run: the text of a fine-tuning, or the dev set.

    A pair that is not stored is counted in `Store.left_out`.

    Args:
        cleaner: None for the dev set, which leaves out only pairs with an empty side: they have no perplexity.

    Raises:
        InputError: no pair is left, or the folder cannot be written.
    """
    check = _empty_side if cleaner is None else cleaner.check
    with StoreWriter(folder, joint=False) as writer:
        segmentations = (source.segmentation, target.segmentation)
        left_out = _store_segments(writer, pairs, segmentations, check, progress, journal)
        if not writer.pairs and cleaner is None:
            raise InputError(f"the dev set has no pair with text on both sides ({_listed(left_out)})")
        _require_training_pairs(writer, left_out)
        writer.finish((source.vocabulary, target.vocabulary), left_out)
    return Store.open(folder, (source.vocabulary, target.vocabulary))


def store_lines(
    folder: Path,
    lines: Iterable[Pair],
    segmentation: Segmentation,
    vocabulary: Vocabulary | SideConfig,
    check: Callable[[Pair, int, int], str | None],
    *,
    progress: ProgressCallback | None = None,
    journal: SegmentJournal | None = None,
) -> tuple[Store, TextSide]:
    """Store text of one language, for a language model: the targets of pairs whose sources are empty.

    Args:
        vocabulary: the vocabulary of the segments, or the settings of one that is made from the lines that are kept.
        check: gives the reason why a line is left out, or None, from the line and its numbers of source segments (0)
            and target segments.

    Raises:
        InputError: no line is left, or the folder cannot be written.
    """
    with StoreWriter(folder, joint=False) as writer:
        left_out = _store_segments(writer, lines, (WhitespaceSegmentation(), segmentation), check, progress, journal)
        if not writer.pairs:
            raise InputError(f"no line is left after cleaning ({_listed(left_out)}); look at the text")
        if isinstance(vocabulary, SideConfig):
            counts = writer.indexes[1].counts()
            vocabulary = Vocabulary.from_counts(counts, vocabulary.vocabulary, vocabulary.min_frequency)
        writer.finish((NO_SOURCE, vocabulary), left_out)
    return open_lines(folder, vocabulary), TextSide(segmentation, vocabulary)


def open_lines(folder: Path, vocabulary: Vocabulary) -> Store:
    """Open what `store_lines` stored.

    Raises:
        RunError: as for `Store.open`.
    """
    return Store.open(folder, (NO_SOURCE, vocabulary))


def _always(config: TextConfig, side: SideConfig) -> tuple[str, ...]:
    """The segments that a vocabulary has whatever the text is."""
    marks = MARKS if config.case_marks else ()
    if not config.protected:
        return marks
    # A placeholder begins no piece, so the space before it is a segment of its own.
    return (*marks, *NAMES, *((SPACE_SYMBOL,) if side.segmentation in ("bpe", "unigram") else ()))


def _require_training_pairs(writer: StoreWriter, left_out: dict[str, int]) -> None:
    if not writer.pairs:
        raise InputError(
            f"no training pair is left after cleaning ({_listed(left_out)}); "
            "look at the text, or relax cleaning.max_length and cleaning.max_ratio"
        )


def _empty_side(pair: Pair, source_segments: int, target_segments: int) -> str | None:
    return None if source_segments and target_segments else "empty side"


def _listed(left_out: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in left_out.items()) or "there was none"


def _store_segments(
    writer: StoreWriter,
    pairs: Iterable[Pair],
    segmentations: tuple[Segmentation, Segmentation],
    check: Callable[[Pair, int, int], str | None],
    progress: ProgressCallback | None,
    journal: SegmentJournal | None,
    workers: int | None = None,
) -> dict[str, int]:
    """Write the pairs that `check` accepts; return how many it refused, by reason."""
    left_out: dict[str, int] = {}
    done = 0
    for chunk, segmented in segment_pairs(pairs, segmentations, workers, journal):
        lengths = (segmented.source.lengths.tolist(), segmented.target.lengths.tolist())
        reasons = [check(*checked) for checked in zip(chunk, *lengths, strict=True)]
        for reason in filter(None, reasons):
            left_out[reason] = left_out.get(reason, 0) + 1
        corpora = np.array([pair.corpus for pair in chunk], np.int64)
        writer.add(segmented, np.array([reason is None for reason in reasons]), corpora)
        done += len(chunk)
        if progress is not None:
            progress(done)
    return left_out
