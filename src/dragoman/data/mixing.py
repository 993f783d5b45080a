"""How often the pairs of several corpora are drawn in an epoch.

A mix gives every corpus a share of the pairs of an epoch, which has as many pairs as the store. A corpus is read in
permutations of its pairs, one after the other, and each epoch goes on where the last one stopped: after any number of
epochs two pairs of a corpus were drawn equally often, or one of them once more. The pairs of an epoch depend on the
seed and the number of the epoch alone, so that training resumes exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import MixConfig
from dragoman.data.store import RaggedIds
from dragoman.errors import ConfigError


class Mix:
    """The share of each corpus in the pairs of an epoch; the corpora lie in the store one after the other."""

    def __init__(self, sizes: Sequence[int], shares: Sequence[float]) -> None:
        """
        Args:
            sizes: pairs of each corpus in the store, at least 1.
            shares: the shares of an epoch, up to a factor.
        """
        self._sizes = np.array(sizes, np.int64)  # [corpora]
        weights = np.array(shares, np.float64)
        self.shares: NDArray[np.float64] = weights / weights.sum()
        """Share of each corpus in the pairs of an epoch, float64 [corpora]; their sum is 1."""
        self.repetitions: NDArray[np.float64] = self.shares * self._sizes.sum() / self._sizes
        """How often a pair of each corpus is drawn in an epoch, on average: float64 [corpora]."""

    def tokens(self, side: RaggedIds) -> int:
        """The tokens of an epoch on one side of the store, EOS counted."""
        ends = np.cumsum(self._sizes)
        lengths = side.offsets[ends] - side.offsets[ends - self._sizes] + self._sizes  # [corpora] in tokens
        return round(float(self.repetitions @ lengths))

    def __str__(self) -> str:
        parts = zip(self._sizes.tolist(), self.shares.tolist(), self.repetitions.tolist(), strict=True)
        return "; ".join(
            f"corpus {number}: {size:,} pairs, {share:.1%} of an epoch, each {repetitions:.3g} times"
            for number, (size, share, repetitions) in enumerate(parts, 1)
        )

    def epoch(self, seed: int, epoch: int) -> NDArray[np.integer[Any]]:
        """The pairs of an epoch in no particular order, rows of the store; about as many as the store has."""
        drawn = self.shares * self._sizes.sum()  # pairs of each corpus in an epoch
        starts, stops = (np.rint(drawn * number).astype(np.int64) for number in (epoch, epoch + 1))
        rows = np.empty((stops - starts).sum(), row_type(int(self._sizes.sum())))
        filled = 0
        first = np.cumsum(self._sizes) - self._sizes  # [corpora] the first row of each
        for corpus, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            size = int(self._sizes[corpus])
            while start < stop:  # in the endless sequence of permutations of the corpus
                number, position = divmod(start, size)
                count = min(size - position, stop - start)
                order = np.arange(size, dtype=rows.dtype)
                np.random.Generator(np.random.PCG64([seed, corpus + 1, number])).shuffle(order)
                rows[filled : filled + count] = order[position : position + count]
                rows[filled : filled + count] += int(first[corpus])
                start, filled = start + count, filled + count
        return rows


def row_type(pairs: int) -> type[np.integer[Any]]:
    """The type of the numbers of so many pairs: four bytes each where that is enough."""
    return np.uint32 if pairs <= 1 << 32 else np.int64


def choose_mix(config: MixConfig, sizes: Sequence[int]) -> Mix | None:
    """The mix of a configuration, or None where every pair is drawn once an epoch.

    Args:
        sizes: pairs of each corpus in the store.

    Raises:
        ConfigError: there is not one weight for each corpus, or a corpus has no pairs.
    """
    if not config.weights and (config.temperature == 1 or len(sizes) == 1):
        return None
    require_weights(config, len(sizes))
    for number, size in enumerate(sizes, 1):
        if not size:
            raise ConfigError(
                f"training.mix: training corpus {number} has no pairs left after cleaning; leave it out, or relax the "
                "cleaning"
            )
    return Mix(sizes, config.weights or [size ** (1 / config.temperature) for size in sizes])


def require_weights(config: MixConfig, corpora: int) -> None:
    """Refuse another number of weights than there are training corpora.

    Raises:
        ConfigError: there is not one weight for each corpus.
    """
    if config.weights and len(config.weights) != corpora:
        raise ConfigError(
            f"training.mix.weights: {len(config.weights)} for {corpora} training corpora; give one for each, in the "
            "order of --train"
        )
