from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.search.constraints import BatchConstraints, IdConstraints
from dragoman.search.stochastic import _conditioned, stochastic_beam_search
from dragoman.text.padding import pad
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.translation.source_encoding import pad_sources

A, B = 4, 5


def draw(engine, lines, count, sampling=None, numbers=None, **settings):
    numbers = np.arange(len(lines)) if numbers is None else np.array(numbers)
    source = pad_sources(engine, lines)
    return stochastic_beam_search(engine, *source, SearchConfig(**settings), sampling or Sampling(), numbers, count)


def every_probability(engine, line, longest, symbols, temperature=1.0):
    """Each translation of at most `longest` words and its probability when drawn word by word.

    What has not ended by then is put down under its words, with those that have: both are closed.
    """
    found = Counter()

    def grow(words, total):
        answer = engine.distribution((*line, EOS), (BOS, *words))[0].astype(float) / temperature
        answer[[PAD, BOS]] = -np.inf
        shares = np.exp(answer - answer.max())
        shares /= shares.sum()
        if len(words) == longest:
            found[words] += total
            return
        found[words] += total * shares[EOS]
        for symbol in symbols:
            grow((*words, symbol), total * shares[symbol])

    grow((), 1.0)
    return found


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_pairs_are_drawn_as_often_as_without_replacement(toy_engine, temperature):
    engine, draws = toy_engine(6, 3, spread=1.0), 4000
    expected = every_probability(engine, [4], 2, (UNK, A, B), temperature)
    assert sum(expected.values()) == pytest.approx(1)
    found = draw(engine, [[4]] * draws, 2, Sampling(temperature=temperature), max_length_factor=1.0, max_length_extra=1)
    pairs = Counter(tuple(tuple(hypothesis.tokens[:-1]) for hypothesis in two) for two in found)
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


def test_as_many_draws_as_translations_give_all_of_them_once(toy_engine):
    engine = toy_engine(6, 2)
    [found] = draw(engine, [[4]], 50, max_length_factor=2.0, max_length_extra=0)
    expected = every_probability(engine, [4], 2, (UNK, A, B))
    assert len(found) == len(expected) == 13
    assert {tuple(hypothesis.tokens[:-1]) for hypothesis in found} == set(expected)


def test_fewer_draws_are_the_first_of_more_alone_and_in_any_batch(toy_engine):
    engine = toy_engine(15, 4)
    lines = [[4, 5, 6], [7], [8, 9, 10, 11], [7]]
    many = draw(engine, lines, 6, max_length_factor=1.5)
    few = draw(engine, [lines[index] for index in (2, 0, 3)], 3, numbers=[2, 0, 3], max_length_factor=1.5)
    for place, index in enumerate((2, 0, 3)):
        assert [(h.tokens, h.log_probability) for h in few[place]] == [
            (h.tokens, h.log_probability) for h in many[index][:3]
        ]
    assert [h.tokens for h in many[1]] != [h.tokens for h in many[3]]
    for found in many:
        assert len({tuple(hypothesis.tokens) for hypothesis in found}) == 6
    assert [[h.tokens for h in found] for found in draw(engine, lines, 6, Sampling(seed=2), max_length_factor=1.5)] != [
        [h.tokens for h in found] for found in many
    ]


def test_the_log_probability_is_that_of_forced_decoding(toy_engine):
    engine, lines = toy_engine(10, 2), [[4, 5, 6], [7]]
    found = draw(
        engine,
        lines,
        5,
        Sampling(temperature=1.5, top_k=5),
        normalisation="mean",
        max_length_factor=1.0,
        max_length_extra=1,
    )
    for line, hypotheses in zip(lines, found, strict=True):
        assert len(hypotheses) == 5
        for hypothesis in hypotheses:
            forced = engine.force(*pad_sources(engine, [line]), *pad([hypothesis.tokens]))
            assert hypothesis.log_probability == pytest.approx(forced.log_probabilities.sum(dtype=float), abs=1e-9)
            np.testing.assert_allclose(hypothesis.token_log_probabilities, forced.log_probabilities[0], atol=1e-6)
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / len(hypothesis.tokens))
            np.testing.assert_array_equal(hypothesis.attention, forced.attention[0])


def test_unfinished_translations_are_closed_and_marked(toy_engine):
    engine = toy_engine(6, answer=lambda source, prefix: {A: 0.5, B: 0.5})
    [found] = draw(engine, [[4]], 10, max_length_factor=2.0, max_length_extra=0)
    assert sorted(h.tokens for h in found[:4]) == [[A, A, EOS], [A, B, EOS], [B, A, EOS], [B, B, EOS]]
    assert not any(hypothesis.finished for hypothesis in found[:4])


def test_draws_meet_the_constraints(toy_engine):
    engine, config = toy_engine(8, 1), SearchConfig(no_repeat_ngram=1)
    rules = BatchConstraints.from_config(config, 8, np.array([2]), [IdConstraints(prefix=[B])], [[A]])
    source = pad_sources(engine, [[4, 4]])
    [found] = stochastic_beam_search(engine, *source, config, Sampling(), np.arange(1), 8, rules)
    for hypothesis in found:
        words = hypothesis.tokens[:-1]
        assert words[0] == B
        assert A not in words
        assert len(set(words)) == len(words)


def test_sums_are_conditioned_as_in_the_formula():
    noisy = np.array([[0.3, -1.0, 2.0, -np.inf]])
    largest = np.array([[-0.7]])
    moved = np.array([-np.log(np.exp(0.7) - np.exp(-2.0) + np.exp(-value)) for value in noisy[0, :3]])
    result = _conditioned(noisy, largest)[0]
    np.testing.assert_allclose(result[:3], moved)
    assert result[2] == pytest.approx(-0.7)
    assert result[3] == -np.inf
