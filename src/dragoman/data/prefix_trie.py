"""The distinct beginnings of given targets, level by level: a trie, so that what begins alike is computed once.

The translations of an n-best list are variants of each other. Node r of level t stands for t words that one or several
targets of one source begin with; a model that has read them predicts word t + 1 of all these targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.vocabulary import BOS

Ids = NDArray[np.int64]


class PrefixLevel(NamedTuple):
    """The R nodes of one depth, those of one source together and sources in order."""

    parents: Ids
    """[R] the node of the level before that each goes on from; in the first level the source."""
    words: Ids
    """[R] what is read on the way: the last word of each beginning, BOS in the first level."""


class PrefixTrie(NamedTuple):
    """All levels, and which node predicts which word."""

    levels: Sequence[PrefixLevel]
    nodes: Ids
    """[N, T] the node that predicts this word, counted through all levels; -1 on padding."""


def prefix_trie(owners: Ids, target: Ids, lengths: Ids) -> PrefixTrie:
    """Of targets [N, T] with `lengths` [N], each of source `owners[n]`, ascending."""
    nodes = np.full(target.shape, -1, np.int64)
    sources, number = np.unique(owners, return_inverse=True)
    levels = [PrefixLevel(sources, np.full(len(sources), BOS, np.int64))]
    nodes[:, 0] = number
    before = len(sources)
    for step in range(1, target.shape[1]):
        going_on = lengths > step
        # Sorted pairs keep the nodes of a source together, because those of the level before are.
        pairs = number[going_on] * (1 + int(target.max())) + target[going_on, step - 1]
        _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        levels.append(PrefixLevel(number[going_on][first], target[going_on, step - 1][first]))
        number[going_on] = inverse
        nodes[going_on, step] = inverse + before
        before += len(first)
    return PrefixTrie(levels, nodes)
