"""The trained model that a fine-tuning begins with."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dragoman.config.fine_tuning import require_same_model
from dragoman.config.schema import Config, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data.preparation import PreparedCorpus, store_pairs
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.store import Store
from dragoman.model.translation import TranslationModel
from dragoman.model.weights import extended_rows, load_weights, restore_weights
from dragoman.progress import ProgressCallback
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import trained_folder
from dragoman.text.raw_lines import is_blank
from dragoman.text.segmentation.base import Segmentation
from dragoman.text.segmentation.protected import extended, innermost, mask_pair, segment_pair
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import SPECIALS, UNK, Vocabulary

UNKNOWN = 0.05
"""From this share of unknown segments in the new text on, the training begins with a warning."""
MOST_NEW = 2000
"""Most segments that a vocabulary gains."""
SHORTEST_PART = 3
"""Characters of a part of a longer segment; shorter ones are found in most words by chance."""

Parts = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A run whose weights, vocabularies and segmentation a new run begins with."""

    folder: RunFolder
    source: TextSide
    target: TextSide
    parts: tuple[Parts, Parts] = ((), ())
    """New source and target segments -> the ids of the segments of the trained model that they are like."""

    @classmethod
    def open(cls, path: str | Path, config: Config) -> TrainedModel:
        """Open a run for training it further with `config`.

        Raises:
            RunError: it is no run folder, has no weights, or is damaged.
            ConfigError: its model or segmentation is not that of `config`.
        """
        folder = trained_folder(path)
        require_same_model(folder.load_config(), config)
        source, target = folder.source_side(), folder.target_side()
        if source.vocabulary.digest == target.vocabulary.digest:
            target = TextSide(target.segmentation, source.vocabulary)  # a joint one
        return cls(folder, source, target)

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        return [self.folder.weights, self.folder.config, *sorted(self.folder.text.iterdir())]

    def store(
        self,
        folder: Path,
        pairs: Iterable[Pair],
        *,
        cleaner: Cleaner,
        progress: ProgressCallback,
        journal: SegmentJournal | None = None,
    ) -> PreparedCorpus:
        """Store other training pairs with the segmentations and vocabularies of the model.

        Raises:
            InputError: as for `store_pairs`.
        """
        store = store_pairs(folder, pairs, self.source, self.target, cleaner, progress=progress, journal=journal)
        return PreparedCorpus(store, self.source, self.target)

    def knowing(self, pairs: Callable[[], Iterable[Pair]]) -> TrainedModel:
        """The model with the words of more training sources, which then count neither as new names nor as mistyped."""
        return replace(self, source=self.source.knowing(lambda: (pair.source for pair in pairs())))

    def extended(self, pairs: Callable[[], Iterable[Pair]], config: TextConfig) -> TrainedModel:
        """The model with the segments of other text that its vocabularies lack, the `MOST_NEW` most frequent ones.

        A subword segmentation gets the characters that it does not know, each as a segment. No id changes.

        Args:
            pairs: reads the text, which is done twice.
            config: says how often a segment has to occur (`min_frequency`).
        """
        sides, joint = (self.source, self.target), self.source.vocabulary is self.target.vocabulary
        segmentations = _with_unknown_characters(sides, pairs(), joint=joint)
        missing = _missing(sides, segmentations, pairs())
        if joint:
            missing = [missing[0] + missing[1]] * 2
        minima = config.source.min_frequency, (config.source if joint else config.target).min_frequency
        new = [_most_frequent(*each) for each in zip(missing, minima, strict=True)]
        vocabularies = [side.vocabulary.extended(segments) for side, segments in zip(sides, new, strict=True)]
        if joint:
            vocabularies[1] = vocabularies[0]
        source, target = (TextSide(*each) for each in zip(segmentations, vocabularies, strict=True))
        parts = [
            [parts_of(one, side.vocabulary) for one in segments] for side, segments in zip(sides, new, strict=True)
        ]
        return replace(self, source=source, target=target, parts=(parts[0], parts[1]))

    def restore(self, model: TranslationModel) -> None:
        """Copy the weights into a model; new segments have the mean of those that they are like, or of all.

        Raises:
            RunError: the file is damaged.
        """
        weights = extended_rows(load_weights(self.folder.weights), self.parts)
        restore_weights(model, weights, self.folder.weights)


def _with_unknown_characters(sides: Sequence[TextSide], pairs: Iterable[Pair], *, joint: bool) -> list[Segmentation]:
    """The segmentations of both sides; segmentations into subwords get the characters of the pairs that they do not
    know."""
    unknown: list[Counter[str]] = [Counter(), Counter()]
    for pair in pairs:
        masked = mask_pair((sides[0].segmentation, sides[1].segmentation), pair.source, pair.target)
        for side, line, counts in zip(sides, masked, unknown, strict=True):
            segmentation = innermost(side.segmentation)
            if isinstance(segmentation, SubwordSegmentation):
                counts.update(segmentation.unknown_characters(side.formed(line.text)))
    if joint:
        unknown = [unknown[0] + unknown[1]] * 2
    return [extended(side.segmentation, _most_frequent(counts, 1)) for side, counts in zip(sides, unknown, strict=True)]


def _missing(
    sides: Sequence[TextSide], segmentations: Sequence[Segmentation], pairs: Iterable[Pair]
) -> list[Counter[str]]:
    """The counts of the segments of both sides that the vocabularies lack."""
    missing: list[Counter[str]] = [Counter(), Counter()]
    for pair in pairs:
        segments = segment_pair((segmentations[0], segmentations[1]), pair.source, pair.target)
        for side, own, counts in zip(sides, segments, missing, strict=True):
            counts.update(piece for piece in own.pieces if piece not in side.vocabulary)
    return missing


def _most_frequent(counts: Counter[str], minimum: int) -> list[str]:
    """The `MOST_NEW` most frequent segments with at least so many occurrences; ties by code point.

    Neither spaces nor special symbols are segments that can be added.
    """
    usual = [
        each for each in counts.items() if each[1] >= minimum and not is_blank(each[0]) and each[0] not in SPECIALS
    ]
    return [segment for segment, _ in sorted(usual, key=lambda each: (-each[1], each[0]))[:MOST_NEW]]


def parts_of(segment: str, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of known segments that together mean what a new one means; none where nothing is known.

    They are the same word in other cases; else the characters of its compatibility decomposition (é: e and U+0301,
    Ａ: A); else the longest known parts from left to right (Hundehütte: Hunde, Hütte).
    """
    for form in _cases(segment):
        if form in vocabulary:
            return vocabulary.ids([form])
    if len(segment) == 1:
        return vocabulary.ids([one for one in unicodedata.normalize("NFKD", segment) if one in vocabulary])
    parts: list[str] = []
    start = 0
    while start <= len(segment) - SHORTEST_PART:
        for end in range(len(segment), start + SHORTEST_PART - 1, -1):
            part = next((form for form in _cases(segment[start:end]) if form in vocabulary), None)
            if part is not None:
                parts.append(part)
                start = end
                break
        else:
            start += 1
    return vocabulary.ids(parts)


def _cases(text: str) -> tuple[str, ...]:
    """The text as it is, in small letters, with a capital, in capitals."""
    return text, text.lower(), text.capitalize(), text.upper()


def unknown_segments(store: Store) -> tuple[str, bool]:
    """The shares of unknown segments in a corpus, in words, and whether they are large."""
    sides = store.source, store.target
    shares: list[float] = [np.count_nonzero(side.ids == UNK) / max(1, len(side.ids)) for side in sides]
    return f"unknown segments: {shares[0]:.1%} source, {shares[1]:.1%} target", max(shares) >= UNKNOWN
