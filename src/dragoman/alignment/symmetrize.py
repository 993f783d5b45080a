"""One alignment out of two: of a model that reads the source, and of one that reads the target (Koehn et al. 2003).

Both are links (source word, target word). A model has one link for every word it writes, so either way alone misses
what the other can say: one word for several, or several for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from dragoman.text.links import Link

SymmetrizationMethod = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

METHODS: tuple[str, ...] = get_args(SymmetrizationMethod)

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Iterable[Link], backward: Iterable[Link], method: SymmetrizationMethod) -> list[Link]:
    """The links of both ways joined, ascending.

    `intersection` and `union` are what they say. `grow-diag` begins with the intersection and takes in links of the
    union that touch one taken already, also at a corner, and of which one word or the other has no link yet; again,
    until none is left. `-final` then takes, of the forward links and after them of the backward ones, those of which
    one word or the other still has no link; `-final-and`, those of which neither has one.

    Which links are taken can depend on the order in which they are looked at. It is that of Koehn's pseudo-code, and of
    Moses' program symal: target words ascending, for each the source words ascending, over what has been taken so far.
    """
    ahead, back = set(forward), set(backward)
    if method == "intersection":
        return sorted(ahead & back)
    if method == "union":
        return sorted(ahead | back)
    growing = _Growing(ahead & back)
    growing.grow(ahead | back)
    if method != "grow-diag":
        for links in (ahead, back):
            growing.finish(links, both_free=method == "grow-diag-final-and")
    return sorted(growing.links)


class _Growing:
    """Links taken so far, and the words that have one."""

    def __init__(self, links: set[Link]) -> None:
        self.links = set(links)
        self._sources = {source for source, _ in links}
        self._targets = {target for _, target in links}

    def grow(self, union: set[Link]) -> None:
        """Take links beside those taken, until there are none with a word that has no link."""
        # Only places in the union can ever be taken, so only they need looking at.
        places = _in_order(union)
        added = True
        while added:
            added = False
            for source, target in places:
                if (source, target) not in self.links:
                    continue
                for right, down in _NEIGHBOURS:
                    near = source + down, target + right
                    if near in union and near not in self.links and self._free(near) > 0:
                        self._take(near)
                        added = True

    def finish(self, links: set[Link], *, both_free: bool) -> None:
        """Take links of which one word, or with `both_free` both, has no link."""
        for link in _in_order(links):
            if self._free(link) >= (2 if both_free else 1):
                self._take(link)

    def _free(self, link: Link) -> int:
        """How many of a link's words have no link."""
        return (link[0] not in self._sources) + (link[1] not in self._targets)

    def _take(self, link: Link) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])


def _in_order(links: Iterable[Link]) -> list[Link]:
    """By target word, then by source word."""
    return sorted(links, key=lambda link: (link[1], link[0]))
