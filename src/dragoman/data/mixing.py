"""How often the pairs of several corpora are drawn in an epoch.

A mix gives every corpus a share of the pairs of an epoch, which has as many pairs as the store. A corpus is read in
permutations of its pairs, one after the other, and each epoch goes on where the last one stopped: after any number of
epochs two pairs of a corpus were drawn equally often, or one of them once more. The pairs of an epoch depend on the
seed and the number of the epoch alone, so that training resumes exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import MixConfig
from dragoman.data.permutation import LARGE, Permutation, draw_permutation
from dragoman.data.store import RaggedIds
from dragoman.errors import ConfigError


class Mix:
    """The share of each corpus in the pairs of an epoch; the corpora lie in the store one after the other."""

    def __init__(self, sizes: Sequence[int], shares: Sequence[float]) -> None:
        """
        Args:
            sizes: pairs of each corpus in the store, at least 1.
            shares: those of an epoch, up to a factor.
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

    def epoch(self, seed: int, epoch: int) -> EpochRows:
        """The pairs of an epoch in no particular order, about as many as the store has."""
        drawn = self.shares * self._sizes.sum()  # pairs of each corpus in an epoch
        starts, stops = (np.rint(drawn * number).astype(np.int64) for number in (epoch, epoch + 1))
        large = bool(self._sizes.sum() >= LARGE)  # the same in all epochs: a permutation goes on in the next one
        first = np.cumsum(self._sizes) - self._sizes  # [corpora] the first row of each
        return EpochRows(
            part
            for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True))
            for part in self._passes(seed, number, start, stop, int(first[number]), large=large)
        )

    def _passes(
        self, seed: int, corpus: int, start: int, stop: int, first: int, *, large: bool
    ) -> Iterator[_PartOfPass]:
        """The pairs `start` to `stop` of the endless sequence of permutations of a corpus."""
        size = int(self._sizes[corpus])
        while start < stop:
            number, place = divmod(start, size)
            count = min(size - place, stop - start)
            rng = np.random.Generator(np.random.PCG64([seed, corpus + 1, number]))
            yield _PartOfPass(draw_permutation(rng, size, large=large), place, count, first)
            start += count


class _PartOfPass(NamedTuple):
    """Some of the pairs of one permutation of a corpus."""

    order: Permutation
    place: int
    """The first of them in the order."""
    pairs: int
    first: int
    """The first row of the corpus in the store."""


class EpochRows:
    """The pairs of an epoch as rows of the store, computed where they are asked for."""

    def __init__(self, parts: Iterable[_PartOfPass]) -> None:
        self._parts = list(parts)
        self._ends = np.cumsum([part.pairs for part in self._parts])  # [parts]

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows at `places` of the epoch, int64 [places]."""
        rows = np.empty_like(places)
        of_part = np.searchsorted(self._ends, places, side="right")
        for number in np.unique(of_part).tolist():
            part = self._parts[number]
            chosen = of_part == number
            inside = places[chosen] - (self._ends[number] - part.pairs)
            rows[chosen] = part.first + part.order(part.place + inside)
        return rows


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
