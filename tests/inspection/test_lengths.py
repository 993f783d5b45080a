"""Lengths, their quantiles and the pairs whose lengths do not match."""

import math

import numpy as np

from dragoman.inspection.lengths import Lengths


def filled(pairs):
    lengths = Lengths()
    for source, target in pairs:
        lengths.add(source, len(source.split()), target, len(target.split()))
    return lengths


def test_facts_of_both_sides():
    lengths = filled([("a bb", "x"), ("a", "x yy zzz"), ("a b c d", "")])
    source, target = lengths.facts()
    assert source.words[0] == 1
    assert source.words[50] == 2
    assert source.words[100] == 4
    assert source.mean_characters == (4 + 1 + 7) / 3
    assert target.words == {percent: {0: 0, 1: 0, 5: 0, 25: 0, 50: 1}.get(percent, 3) for percent in source.words}
    assert lengths.ratio().words == 4 / 7
    assert lengths.longest_words().tolist() == [2, 3, 4]


def test_correlation_of_lengths():
    assert filled([("a" * n, "b" * 2 * n) for n in range(1, 9)]).correlation() > 0.999
    assert filled([("a" * n, "b" * (9 - n)) for n in range(1, 9)]).correlation() < -0.999
    assert math.isnan(filled([("a", "b")]).correlation())
    assert math.isnan(filled([("a", "b"), ("a", "bbb")]).correlation())


def test_only_a_length_far_from_the_expected_one_is_unlikely():
    draw = np.random.default_rng(1)
    sizes = draw.integers(20, 90, 500)
    pairs = [("a" * size, "b" * int(size * 1.5 + draw.normal() * 3)) for size in sizes]
    pairs += [("a" * 80, "b" * 10), ("a" * 10, "b" * 100), ("", "b" * 100), ("a" * 100, "")]
    assert np.flatnonzero(filled(pairs).unlikely()).tolist() == [500, 501]


def test_equal_lengths_have_no_unlikely_ones():
    assert not filled([("a" * n, "b" * n) for n in range(1, 50)]).unlikely().any()
    assert not filled([("", "")]).unlikely().any()
