"""The dev set beside the training text: a part of it that is held out, or given pairs that may occur in it.

Where no dev set is given, the usable pairs with the smallest digests are held out. That is a uniform sample of the
distinct pairs in one pass and constant memory (bottom-k sampling: Cohen and Kaplan 2007). It depends on the pairs
alone, not on their order, on the seed of the training or on other settings: runs on the same text have the same dev
set, so they can be compared and combined.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman.corpora.pairs import Pair, digest
from dragoman.errors import InputError

SHARE = 0.05
"""Share of the distinct pairs that is held out ..."""

MOST = 1000
"""... up to this number."""

_DIGESTS = 1 << 128
"""Number of different digests."""


class HeldOut:
    """The pairs of a dev set, which are recognised in the training text."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self._digests = set(map(digest, pairs))
        self._seen: set[bytes] = set()

    def without(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that are not held out; repetitions of a held-out pair are left out, too."""
        return (pair for pair in pairs if digest(pair) not in self._digests)

    def observed(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield all pairs; `seen` then counts the pairs of the dev set among them."""
        for pair in pairs:
            key = digest(pair)
            if key in self._digests:
                self._seen.add(key)
            yield pair

    @property
    def seen(self) -> int:
        """Pairs of the dev set that were among the observed ones, with the same source and the same target."""
        return sum(digest(pair) in self._seen for pair in self.pairs)


def hold_out(pairs: Iterable[Pair], usable: Callable[[Pair], bool]) -> HeldOut:
    """Choose the part of a training text that is held out, in the order of the text.

    Args:
        pairs: the training text, read once.
        usable: whether a pair can be held out; an empty one, for example, cannot.

    Raises:
        InputError: there are fewer than two different usable pairs.
    """
    smallest: list[tuple[int, int, Pair]] = []  # a heap: negative digest, index, pair
    held: set[int] = set()
    for index, pair in enumerate(pairs):
        number = int.from_bytes(digest(pair))
        if (len(smallest) == MOST and number > -smallest[0][0]) or number in held or not usable(pair):
            continue
        held.add(number)
        if len(smallest) < MOST:
            heapq.heappush(smallest, (-number, index, pair))
        else:
            held.discard(-heapq.heappushpop(smallest, (-number, index, pair))[0])
    distinct = len(smallest)
    if distinct < 2:
        raise InputError(
            f"the training text has {distinct or 'no'} usable line{'s' * (distinct != 1)}, too few to hold out a dev "
            "set; give more text, or a dev set with --dev"
        )
    if distinct == MOST:  # an estimate from the largest of the smallest digests (Bar-Yossef et al. 2002)
        distinct = (MOST - 1) * _DIGESTS // -smallest[0][0]
    count = max(1, min(MOST, int(SHARE * distinct)))
    chosen = heapq.nlargest(count, smallest)
    return HeldOut([pair for _, pair in sorted((index, pair) for _, index, pair in chosen)])
