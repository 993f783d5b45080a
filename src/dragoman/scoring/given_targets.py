"""Given targets: the log-probability of each of their segments, and batches of targets with common prefixes.

An engine computes a common prefix once. N-best lists, phrase tables and sorted lines have many such targets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import refuse_nan

TokenScores = NDArray[np.float32]
"""[T + 1] natural logarithms of the probability of each target segment, then of EOS."""


def split_rows(log_probabilities: NDArray[np.float32], lengths: NDArray[np.int64]) -> list[TokenScores]:
    """The rows of a batch [B, T] without padding; `lengths` [B] count EOS.

    Raises:
        RunError: a log-probability is NaN.
    """
    refuse_nan(log_probabilities)
    # Copies: views would keep the whole batch in memory.
    return [row[:length].copy() for row, length in zip(log_probabilities, lengths, strict=True)]


def log_probability(scores: TokenScores) -> float:
    """Natural logarithm of the probability of a whole target, EOS included; summed in double precision."""
    return float(scores.sum(dtype=np.float64))


def mean_log_probability(scores: TokenScores) -> float:
    """The log-probability divided by the number of segments, EOS counted (GroundHog's normalisation)."""
    return log_probability(scores) / len(scores)


MAX_TARGETS = 1024
"""Targets of a batch."""
MAX_CELLS = 1 << 16
"""Targets of a batch times segments of its longest source or target, which the memory of attention grows with."""
MIN_TARGETS = 64
"""Targets that are worth a batch of their own, where several batches are computed at once."""


class GivenTarget(NamedTuple):
    """A distinct target of one source."""

    owner: int
    """The place of its source among the sources that were encoded together."""
    text: str
    ids: list[int]
    """Its segments, without EOS."""


def prefix_batches(
    targets: Sequence[GivenTarget], source_lengths: Sequence[int], workers: int = 1
) -> Iterator[list[GivenTarget]]:
    """The targets of a source together, and those with a common prefix side by side where they must part.

    A batch ends before a source whose number of targets would leave most of the layout [sources, targets] empty.
    With several `workers` the targets are divided so that all of them have a batch to compute.
    """
    max_targets = min(MAX_TARGETS, max(MIN_TARGETS, -(-len(targets) // workers)))
    widths = Counter(target.owner for target in targets)
    batch: list[GivenTarget] = []
    longest = owners = 0
    for target in sorted(targets, key=lambda target: (target.owner, target.ids)):
        length = max(len(target.ids) + 1, source_lengths[target.owner])
        begins = not batch or batch[-1].owner != target.owner
        sparse = begins and (owners + 1) * widths[target.owner] > 2 * (len(batch) + widths[target.owner])
        full = len(batch) == max_targets or (len(batch) + 1) * max(longest, length) > MAX_CELLS
        if batch and (sparse or full):
            yield batch
            batch, longest, owners, begins = [], 0, 0, True
        longest, owners = max(longest, length), owners + begins
        batch.append(target)
    if batch:
        yield batch
