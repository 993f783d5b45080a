from __future__ import annotations

from dragoman.text.padding import pad
from dragoman.text.vocabulary import EOS, PAD


def test_rows_are_padded_on_the_right() -> None:
    plain, closed = pad([[5], [], [6, 7]], eos=False), pad([[5], [], [6, 7]], eos=True)
    assert plain.ids.tolist() == [[5, PAD], [PAD, PAD], [6, 7]]
    assert plain.lengths.tolist() == [1, 0, 2]
    assert closed.ids.tolist() == [[5, EOS, PAD], [EOS, PAD, PAD], [6, 7, EOS]]
    assert closed.lengths.tolist() == [2, 1, 3]
    assert pad([], eos=True).ids.shape == (0, 0)
