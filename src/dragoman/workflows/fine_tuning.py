"""The trained model that a fine-tuning begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.config.fine_tuning import require_same_model
from dragoman.config.schema import Config
from dragoman.data.preparation import PreparedCorpus, store_pairs
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.store import RaggedIds, Store
from dragoman.model.translation import TranslationModel
from dragoman.model.weights import load_weights, restore_weights
from dragoman.progress import ProgressCallback
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import trained_folder
from dragoman.text.corpus import Cleaner, Pair
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK

UNKNOWN = 0.05
"""Share of unknown segments in the new text from which on the training begins with a warning."""


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A run whose weights, vocabularies and segmentation a new run begins with."""

    folder: RunFolder
    source: TextSide
    target: TextSide

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

    def restore(self, model: TranslationModel) -> None:
        """Copy the weights into a model.

        Raises:
            RunError: the file is damaged.
        """
        restore_weights(model, load_weights(self.folder.weights), self.folder.weights)


def unknown_segments(store: Store) -> tuple[str, bool]:
    """The shares of unknown segments in a corpus, in words, and whether they are large."""
    shares = [_share_unknown(side) for side in (store.source, store.target)]
    return f"unknown segments: {shares[0]:.1%} source, {shares[1]:.1%} target", max(shares) >= UNKNOWN


def _share_unknown(side: RaggedIds) -> float:
    return np.count_nonzero(side.ids == UNK) / max(1, len(side.ids))
