from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.protocol import arrange, first_rows, round_width, widened


@given(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.data())
def test_every_row_continues_its_own_parent_in_any_layout(sentences, steps, rounded, data):
    rows, contents = first_rows(sentences), [(sentence,) for sentence in range(sentences)]
    cells = list(contents)  # what each cell of the layout remembers
    for step in range(steps):
        by_sentence = {}
        for row, content in enumerate(contents):
            by_sentence.setdefault(content[0], []).append(row)
        chosen = {
            sentence: data.draw(st.lists(st.sampled_from(own), max_size=40 if rounded else 4))
            for sentence, own in by_sentence.items()
        }
        parents = np.array([row for own in chosen.values() for row in own], dtype=np.int64)
        if not len(parents):
            return
        rows, kept, taken, parent_cells = arrange(rows, parents, rounded=rounded)
        widest = max(map(len, chosen.values()))
        assert rows.width == (round_width(widest) if rounded else widest)
        assert (rows.sentences, [list(chosen)[place] for place in kept]) == (
            len(kept),
            [sentence for sentence, own in chosen.items() if own],
        )
        tokens = np.arange(len(parents)) + 10 * step
        cells = [(*cells[parent], int(tokens[row])) for parent, row in zip(parent_cells, taken, strict=True)]
        contents = [(*contents[parent], int(token)) for parent, token in zip(parents, tokens, strict=True)]
        assert [cells[cell] for cell in rows.cells] == contents


def test_round_widths_are_few_and_at_most_an_eighth_wider():
    round_ones = [round_width(width) for width in range(1, 1025)]
    assert round_ones[:16] == list(range(1, 17))
    assert all(width <= found <= 1.125 * width for width, found in enumerate(round_ones, 1))
    assert round_ones == sorted(round_ones)
    assert len(set(round_ones)) == 16 + 6 * 8


def test_weights_have_the_width_of_the_given_source():
    seen = np.ones((2, 3), dtype=np.float32)
    assert widened(seen, 3, 0) is seen
    assert widened(seen, 5, 0).tolist() == [[1, 1, 1, 0, 0]] * 2
