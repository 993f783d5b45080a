"""Which word do the weights of a step align? Measured on the dev set when a training ends (`aligned_word: measured`).

Luong et al. 2015 take them for the word just read (section 5.3, footnote), Bahdanau et al. 2015 for the word that is
predicted. The training of a model decides which of the two is true (docs/lab-book/2026-11-recipe.md).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from dragoman.alignment.ibm1 import mutual_translations, unique_links
from dragoman.data.batches import Budget, batch_ids
from dragoman.data.store import Store
from dragoman.model.translation import TranslationModel

PAIRS, LONGEST = 20_000, 60
"""Most pairs of the training text that the links are learnt from, and most segments of a side."""
LINES = 400
"""Most pairs of the dev set."""
LIKELY = 0.2
"""A segment translates another from this probability on, in both directions."""
FEWEST = 50
"""Fewest links that decide."""

Reading = Literal["predicted", "read"]


class Readings(NamedTuple):
    """How many links of the dev set have the largest weight of a step, by either reading."""

    links: int
    predicted: int
    """Links, if a step has the weights of the word that it predicts."""
    read: int
    """Links, if it has the weights of the word that it has just read."""

    @property
    def better(self) -> Reading:
        """The reading with more links; the predicted word if there are too few, or as many."""
        return "read" if self.links >= FEWEST and self.read > self.predicted else "predicted"


def measure_readings(model: TranslationModel, text: Store, dev: Store) -> Readings:
    """Count links of the dev set by both readings of the attention weights of forced decoding.

    A link joins two segments that translate each other with a probability of at least `LIKELY` in both directions, by
    IBM model 1 on the training text. No other segments of their pair may translate them.
    """
    pairs = [pair for pair in text.spread(PAIRS) if max(map(len, pair)) <= LONGEST]
    likely = mutual_translations(pairs, model.source.num_embeddings, model.target.num_embeddings, LIKELY)
    sources, targets = map(list, zip(*dev.spread(LINES), strict=True))
    links = predicted = read = 0
    for batch in batch_ids(sources, targets, Budget("sentences", 50), source_eos=model.source_eos):
        weights = model.force(batch).weights
        assert weights is not None
        best = weights.argmax(dim=2).cpu().numpy()  # [B, T, S] -> [B, T]
        for row, index in enumerate(batch.indices.tolist()):
            linked = unique_links(sources[index], targets[index], likely)
            positions = np.array(linked, np.int64).reshape(-1, 2)
            links += len(positions)
            predicted += int((best[row, positions[:, 1]] == positions[:, 0]).sum())
            read += int((best[row, positions[:, 1] + 1] == positions[:, 0]).sum())
    return Readings(links, predicted, read)
