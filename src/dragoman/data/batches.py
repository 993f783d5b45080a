"""Batches of pairs of similar length as padded ids, in an order that depends on the seed and the epoch alone.

An epoch is a permutation of the pairs, or of those that a mix of corpora draws; it takes four bytes a pair. It is cut
into pools; a pool is sorted by length, cut into batches by a budget, and its batches are shuffled. (With a pool of one
batch of sentences, a batch is pairs drawn at random, as in Cho et al. 2014.) So a position in training is three
numbers, and resuming from it draws the order of its epoch and sorts its pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.changed_pairs import ChangedPairs, PairChanges
from dragoman.data.mixing import Mix, row_type
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
        start, stop = (len(self) * part // parts for part in (number, number + 1))
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


Sort = Literal["target", "longer"]
"""The length that pairs are sorted by: of the target, or of the longer side."""


class Position(NamedTuple):
    """A position in training, from 0: `batch` is the next one of the pool `pool` of `epoch`."""

    epoch: int
    pool: int
    batch: int


BEGINNING = Position(0, 0, 0)


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


class _Pool(NamedTuple):
    """Pairs that are sorted together."""

    source: RaggedIds
    target: RaggedIds
    batches: list[NDArray[np.int64]]
    """The lines of `source` and `target` of each batch, int64 [B] each."""
    changed: ChangedPairs | None
    """The pairs of the pool, if some of them are changed: then a line's number is its place among these. Without, it is
    the number of the pair in the store."""


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
        changes: PairChanges | None = None,
    ) -> None:
        """
        Args:
            pool: batches that are sorted by length together, then shuffled. A larger pool pads less; a smaller one
                mixes better.
            source_eos: whether the encoder reads EOS.
            sort: the length to sort by; ties are broken by the length of the other side.
            mix: how often the pairs of each corpus are drawn; None for every pair once an epoch.
            changes: changes some pairs of each epoch.
        """
        self._store = store
        self._budget = budget
        self.pool_rows = _pool_rows(store, budget, pool)
        """Pairs of a pool; the last one of an epoch may have fewer."""
        self._seed = seed
        self._source_eos = source_eos
        self._sort = sort
        self.mix = mix
        """How often the pairs of each corpus are drawn; None for every pair once an epoch."""
        self.changes = changes
        """Changes some pairs of each epoch, or None."""
        self._epoch = -1
        """The epoch whose order is held."""
        self._order: NDArray[np.integer[Any]] = np.zeros(0, np.uint32)
        """The pairs of that epoch."""
        self._pool_number = -1
        """The pool of that epoch that is held."""
        self._pool: _Pool | None = None

    def from_position(self, position: Position) -> Iterator[tuple[Batch, Position]]:
        """Yield batches without end, each with the position after it, from which a resumed run continues exactly.

        After the last batch of epoch e that position is (e + 1, 0, 0).
        """
        while True:
            epoch, pool, number = position
            source, target, batches, changed = self._pool_of(epoch, pool)
            if number + 1 < len(batches):
                position = Position(epoch, pool, number + 1)
            elif (pool + 1) * self.pool_rows < len(self._order):
                position = Position(epoch, pool + 1, 0)
            else:
                position = Position(epoch + 1, 0, 0)
            batch = _gather(source, target, batches[number], source_eos=self._source_eos)
            if changed is not None:
                batch = replace(batch, indices=changed.numbers[batches[number]])
            unchanged = None if changed is None else ~changed.changed[batches[number]]
            yield replace(batch, links=_links_of(self._store, batch.indices, unchanged)), position

    def epochs_before(self, position: Position) -> float:
        """Passes over the pairs before a position, with fraction; within a pool each batch counts alike."""
        epoch, pool, number = position
        if not pool and not number:
            return epoch
        start = pool * self.pool_rows
        part = number / len(self._pool_of(epoch, pool).batches) if number else 0.0
        pairs = len(self._order_of(epoch))
        return epoch + (start + part * min(self.pool_rows, pairs - start)) / pairs

    def batches_of_epoch(self, position: Position) -> float:
        """How many batches the epoch of a position has, if its other pools have as many for their pairs as this one."""
        batches = len(self._pool_of(position.epoch, position.pool).batches)
        pairs = len(self._order)
        return batches * pairs / min(self.pool_rows, pairs - position.pool * self.pool_rows)

    def _pool_of(self, epoch: int, pool: int) -> _Pool:
        order = self._order_of(epoch)
        if pool != self._pool_number or self._pool is None:
            rows = order[pool * self.pool_rows : (pool + 1) * self.pool_rows].astype(np.int64)
            source, target, changed = self._store.source, self._store.target, None
            if self.changes is not None:
                changed = self.changes.change(self._store, rows, epoch, pool)
                source, target, rows = changed.source, changed.target, np.arange(len(rows))
            cut = list(_cut_sorted(source, target, rows, self._budget, source_eos=self._source_eos, sort=self._sort))
            rng = np.random.Generator(np.random.PCG64([self._seed, epoch, pool, 1]))
            batches = [cut[number] for number in rng.permutation(len(cut))]
            self._pool_number, self._pool = pool, _Pool(source, target, batches, changed)
        return self._pool

    def _order_of(self, epoch: int) -> NDArray[np.integer[Any]]:
        """The pairs of an epoch in their order, [pairs]."""
        if epoch != self._epoch:
            self._order = np.zeros(0, np.uint32)  # two orders are never held at once
            pairs = len(self._store)
            order = self.mix.epoch(self._seed, epoch) if self.mix else np.arange(pairs, dtype=row_type(pairs))
            np.random.Generator(np.random.PCG64([self._seed, epoch])).shuffle(order)
            self._epoch, self._order, self._pool_number = epoch, order, -1
        return self._order


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
    """Sort rows [pairs] by length (ties stay in their order), and cut them into batches [B]."""
    source_lengths = source.lengths_of(rows) + source_eos
    target_lengths = target.lengths_of(rows) + 1
    first = target_lengths if sort == "target" else np.maximum(source_lengths, target_lengths)
    order = np.lexsort((source_lengths, target_lengths, first))  # the last key is the primary one
    for part in budget.cut(source_lengths[order], target_lengths[order]):
        yield rows[order[part]]


def _gather(source: RaggedIds, target: RaggedIds, rows: NDArray[np.int64], *, source_eos: bool) -> Batch:
    """The pairs `rows` [B] as padded ids [B, S] and [B, T], without links."""
    return Batch(*_pad_rows(source, rows, eos=source_eos), *_pad_rows(target, rows, eos=True), rows)


def _links_of(store: Store, rows: NDArray[np.int64], wanted: NDArray[np.bool_] | None = None) -> BatchLinks | None:
    """The links of the pairs `rows` [B]; None for `wanted` for all of them."""
    links = store.links
    if links is None:
        return None
    starts, counts = links.spans_of(rows)
    if wanted is not None:
        counts = np.where(wanted, counts, 0)
    first = np.cumsum(counts) - counts  # [B] where the links of each row begin in the batch
    chosen = np.arange(counts.sum()) + np.repeat(starts - first, counts)  # [links of the batch]
    source, target = links.links[chosen].astype(np.int64).T
    numbers = np.repeat(np.arange(len(rows)), counts)
    lengths = store.source.lengths_of(rows), store.target.lengths_of(rows)
    if links.verifiers is not None and ((source >= lengths[0][numbers]) | (target >= lengths[1][numbers])).any():
        raise links.verifiers[0].damaged("it links segments beyond the end of their line")
    return BatchLinks(numbers, source, target)


def _pad_rows(side: RaggedIds, rows: NDArray[np.int64], *, eos: bool) -> Padded:
    """The lines `rows` [B] as padded ids [B, L]."""
    return pad_slices(side.ids, *side.spans_of(rows), eos=eos)


def _ragged(rows: Sequence[Sequence[int]]) -> RaggedIds:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return RaggedIds(np.fromiter(chain.from_iterable(rows), np.int64, int(offsets[-1])), offsets)
