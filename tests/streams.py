"""Endless inputs that count how far they have been read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class EndlessStream(Generic[Item]):
    """The same item again and again; `read` is the number of items that have been taken."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.read = 0

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        self.read += 1
        return self._item


def assert_read_by_windows(stream: EndlessStream[Item], results: Iterator[object], window: int, count: int) -> None:
    """The first `count` results come after no more items than whole windows of them."""
    assert stream.read == 0
    for given in range(1, count):
        next(results)
        assert stream.read == -(-given // window) * window
