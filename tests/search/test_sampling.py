from __future__ import annotations

import numpy as np
import pytest

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError
from dragoman.search.sampling import sample, uniform
from dragoman.text.padding import pad
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.translation.source_encoding import pad_sources

A, B, C, D = 4, 5, 6, 7


def draw(engine, lines, count, sampling=None, numbers=None, **settings):
    numbers = np.arange(len(lines)) if numbers is None else np.array(numbers)
    source = pad_sources(engine, lines)
    return sample(engine, *source, SearchConfig(**settings), sampling or Sampling(), numbers, count)


def first_symbols(engine, count, sampling, **settings):
    """How often each symbol is drawn first, out of `count`."""
    [found] = draw(engine, [[4]], count, sampling, **settings)
    return np.bincount([hypothesis.tokens[0] for hypothesis in found], minlength=engine.vocabulary_size)


def chi_square(counts, expected):
    """Pearson's statistic; all that is not expected must not occur."""
    expected = np.asarray(expected, dtype=float)
    assert (counts[expected == 0] == 0).all()
    counts, expected = counts[expected > 0], expected[expected > 0] / expected.sum() * counts.sum()
    return ((counts - expected) ** 2 / expected).sum()


PROBABILITIES = {PAD: 0.05, BOS: 0.05, UNK: 0.1, EOS: 0.1, A: 0.4, B: 0.2, C: 0.07, D: 0.03}

# settings, what the first symbol's distribution must be in proportion to (ids 0 to 7)
CASES = [
    (Sampling(), [0, 0.1, 0, 0.1, 0.4, 0.2, 0.07, 0.03]),
    (Sampling(temperature=0.5), [0, 0.01, 0, 0.01, 0.16, 0.04, 0.0049, 0.0009]),
    (Sampling(temperature=2.0, seed=7), [0, *np.sqrt([0.1, 0, 0.1, 0.4, 0.2, 0.07, 0.03])]),
    (Sampling(top_k=2), [0, 0, 0, 0, 0.4, 0.2, 0, 0]),
    (Sampling(top_k=100), [0, 0.1, 0, 0.1, 0.4, 0.2, 0.07, 0.03]),
    (Sampling(top_p=0.5), [0, 0, 0, 0, 0.4, 0.2, 0, 0]),  # of 0.9 that may be drawn: 0.4 is less than half of it
    (Sampling(top_p=0.4), [0, 0, 0, 0, 1.0, 0, 0, 0]),
    (Sampling(top_p=1.0), [0, 0.1, 0, 0.1, 0.4, 0.2, 0.07, 0.03]),
    (Sampling(top_k=2, top_p=0.6), [0, 0, 0, 0, 1.0, 0, 0, 0]),  # 0.4 is two thirds of the two that are left
    (Sampling(temperature=1e-300), [0, 0, 0, 0, 1.0, 0, 0, 0]),
]


@pytest.mark.parametrize(("sampling", "expected"), CASES)
def test_symbols_are_drawn_as_often_as_they_should_be(toy_engine, sampling, expected):
    engine = toy_engine(8, answer=lambda source, prefix: PROBABILITIES if prefix == (BOS,) else {EOS: 1.0})
    counts = first_symbols(engine, 4000, sampling)
    assert chi_square(counts, expected) < 22.5  # 0.999 quantile of six degrees of freedom; the draws never change


def test_unknown_words_are_not_drawn_when_blocked_nor_ends_before_the_shortest_length(toy_engine):
    engine = toy_engine(8, answer=lambda source, prefix: PROBABILITIES if prefix == (BOS,) else {EOS: 1.0})
    counts = first_symbols(engine, 2000, Sampling(), block_unknown=True, min_length_factor=1.0)
    assert chi_square(counts, [0, 0, 0, 0, 0.4, 0.2, 0.07, 0.03]) < 16.3
    assert chi_square(first_symbols(engine, 500, Sampling(top_k=4), block_unknown=True, min_length_factor=1.0),
                      [0, 0, 0, 0, 0.4, 0.2, 0.07, 0.03]) < 16.3  # fmt: skip


def test_later_symbols_follow_their_own_prefix(toy_engine):
    script = {(BOS,): {A: 0.5, B: 0.5}, (BOS, A): {C: 1.0}, (BOS, B): {D: 1.0}}
    engine = toy_engine(8, answer=lambda source, prefix: script.get(prefix, {EOS: 1.0}))
    [found] = draw(engine, [[4]], 50)
    assert {tuple(hypothesis.tokens) for hypothesis in found} == {(A, C, EOS), (B, D, EOS)}


def test_every_step_draws_independently(toy_engine):
    engine = toy_engine(8, answer=lambda source, prefix: {A: 0.5, B: 0.5})
    [found] = draw(engine, [[4]], 1000, max_length_factor=10, max_length_extra=0)
    pairs = np.bincount([2 * (h.tokens[0] == A) + (h.tokens[1] == A) for h in found], minlength=4)
    assert chi_square(pairs, np.ones(4)) < 16.3


def test_the_fewest_symbols_that_reach_top_p_are_drawn_among(toy_engine):
    engine = toy_engine(8, answer=lambda source, prefix: {A: 0.5, B: 0.5} if prefix == (BOS,) else {EOS: 1.0})
    assert chi_square(first_symbols(engine, 100, Sampling(top_p=0.5)), np.eye(8)[A]) == 0


def test_a_seed_gives_the_same_samples_again_and_another_seed_others(toy_engine):
    engine, lines = toy_engine(20, 3), [[4, 5, 6, 7, 8], [9, 10]]

    def tokens(seed):
        return [[h.tokens for h in found] for found in draw(engine, lines, 4, Sampling(seed=seed))]

    assert tokens(1) == tokens(1)
    assert tokens(1) != tokens(2)
    assert tokens(-1) != tokens(1)


def test_samples_do_not_depend_on_the_batch_nor_on_their_number(toy_engine):
    engine = toy_engine(20, 3)
    lines = [[4, 5, 6, 7], [9], [4, 5, 6, 7], [12, 13, 14, 15, 16, 17], [9, 9]]
    for sampling in (Sampling(), Sampling(top_k=3), Sampling(top_p=0.8, temperature=1.5)):
        together = draw(engine, lines, 3, sampling, max_length_factor=1.5)
        order = [3, 0, 4, 2, 1]
        shuffled = draw(engine, [lines[index] for index in order], 5, sampling, numbers=order, max_length_factor=1.5)
        for place, index in enumerate(order):
            [alone] = draw(engine, [lines[index]], 3, sampling, numbers=[index], max_length_factor=1.5)
            for other in (together[index], shuffled[place][:3]):
                assert [(h.tokens, h.log_probability, h.score) for h in alone] == [
                    (h.tokens, h.log_probability, h.score) for h in other
                ]
    assert together[0][0].tokens != together[2][0].tokens  # the same line twice is not the same sample twice


def test_the_log_probability_is_that_of_the_model_whatever_it_was_drawn_from(toy_engine):
    engine, lines = toy_engine(10, 2, source_eos=False), [[4, 5, 6], [7]]
    for sampling in (Sampling(), Sampling(temperature=3.0, top_k=4, top_p=0.9)):
        for line, found in zip(lines, draw(engine, lines, 6, sampling, normalisation="mean"), strict=True):
            for hypothesis in found:
                forced = engine.force(*pad_sources(engine, [line]), *pad([hypothesis.tokens]))
                assert hypothesis.log_probability == pytest.approx(forced.log_probabilities.sum(dtype=float), abs=1e-9)
                np.testing.assert_allclose(hypothesis.token_log_probabilities, forced.log_probabilities[0], atol=1e-6)
                assert hypothesis.score == pytest.approx(hypothesis.log_probability / len(hypothesis.tokens))
                np.testing.assert_array_equal(hypothesis.attention, forced.attention[0])


def test_a_sample_that_does_not_end_is_closed_at_the_longest_length(toy_engine):
    engine = toy_engine(12, answer=lambda source, prefix: {**dict.fromkeys(range(4, 12), 0.12), EOS: 0.001})
    for sampling in (Sampling(top_k=3), Sampling(top_p=0.5)):
        for hypothesis in draw(engine, [[4, 4]], 5, sampling, max_length_factor=2.0, max_length_extra=0)[0]:
            assert not hypothesis.finished
            assert len(hypothesis.tokens) == 5
            forced = engine.force(*pad_sources(engine, [[4, 4]]), *pad([hypothesis.tokens]))
            assert hypothesis.log_probability == pytest.approx(forced.log_probabilities.sum(dtype=float), abs=1e-9)
            np.testing.assert_allclose(hypothesis.token_log_probabilities, forced.log_probabilities[0], atol=1e-6)


def test_a_vocabulary_without_words_gives_empty_samples(toy_engine):
    engine = toy_engine(4, answer=lambda source, prefix: {UNK: 0.9, EOS: 0.1})
    [found] = draw(engine, [[UNK]], 2, block_unknown=True, min_length_factor=1.0)
    assert [(hypothesis.tokens, hypothesis.finished) for hypothesis in found] == [([EOS], False)] * 2


def test_random_numbers_are_even_and_differ_with_every_key():
    lines, numbers = np.repeat(np.arange(100), 100), np.tile(np.arange(100), 100)
    drawn = uniform(1, lines, numbers, 0)
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert chi_square(np.histogram(drawn, bins=20, range=(0, 1))[0], np.ones(20)) < 43.8  # 0.999, 19 degrees
    others = [drawn, uniform(2, lines, numbers, 0), uniform(1, lines, numbers, 1), uniform(1, numbers + 500, lines, 0)]
    assert len(np.unique(np.concatenate(others))) == 40000
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0, but must be above 0; for the most probable words use beam 1"),
        ({"temperature": float("nan")}, "temperature is nan, but must be above 0"),
        ({"top_k": 0}, "top-k is 0, but must be at least 1; leave it out to draw among all words"),
        ({"top_p": 0.0}, "top-p is 0.0, but must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top-p is 1.5, but must be above 0 and at most 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Sampling(**settings)
