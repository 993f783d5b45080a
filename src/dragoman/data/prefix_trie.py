"""The trie of the distinct prefixes of given targets, level by level, so that a common prefix is computed once.

The translations of an n-best list have many prefixes in common. Node r of level t stands for t words that one or
several targets of one source begin with; a model that has read them predicts word t + 1 of all these targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.vocabulary import BOS


class PrefixLevel(NamedTuple):
    """The R nodes of one depth, ordered by source."""

    parents: NDArray[np.int64]
    """[R] the parent of each node, in the level before; in the first level the source."""
    words: NDArray[np.int64]
    """[R] the last word of each prefix, BOS in the first level."""


class PrefixTrie(NamedTuple):
    """The levels of a trie, and the node that predicts each word of the targets."""

    levels: Sequence[PrefixLevel]
    nodes: NDArray[np.int64]
    """[N, T] the node that predicts each word, numbered through all levels; -1 on padding."""


def prefix_trie(owners: NDArray[np.int64], target: NDArray[np.int64], lengths: NDArray[np.int64]) -> PrefixTrie:
    """Build the trie of targets [N, T] with `lengths` [N], each of source `owners[n]`, ascending."""
    nodes = np.full(target.shape, -1, np.int64)
    sources, number = np.unique(owners, return_inverse=True)
    levels = [PrefixLevel(sources, np.full(len(sources), BOS, np.int64))]
    nodes[:, 0] = number
    before = len(sources)
    for step in range(1, target.shape[1]):
        unfinished = lengths > step
        # Sorted pairs keep the nodes of a source together, because the nodes of the level before are together.
        pairs = number[unfinished] * (1 + int(target.max())) + target[unfinished, step - 1]
        _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        levels.append(PrefixLevel(number[unfinished][first], target[unfinished, step - 1][first]))
        number[unfinished] = inverse
        nodes[unfinished, step] = inverse + before
        before += len(first)
    return PrefixTrie(levels, nodes)
