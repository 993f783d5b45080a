from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError, RunError
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.translation.source_encoding import pad_sources

A, B, C = 4, 5, 6  # the first symbols that are words


def search(engine, lines, n_best=1, **settings):
    """n-best lists for sources given as ids without EOS."""
    return beam_search(engine, *pad_sources(engine, lines), SearchConfig(**settings), n_best)


def as_source(engine, line):
    return (*line, EOS) if engine.source_eos else tuple(line)


def normalised(log_probability, length, settings):
    """The formulas of the papers, once more; `length` counts EOS."""
    if settings["normalisation"] == "power":
        return log_probability / length ** settings["alpha"] - settings["word_penalty"] * length
    if settings["normalisation"] == "mean":
        return log_probability / length
    if settings["normalisation"] == "gnmt":
        return log_probability / ((5 + length) / 6) ** settings["alpha"]
    return log_probability


def greedy(engine, line, longest, blocked=(PAD, BOS), shortest=0):
    """Argmax decoding, a symbol at a time."""
    tokens, total = [], 0.0
    while True:
        answer, _ = engine.distribution(as_source(engine, line), (BOS, *tokens))
        answer = answer.astype(float)
        answer[list(blocked)] = -np.inf
        if len(tokens) < shortest:
            answer[EOS] = -np.inf
        best = int(answer.argmax())
        if best != EOS and len(tokens) == longest:
            return [*tokens, EOS], total + answer[EOS], False
        tokens, total = [*tokens, best], total + answer[best]
        if best == EOS:
            return tokens, total, True


def enumerate_all(engine, line, longest, shortest, symbols, settings):
    """Every translation of at most `longest` words with its score, best first."""
    found = []
    for length in range(shortest, longest + 1):
        for words in itertools.product(symbols, repeat=length):
            total, seen = 0.0, np.zeros(len(as_source(engine, line)))
            for end, token in enumerate((*words, EOS)):
                answer, attention = engine.distribution(as_source(engine, line), (BOS, *words[:end]))
                total, seen = total + float(answer[token]), seen + attention
            covered = np.log(np.clip(seen[: len(line)], 1e-3, 1)).sum()
            score = normalised(total, length + 1, settings) + settings.get("coverage_penalty", 0.0) * covered
            found.append((score, [*words, EOS]))
    return sorted(found, key=lambda item: -item[0])


def plain_beam(engine, line, beam, longest, finish, settings):
    """Beam search as one would write it on paper: lists, no bound, no batch. Returns all that finished."""
    live, finished, most_probable = [((), 0.0)], [], -math.inf
    for _ in range(longest + 1):
        slots = beam - len(finished) if finish == "shrink" else beam
        candidates = [
            (total + float(probability), (*words, token))
            for words, total in live
            for token, probability in enumerate(engine.distribution(as_source(engine, line), (BOS, *words))[0])
            if token not in (PAD, BOS)
        ]
        candidates.sort(key=lambda item: -item[0])
        live = []
        for rank, (total, words) in enumerate(candidates):
            if words[-1] == EOS and rank < slots:
                finished.append((normalised(total, len(words), settings), list(words)))
                most_probable = max(most_probable, total)
            elif words[-1] != EOS and (rank < slots if finish == "shrink" else len(live) < slots):
                live.append((words, total))
        if len(finished) >= beam and all(total <= most_probable for _, total in live):
            break
    return sorted(finished, key=lambda item: -item[0])


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("normalisation", ["none", "mean", "gnmt"])
def test_beam_of_one_equals_greedy_search(toy_engine, finish, normalisation):
    lines = [[4, 5, 6], [7], [5, 5], [6, 4, 4, 7]]
    for seed in range(10):
        engine = toy_engine(9, seed)
        settings = {"finish": finish, "normalisation": normalisation, "max_length_factor": 2.0, "max_length_extra": 1}
        for line, [hypothesis] in zip(lines, search(engine, lines, beam=1, **settings), strict=True):
            tokens, total, finished = greedy(engine, line, longest=2 * len(line) + 1)
            assert hypothesis.tokens == tokens
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-9)
            assert hypothesis.finished == finished


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("normalisation", ["none", "mean", "gnmt"])
@pytest.mark.parametrize("min_length_factor", [0.0, 1.0])
def test_a_wide_beam_equals_exhaustive_enumeration(toy_engine, finish, normalisation, min_length_factor):
    settings = {"normalisation": normalisation, "alpha": 0.8}
    for seed in range(3):
        engine, line = toy_engine(6, seed, spread=1.0), [4, 5]
        expected = enumerate_all(engine, line, 4, int(2 * min_length_factor), (UNK, A, B), settings)
        [found] = search(
            engine,
            [line],
            20,
            beam=130,
            finish=finish,
            max_length_factor=2,
            max_length_extra=0,
            min_length_factor=min_length_factor,
            **settings,
        )
        assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in expected[:20]]
        np.testing.assert_allclose([hypothesis.score for hypothesis in found], [s for s, _ in expected[:20]], atol=1e-9)
        assert all(hypothesis.finished for hypothesis in found)


@pytest.mark.parametrize("source_eos", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"normalisation": "gnmt", "alpha": 0.6, "coverage_penalty": 0.4},
        {"normalisation": "none", "coverage_penalty": 2.0},
        {"normalisation": "power", "alpha": 0.7, "word_penalty": -0.8},
        {"normalisation": "power", "alpha": 1.2, "word_penalty": 0.5, "coverage_penalty": 1.0},
    ],
)
def test_coverage_and_length_penalties_rank_as_in_exhaustive_enumeration(toy_engine, settings, source_eos):
    line, changed = [4, 5], 0
    for seed in range(3):
        engine = toy_engine(6, seed, spread=1.0, source_eos=source_eos)
        expected = enumerate_all(engine, line, 4, 0, (UNK, A, B), settings)
        plain = enumerate_all(engine, line, 4, 0, (UNK, A, B), {"normalisation": "none"})
        changed += [tokens for _, tokens in expected[:5]] != [tokens for _, tokens in plain[:5]]
        for n_best in (1, 20):  # the fewer, the earlier the stop
            [found] = search(engine, [line], n_best, beam=130, max_length_factor=2, max_length_extra=0, **settings)
            assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in expected[:n_best]]
            scores = [score for score, _ in expected[:n_best]]
            np.testing.assert_allclose([hypothesis.score for hypothesis in found], scores, atol=1e-6)
    assert changed


def test_coverage_is_that_of_each_hypothesis_in_any_batch(toy_engine):
    engine, lines = toy_engine(9, 2), [[4, 5, 6], [7], [5, 5, 8, 8]]
    settings = {"coverage_penalty": 0.7, "normalisation": "gnmt", "beam": 3}
    for line, found in zip(lines, search(engine, lines, 3, **settings), strict=True):
        for hypothesis in found:
            covered = np.log(np.clip(hypothesis.attention.sum(axis=0)[: len(line)], 1e-3, 1)).sum()
            divisor = ((5 + len(hypothesis.tokens)) / 6) ** 0.6
            expected = hypothesis.log_probability / divisor + 0.7 * covered
            assert hypothesis.score == pytest.approx(expected, abs=1e-6)
        [alone] = search(engine, [line], 3, **settings)
        assert [h.tokens for h in alone] == [h.tokens for h in found]


def test_a_coverage_penalty_needs_attention(toy_engine):
    with pytest.raises(ConfigError, match="coverage_penalty: the model has no attention to penalise"):
        search(toy_engine(8, attends=False), [[4]], coverage_penalty=0.2)


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("normalisation", ["none", "mean", "gnmt"])
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_the_n_best_are_those_of_a_plain_beam_that_never_stops_early(toy_engine, finish, normalisation, beam):
    settings = {"normalisation": normalisation, "alpha": 0.6}
    lines = [[4, 5, 6], [7], [5, 5], [6, 4, 4, 7], [8, 8, 4]]
    compared = 0
    for seed in range(6):
        engine = toy_engine(9, seed)
        for n_best in {1, beam}:
            found = search(
                engine, lines, n_best, beam=beam, finish=finish, max_length_factor=2, max_length_extra=2, **settings
            )
            for line, hypotheses in zip(lines, found, strict=True):
                expected = plain_beam(engine, line, beam, 2 * len(line) + 2, finish, settings)[:n_best]
                if expected:  # otherwise the live ones are closed, which has its own test
                    assert [hypothesis.tokens for hypothesis in hypotheses] == [tokens for _, tokens in expected]
                    np.testing.assert_allclose([h.score for h in hypotheses], [s for s, _ in expected], atol=1e-9)
                    compared += 1
    assert compared > 50 or beam == 1


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("source_eos", [True, False])
def test_hypotheses_are_the_same_alone_in_any_batch_and_in_any_order(toy_engine, finish, source_eos):
    engine = toy_engine(12, 5, source_eos=source_eos)
    random = np.random.default_rng(1)
    lines = [random.integers(4, 12, size=length).tolist() for length in (1, 9, 2, 5, 5, 3, 7, 1)]
    settings = {"beam": 4, "n_best": 4, "finish": finish, "max_length_extra": 3}
    together = search(engine, lines, **settings)
    order = random.permutation(len(lines))
    shuffled = search(engine, [lines[index] for index in order], **settings)
    for place, index in enumerate(order):
        [alone] = search(engine, [lines[index]], **settings)
        for other in (together[index], shuffled[place]):
            assert [(h.tokens, h.log_probability, h.score, h.finished) for h in alone] == [
                (h.tokens, h.log_probability, h.score, h.finished) for h in other
            ]
            for one, two in zip(alone, other, strict=True):
                np.testing.assert_array_equal(one.attention, two.attention)


@pytest.mark.parametrize("source_eos", [True, False])
def test_the_reported_log_probability_and_attention_are_those_of_forced_decoding(toy_engine, source_eos):
    engine = toy_engine(10, 2, source_eos=source_eos)
    lines = [[4, 5, 6], [7], [5, 5, 9, 9, 9]]
    found = search(engine, lines, 5, beam=5, max_length_factor=1.0, max_length_extra=2)
    for line, hypotheses in zip(lines, found, strict=True):
        for hypothesis in hypotheses:
            forced = engine.force(*pad_sources(engine, [line]), *pad([hypothesis.tokens]))
            assert hypothesis.log_probability == pytest.approx(forced.log_probabilities.sum(dtype=float), abs=1e-9)
            np.testing.assert_allclose(hypothesis.token_log_probabilities, forced.log_probabilities[0], atol=1e-6)
            np.testing.assert_array_equal(hypothesis.attention, forced.attention[0])


def test_refill_continues_where_shrink_has_given_up_its_slots(toy_engine):
    script = {
        (BOS,): {EOS: 0.4, A: 0.35, B: 0.25},  # ending at once takes a slot; A has the other
        (BOS, A): {A: 0.6, B: 0.4},
        (BOS, B): {C: 1.0},
    }
    engine = toy_engine(7, answer=lambda source, prefix: script.get(prefix, {EOS: 1.0}))
    settings = {"beam": 2, "n_best": 2, "normalisation": "mean"}
    # shrink: B is never looked at again, though B C would have been the best.
    [found] = search(engine, [[4]], finish="shrink", **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[A, A, EOS], [EOS]]
    assert [h.score for h in found] == pytest.approx([math.log(0.35 * 0.6) / 3, math.log(0.4)], abs=1e-6)
    # refill: B takes the freed place beside A.
    [found] = search(engine, [[4]], finish="refill", **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[B, C, EOS], [A, A, EOS]]
    assert [h.score for h in found] == pytest.approx([math.log(0.25) / 3, math.log(0.35 * 0.6) / 3], abs=1e-6)


def test_padding_beginning_and_on_request_unknown_words_are_never_produced(toy_engine):
    likely = {PAD: 0.3, BOS: 0.3, UNK: 0.2, A: 0.15, EOS: 0.05}
    engine = toy_engine(5, answer=lambda source, prefix: likely)
    settings = {"beam": 2, "n_best": 2, "max_length_factor": 1.0, "max_length_extra": 0, "normalisation": "none"}
    [found] = search(engine, [[4]], block_unknown=False, **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[UNK, EOS], [A, EOS]]
    assert found[0].log_probability == pytest.approx(math.log(0.2 * 0.05), abs=1e-6)  # over the full vocabulary
    [found] = search(engine, [[4]], block_unknown=True, **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[EOS], [A, EOS]]
    assert found[1].log_probability == pytest.approx(math.log(0.15 * 0.05), abs=1e-6)


def test_no_output_is_shorter_than_the_shortest_or_longer_than_the_longest_length(toy_engine):
    lines = [[4], [4, 5, 6], [7, 7, 7, 7, 7]]
    for seed in range(5):
        engine = toy_engine(8, seed)
        for finish in ("refill", "shrink"):
            found = search(
                engine,
                lines,
                4,
                beam=4,
                finish=finish,
                min_length_factor=0.5,
                max_length_factor=1.1,
                max_length_extra=1,
            )
            for line, hypotheses in zip(lines, found, strict=True):
                for hypothesis in hypotheses:
                    segments = len(hypothesis.tokens) - 1
                    assert math.ceil(0.5 * len(line)) <= segments <= math.floor(1.1 * len(line) + 1e-9) + 1


def test_lengths_are_rounded_as_if_factors_were_exact(toy_engine):
    # 1.1 * 10 is 11.000000000000002 in binary, and 2.3 * 10 could as well be a hair below 23.
    eager = toy_engine(5, answer=lambda source, prefix: {EOS: 0.9, A: 0.1})
    [[hypothesis]] = search(eager, [[4] * 10], beam=1, min_length_factor=1.1, max_length_factor=2)
    assert len(hypothesis.tokens) - 1 == 11
    endless = toy_engine(5, answer=lambda source, prefix: {A: 1.0})
    [[hypothesis]] = search(endless, [[4] * 10], beam=1, max_length_factor=2.3, max_length_extra=0)
    assert len(hypothesis.tokens) - 1 == 23


def test_hypotheses_that_never_end_are_closed_at_the_longest_length_and_marked(toy_engine):
    engine = toy_engine(20, answer=lambda source, prefix: {**dict.fromkeys(range(4, 20), 0.0624), EOS: 0.001})
    for finish in ("refill", "shrink"):
        [found, _] = search(engine, [[4, 4], [4]], 3, beam=3, max_length_factor=2.0, max_length_extra=1, finish=finish)
        assert len(found) == 3
        for hypothesis in found:
            assert not hypothesis.finished
            assert len(hypothesis.tokens) == 5 + 1
            assert hypothesis.tokens[-1] == EOS
            forced = engine.force(*pad_sources(engine, [[4, 4]]), *pad([hypothesis.tokens]))
            assert hypothesis.log_probability == pytest.approx(forced.log_probabilities.sum(dtype=float), abs=1e-9)
            np.testing.assert_allclose(hypothesis.token_log_probabilities, forced.log_probabilities[0], atol=1e-6)
            assert hypothesis.attention.shape == (6, 3)


def test_nothing_is_closed_by_force_where_something_has_finished(toy_engine):
    script = {(BOS,): {A: 0.7, EOS: 0.3}}
    engine = toy_engine(6, answer=lambda source, prefix: script.get(prefix, {A: 0.5, B: 0.5}))
    [found] = search(engine, [[4]], 2, beam=2, max_length_factor=3, max_length_extra=0, normalisation="mean")
    assert [(hypothesis.tokens, hypothesis.finished) for hypothesis in found] == [([EOS], True)]


def test_a_vocabulary_without_words_gives_an_empty_translation(toy_engine):
    engine = toy_engine(4, answer=lambda source, prefix: {UNK: 0.9, EOS: 0.1})
    [[hypothesis]] = search(engine, [[UNK]], beam=2, block_unknown=True, min_length_factor=1.0)
    assert hypothesis.tokens == [EOS]
    assert not hypothesis.finished


def test_finished_sentences_leave_the_batch(toy_engine):
    # A source of n words is copied, so short sentences end first.
    engine = toy_engine(8, answer=lambda source, prefix: {source[len(prefix) - 1]: 1.0})
    found = search(engine, [[4], [5, 6, 7], [5, 6, 7, 4, 5]], beam=2, normalisation="none")
    assert [hypotheses[0].tokens for hypotheses in found] == [[4, EOS], [5, 6, 7, EOS], [5, 6, 7, 4, 5, EOS]]
    assert [rows for rows, _ in engine.steps] == [3, 6, 4, 4, 2, 2]


@pytest.mark.parametrize("normalisation", ["none", "mean", "gnmt"])
def test_improbable_hypotheses_that_end_early_do_not_end_the_search(toy_engine, normalisation):
    # At every step the sure model's second choice is to end, so K have finished long before the translation has.
    engine = toy_engine(
        8, answer=lambda source, prefix: {source[min(len(prefix), len(source)) - 1]: 1.0, EOS: 1e-12, A: 1e-20}
    )
    line = [5, 6, 7] * 6
    [[hypothesis]] = search(engine, [line], beam=3, normalisation=normalisation, finish="refill")
    assert hypothesis.tokens == [*line, EOS]


def test_search_without_normalisation_stops_when_no_live_hypothesis_can_win(toy_engine):
    engine = toy_engine(6, answer=lambda source, prefix: {EOS: 0.6, A: 0.3, B: 0.1})
    search(engine, [[4] * 10], beam=5, normalisation="none")
    assert len(engine.steps) == 1


def test_only_as_many_continuations_are_requested_as_can_matter(toy_engine):
    engine = toy_engine(50, 1)
    search(engine, [[4, 5, 6]], beam=3, block_unknown=True, max_length_extra=40)
    assert {k for _, k in engine.steps} == {3 + 1 + 3}
    small = toy_engine(6, 1)
    search(small, [[4, 5]], beam=5)
    assert {k for _, k in small.steps} == {6}


def test_ties_go_to_the_lower_row_and_then_to_the_lower_id_whatever_the_engine_does(toy_engine):
    class Backwards(toy_engine):
        """Reports equal log-probabilities with the highest id first."""

        def step(self, *arguments):
            step = super().step(*arguments)
            order = np.lexsort((-step.tokens, -step.log_probabilities), axis=1)
            return step._replace(
                log_probabilities=np.take_along_axis(step.log_probabilities, order, axis=1),
                tokens=np.take_along_axis(step.tokens, order, axis=1),
            )

    settings = {"beam": 4, "n_best": 4, "max_length_factor": 2.0, "max_length_extra": 0, "normalisation": "none"}
    flat = dict.fromkeys((EOS, A, B, C), 0.25)
    # After A, B and C everything is equally probable again: the four of row A come first, its EOS before its A.
    expected = [[EOS], [A, EOS], [A, A, EOS]]
    for kind in (toy_engine, Backwards):
        [found] = search(kind(7, answer=lambda source, prefix: flat), [[4]], **settings)
        assert [hypothesis.tokens for hypothesis in found] == expected


def test_a_model_without_attention_gives_hypotheses_without_attention(toy_engine):
    [[hypothesis]] = search(toy_engine(8, attends=False), [[4, 5]], beam=2)
    assert hypothesis.attention is None


def test_nan_stops_the_search(toy_engine):
    engine = toy_engine(6, answer=lambda source, prefix: {A: float("nan")})
    with pytest.raises(RunError, match="log-probabilities that are not numbers: its weights are damaged"):
        search(engine, [[4]], beam=2)


def test_an_empty_batch_has_no_translations(toy_engine):
    empty = np.zeros((0, 1), dtype=np.int64)
    assert beam_search(toy_engine(6), empty, np.zeros(0, dtype=np.int64), SearchConfig()) == []
