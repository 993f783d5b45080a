"""Symmetrisation: one alignment from two, one of each translation direction (Koehn et al. 2003).

Both are links (source word, target word). A directional model has at most one link for each generated word, so each
direction misses one-to-many links that the other can represent. The names of the aligners whose links are joined are
here, too, without the libraries that they need.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from dragoman.text.links import Link

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Iterable[Link], backward: Iterable[Link], method: SymmetrizationMethod) -> list[Link]:
    """Combine the links of both directions, ascending.

    `grow-diag` starts with the intersection and adds links of the union that are horizontal, vertical or diagonal
    neighbours of an added link and have at least one unaligned word, until none is left. `-final` then adds the forward
    links, after them the backward links, with at least one unaligned word; `-final-and` those with two unaligned words.

    The result can depend on the order in which links are visited. It is that of Koehn's pseudo-code and of Moses'
    program symal: target words ascending, for each the source words ascending, over the links added so far.
    """
    forward_links, backward_links = set(forward), set(backward)
    if method == "intersection":
        return sorted(forward_links & backward_links)
    if method == "union":
        return sorted(forward_links | backward_links)
    growing = _GrowingAlignment(forward_links & backward_links)
    growing.grow(forward_links | backward_links)
    if method != "grow-diag":
        for links in (forward_links, backward_links):
            growing.finish(links, both_free=method == "grow-diag-final-and")
    return sorted(growing.links)


class _GrowingAlignment:
    """The links added so far, and the aligned words."""

    def __init__(self, links: set[Link]) -> None:
        self.links = set(links)
        self._sources = {source for source, _ in links}
        self._targets = {target for _, target in links}

    def grow(self, union: set[Link]) -> None:
        """Add neighbours with an unaligned word until there are none."""
        # Only links of the union can ever be added, so only they are visited.
        candidates = _in_order(union)
        added = True
        while added:
            added = False
            for source, target in candidates:
                if (source, target) not in self.links:
                    continue
                for right, down in _NEIGHBOURS:
                    near = source + down, target + right
                    if near in union and near not in self.links and self._free(near) > 0:
                        self._add(near)
                        added = True

    def finish(self, links: set[Link], *, both_free: bool) -> None:
        """Add links with at least one unaligned word, or with two if `both_free`."""
        for link in _in_order(links):
            if self._free(link) >= (2 if both_free else 1):
                self._add(link)

    def _free(self, link: Link) -> int:
        """Number of unaligned words of a link."""
        return (link[0] not in self._sources) + (link[1] not in self._targets)

    def _add(self, link: Link) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])


def _in_order(links: Iterable[Link]) -> list[Link]:
    """Sorted by target word, then by source word."""
    return sorted(links, key=lambda link: (link[1], link[0]))


Aligner = Literal["ibm1", "ibm2", "hmm", "fast-align", "eflomal"]

SymmetrizationMethod = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

METHODS: tuple[str, ...] = get_args(SymmetrizationMethod)

DEFAULT_METHOD: Final = "grow-diag-final-and"
