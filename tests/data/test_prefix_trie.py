from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.prefix_trie import prefix_trie
from dragoman.text.vocabulary import BOS

TARGETS = st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(4, 6), max_size=5)), min_size=1, max_size=12)


@given(TARGETS)
def test_each_beginning_of_a_source_is_one_node_and_leads_to_the_words_that_follow(rows):
    rows.sort(key=lambda row: row[0])
    lengths = np.array([len(words) + 1 for _, words in rows])
    target = np.zeros((len(rows), lengths.max()), np.int64)
    for row, (_, words) in zip(target, rows, strict=True):
        row[: len(words)] = words
        row[len(words)] = 3
    shared = prefix_trie(np.array([owner for owner, _ in rows]), target, lengths)

    # Followed from its parents, each node must spell what stands before the positions that it predicts.
    spelled: list[list[tuple[int, tuple[int, ...]]]] = []
    for level in shared.levels:
        if not spelled:
            assert (level.words == BOS).all()
            spelled.append([(owner, ()) for owner in level.parents.tolist()])
        else:
            above = spelled[-1]
            spelled.append(
                [
                    (above[parent][0], (*above[parent][1], word))
                    for parent, word in zip(level.parents.tolist(), level.words.tolist(), strict=True)
                ]
            )
        owners = [owner for owner, _ in spelled[-1]]
        assert owners == sorted(owners)
    flat = [node for level in spelled for node in level]
    assert len(set(flat)) == len(flat)
    for row, (owner, words) in enumerate(rows):
        for place in range(target.shape[1]):
            node = shared.nodes[row, place]
            if place < lengths[row]:
                assert flat[node] == (owner, tuple(words[:place]))
            else:
                assert node == -1
