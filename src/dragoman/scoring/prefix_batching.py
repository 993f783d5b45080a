"""Batches of given targets, grouped by common prefixes, which an engine then computes once.

N-best lists, phrase tables and sorted lines have many such targets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
