from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError
from dragoman.search.sampling import ROUNDS, draw_until_different, sample, uniform
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


def draw_different(engine, lines, count, sampling=None, **settings):
    """`count` different samples of each line, and the rounds that were drawn as (places, first number)."""
    rounds = []

    def draw_round(places, first):
        rounds.append((list(places), first))
        source = pad_sources(engine, [lines[place] for place in places])
        config = SearchConfig(**settings)
        return sample(engine, *source, config, sampling or Sampling(), np.array(places), count, first=first)

    return draw_until_different(draw_round, lambda one: tuple(one.tokens), len(lines), count), rounds


def every_probability(engine, line, longest, symbols):
    """Each translation of at most `longest` words, and its probability when it is drawn word by word.

    A translation that has not ended by then is closed, and counts as the one with the same words that has.
    """
    probabilities = Counter()

    def grow(words, total):
        answer = engine.distribution((*line, EOS), (BOS, *words))[0].astype(float)
        answer[[PAD, BOS]] = -np.inf
        shares = np.exp(answer - answer.max())
        shares /= shares.sum()
        if len(words) == longest:
            probabilities[words] += total
            return
        probabilities[words] += total * shares[EOS]
        for symbol in symbols:
            grow((*words, symbol), total * shares[symbol])

    grow((), 1.0)
    return probabilities


def test_pairs_of_different_samples_are_drawn_as_often_as_without_replacement(toy_engine):
    engine, draws = toy_engine(6, 3, spread=1.0), 4000
    expected = every_probability(engine, [4], 2, (UNK, A, B))
    assert sum(expected.values()) == pytest.approx(1)
    drawn, _ = draw_different(engine, [[4]] * draws, 2, max_length_factor=1.0, max_length_extra=1)
    pairs = Counter(tuple(tuple(hypothesis.tokens[:-1]) for hypothesis in two) for two in drawn)
    statistic, cells = 0.0, 0
    rest = rest_expected = 0.0
    for first, second in itertools.permutations(expected, 2):
        wanted = draws * expected[first] * expected[second] / (1 - expected[first])
        if wanted < 5:
            rest, rest_expected = rest + pairs[first, second], rest_expected + wanted
        else:
            statistic, cells = statistic + (pairs[first, second] - wanted) ** 2 / wanted, cells + 1
    statistic += (rest - rest_expected) ** 2 / rest_expected
    assert cells > 20
    assert statistic < cells + 3.1 * np.sqrt(2 * cells) + 10  # about the 0.999 quantile; the draws never change


def test_different_samples_are_the_first_different_ones_of_all_draws_alone_and_in_any_batch(toy_engine):
    engine, lines, settings = toy_engine(6, 2), [[4], [5], [4, 5]], {"max_length_factor": 2.0, "max_length_extra": 0}
    many, rounds = draw_different(engine, lines, 6, **settings)
    assert len(rounds) > 1
    for place, line in enumerate(lines):
        plain = draw(engine, [line], 6 * ROUNDS, numbers=[place], **settings)[0]
        different = list(dict.fromkeys(tuple(hypothesis.tokens) for hypothesis in plain))
        assert [tuple(hypothesis.tokens) for hypothesis in many[place]] == different[:6]
    few, _ = draw_different(engine, lines, 3, **settings)
    assert [[h.tokens for h in samples] for samples in few] == [[h.tokens for h in samples[:3]] for samples in many]


def test_only_sentences_that_lack_samples_are_drawn_again_and_not_for_ever(toy_engine):
    script = {(BOS,): {A: 0.5, B: 0.5}}
    engine = toy_engine(
        8, answer=lambda source, prefix: {EOS: 1.0} if source == (C, EOS) else script.get(prefix, {EOS: 1.0})
    )
    drawn, rounds = draw_different(engine, [[D], [C], [D]], 2)
    assert [sorted(h.tokens for h in samples) for samples in drawn] == [
        [[A, EOS], [B, EOS]],
        [[EOS]],
        [[A, EOS], [B, EOS]],
    ]
    assert [first for _, first in rounds] == list(range(0, 2 * ROUNDS, 2))
    assert rounds[0][0] == [0, 1, 2]
    assert rounds[-1][0] == [1]
