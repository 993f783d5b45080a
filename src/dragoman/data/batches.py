"""Batches of pairs of similar length as padded ids, in an order that depends on the seed and the epoch alone.

An epoch is a permutation of the pairs, or of those that a mix of corpora draws; that of a large corpus is computed
where it is read, and not held in memory (`permutation`). It is cut into pools; a pool is sorted by length, cut into
batches by a budget, and its batches are shuffled. (With a pool of one batch of sentences, a batch is pairs drawn at
random, as in Cho et al. 2014.) So a position in training is two integers, and resuming from it costs no more than
counting the batches of the epoch, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.mixing import Mix
from dragoman.data.permutation import draw_permutation
from dragoman.data.store import RaggedIds, Store
from dragoman.text.padding import Padded, pad_slices


class BatchLinks(NamedTuple):
    """Links between the segments of a batch, int64 [links] each: row, source position, target position."""

    rows: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]

    def of_rows(self, start: int, stop: int) -> BatchLinks:
        """The links of the rows from `start` to before `stop`, whose rows count from `start`."""
        chosen = (self.rows >= start) & (self.rows < stop)
        return BatchLinks(self.rows[chosen] - start, self.source[chosen], self.target[chosen])


@dataclass(frozen=True, slots=True)
class Batch:
    """B pairs as ids, padded with PAD on the right."""

    source: NDArray[np.int64]
    """[B, S]: the segments, then EOS if the encoder reads it."""
    source_lengths: NDArray[np.int64]
    """[B], EOS counted where there is one."""
    target: NDArray[np.int64]
    """[B, T]: the segments, then EOS."""
    target_lengths: NDArray[np.int64]
    """[B], EOS counted."""
    indices: NDArray[np.int64]
    """[B]: the number of each pair in the store or in the list."""
    links: BatchLinks | None = None
    """None where the store has no links."""

    def __len__(self) -> int:
        return len(self.indices)

    def part(self, number: int, parts: int) -> Batch:
        """Cut the pairs, in their order, into `parts` parts of sizes that differ by one at most; the part `number`.

        Columns that are padding in all its rows are left out. With fewer pairs than parts some have none.
        """
        start, stop = (len(self) * place // parts for place in (number, number + 1))
        source_lengths, target_lengths = self.source_lengths[start:stop], self.target_lengths[start:stop]
        return Batch(
            self.source[start:stop, : source_lengths.max(initial=0)],
            source_lengths,
            self.target[start:stop, : target_lengths.max(initial=0)],
            target_lengths,
            self.indices[start:stop],
            None if self.links is None else self.links.of_rows(start, stop),
        )


ROUND = 16
"""With a budget in tokens, larger batches have a multiple of this number of sentences: matrix kernels are compiled for
each shape, so a few sizes that recur are faster than a new size every time."""


ORDER = 1
"""Version of the order of batches: raise it when pools are drawn or cut in another way, so that counts which a training
state keeps are not taken."""

Sort = Literal["target", "longer"]
"""The length that pairs are sorted by: the target's, or that of the longer side."""


class Position(NamedTuple):
    """A position in training, from 0: `batch` is the next one of `epoch`."""

    epoch: int
    batch: int


@dataclass(frozen=True, slots=True)
class Budget:
    """The size of a batch: at most `size` sentences, or `size` tokens on the longer side, padding and EOS counted.

    A single pair longer than the budget is a batch of its own.
    """

    unit: Literal["tokens", "sentences"]
    size: int

    def cut(self, source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64]) -> Iterator[slice]:
        """Cut pairs, in their order, into as few consecutive batches as the budget allows."""
        if self.unit == "sentences":
            yield from (slice(start, start + self.size) for start in range(0, len(source_lengths), self.size))
            return
        start, longer = 0, np.maximum(source_lengths, target_lengths)
        while start < len(longer):
            # B x S and B x T are within the budget if B x the longest line of either side is. The pair that exceeds it
            # comes no later than if no pair were longer than the first.
            most = max(2, self.size // max(1, int(longer[start])) + 1)
            longest = np.maximum.accumulate(longer[start : start + most])
            exceeds = longest * np.arange(1, len(longest) + 1) > self.size
            exceeds[0] = False
            count = int(exceeds.argmax()) or len(longest)
            if start + count < len(longer) and count >= ROUND:
                count -= count % ROUND
            yield slice(start, start + count)
            start += count


class Batches:
    """The training batches of a store, epoch after epoch."""

    def __init__(
        self,
        store: Store,
        budget: Budget,
        *,
        pool: int,
        seed: int,
        source_eos: bool,
        sort: Sort = "target",
        mix: Mix | None = None,
    ) -> None:
        """
        Args:
            pool: batches that are sorted by length together, then shuffled. A larger pool pads less; a smaller one
                mixes better.
            source_eos: whether the encoder reads EOS.
            sort: the length to sort by; ties are broken by the length of the other side.
            mix: how often the pairs of each corpus are drawn; None for every pair once an epoch.
        """
        self._store = store
        self._budget = budget
        self._pool_rows = _pool_rows(store, budget, pool)
        self._seed = seed
        self._source_eos = source_eos
        self._sort = sort
        self._mix = mix
        self._counted: tuple[int, list[int]] = (-1, [])  # an epoch, and the number of batches of each of its pools

    def from_position(self, position: Position) -> Iterator[tuple[Batch, Position]]:
        """Yield batches without end, each with the position after it, from which a resumed run continues exactly.

        After the last batch of epoch e that position is (e + 1, 0).
        """
        epoch, first = position
        while True:
            passed = self._pools_before(epoch, first)
            batches = chain.from_iterable(self._pools(epoch, passed))
            for number, (rows, is_last) in enumerate(_marking_last(batches), sum(passed)):
                if number >= first:
                    after = Position(epoch + 1, 0) if is_last else Position(epoch, number + 1)
                    batch = _gather(self._store.source, self._store.target, rows, source_eos=self._source_eos)
                    yield replace(batch, links=_links_of(self._store, rows)), after
            epoch, first = epoch + 1, 0

    def count(self, epoch: int) -> int:
        """The number of batches in an epoch; with a budget in tokens, epochs differ a little."""
        if self._counted[0] != epoch:
            self._counted = epoch, [len(batches) for batches in self._pools(epoch)]
        return sum(self._counted[1])

    def counts(self) -> dict[str, Any]:
        """What is counted so far, to be kept with the state of a training as JSON."""
        epoch, pools = self._counted
        return {"of": self._identity(), "epoch": epoch, "pools": pools}

    def take_counts(self, kept: dict[str, Any] | None) -> None:
        """Take what `counts` gave, unless it is of another store or order: a large epoch takes seconds to count."""
        if kept is not None and kept["of"] == self._identity():
            self._counted = kept["epoch"], kept["pools"]

    def _identity(self) -> list[object]:
        """What the batches of an epoch depend on."""
        store, budget = self._store, self._budget
        sizes = [len(store), len(store.source.ids), len(store.target.ids), self._pool_rows, self._seed]
        return [ORDER, *sizes, budget.unit, budget.size, self._sort, self._source_eos, str(self._mix)]

    def _pools_before(self, epoch: int, first: int) -> list[int]:
        """The number of batches of each pool that ends before the batch `first`; empty where none were counted."""
        counts = self._counted[1] if self._counted[0] == epoch else []
        return counts[: np.searchsorted(np.cumsum(counts), first, side="right")]

    def _pools(self, epoch: int, passed: Sequence[int] = ()) -> Iterator[list[NDArray[np.int64]]]:
        """The pairs of each batch, int64 [B], of each pool of an epoch.

        Args:
            passed: the number of batches of each of the first pools, which are left out.
        """
        rng = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        drawn = None if self._mix is None else self._mix.epoch(self._seed, epoch)
        count = len(self._store if drawn is None else drawn)
        order = draw_permutation(rng, count)
        for batch_count in passed:
            rng.permutation(batch_count)  # what follows is drawn as if these pools had been made
        for start in range(len(passed) * self._pool_rows, count, self._pool_rows):
            rows = order(np.arange(start, min(start + self._pool_rows, count)))
            batches = list(
                _cut_sorted(
                    self._store.source,
                    self._store.target,
                    rows if drawn is None else drawn(rows),
                    self._budget,
                    source_eos=self._source_eos,
                    sort=self._sort,
                )
            )
            yield [batches[number] for number in rng.permutation(len(batches))]


def _pool_rows(store: Store, budget: Budget, pool: int) -> int:
    """About the number of pairs in `pool` batches."""
    if budget.unit == "sentences":
        return pool * budget.size
    mean_length = 1 + max(len(store.source.ids), len(store.target.ids)) // len(store)
    return max(1, pool * budget.size // mean_length)


def sorted_batches(store: Store, budget: Budget, *, source_eos: bool) -> Iterator[Batch]:
    """Yield every pair of a store once, sorted by length: for validation and scoring."""
    return _sorted(store.source, store.target, budget, source_eos=source_eos)


def batch_ids(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    budget: Budget,
    *,
    source_eos: bool,
) -> Iterator[Batch]:
    """Yield every pair of two lists once, sorted by length; `Batch.indices` are positions in the lists.

    Args:
        sources, targets: ids without EOS, lists of equal length.
    """
    assert len(targets) == len(sources)
    return _sorted(_ragged(sources), _ragged(targets), budget, source_eos=source_eos)


def _sorted(source: RaggedIds, target: RaggedIds, budget: Budget, *, source_eos: bool) -> Iterator[Batch]:
    for rows in _cut_sorted(source, target, np.arange(len(source.offsets) - 1), budget, source_eos=source_eos):
        yield _gather(source, target, rows, source_eos=source_eos)


def _cut_sorted(
    source: RaggedIds,
    target: RaggedIds,
    rows: NDArray[np.int64],
    budget: Budget,
    *,
    source_eos: bool,
    sort: Sort = "target",
) -> Iterator[NDArray[np.int64]]:
    """Sort rows by length (ties stay in their order), and cut them into batches."""
    source_lengths = source.lengths_of(rows) + source_eos
    target_lengths = target.lengths_of(rows) + 1
    first = target_lengths if sort == "target" else np.maximum(source_lengths, target_lengths)
    order = np.lexsort((source_lengths, target_lengths, first))  # the last key is the primary one
    for part in budget.cut(source_lengths[order], target_lengths[order]):
        yield rows[order[part]]


def _gather(source: RaggedIds, target: RaggedIds, rows: NDArray[np.int64], *, source_eos: bool) -> Batch:
    return Batch(*_pad_rows(source, rows, eos=source_eos), *_pad_rows(target, rows, eos=True), rows)


def _links_of(store: Store, rows: NDArray[np.int64]) -> BatchLinks | None:
    links = store.links
    if links is None:
        return None
    starts, counts = links.places_of(rows)
    first = np.cumsum(counts) - counts  # [B] where the links of each row begin in the batch
    chosen = np.arange(counts.sum()) + np.repeat(starts - first, counts)  # [links of the batch]
    source, target = links.links[chosen].astype(np.int64).T
    numbers = np.repeat(np.arange(len(rows)), counts)
    lengths = store.source.lengths_of(rows), store.target.lengths_of(rows)
    if links.verifiers is not None and ((source >= lengths[0][numbers]) | (target >= lengths[1][numbers])).any():
        raise links.verifiers[0].damaged("it links segments beyond the end of their line")
    return BatchLinks(numbers, source, target)


def _pad_rows(side: RaggedIds, rows: NDArray[np.int64], *, eos: bool) -> Padded:
    return pad_slices(side.ids, *side.places_of(rows), eos=eos)


def _ragged(rows: Sequence[Sequence[int]]) -> RaggedIds:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return RaggedIds(np.fromiter(chain.from_iterable(rows), np.int64, int(offsets[-1])), offsets)


def _marking_last(items: Iterator[NDArray[np.int64]]) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Yield each item, and whether it is the last one."""
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        yield item, following is None
        item = following
