from __future__ import annotations

import numpy as np

from dragoman.text.vocabulary import EOS, PAD, UNK
from dragoman.translation.source_encoding import pad_sources


def test_sources_end_as_the_model_reads_them(toy_engine):
    with_eos, lengths = pad_sources(toy_engine(8, source_eos=True), [[4, 5], []])
    np.testing.assert_array_equal(with_eos, [[4, 5, EOS], [EOS, PAD, PAD]])
    np.testing.assert_array_equal(lengths, [3, 1])
    without, lengths = pad_sources(toy_engine(8, source_eos=False), [[4, 5], []])
    np.testing.assert_array_equal(without, [[4, 5], [UNK, PAD]])
    np.testing.assert_array_equal(lengths, [2, 1])
