from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.search import phrase_constraints
from dragoman.search.beam import beam_search, step_engine
from dragoman.search.constraints import BatchConstraints, IdConstraints, append_tokens
from dragoman.search.phrase_constraints import PhraseConstraints
from dragoman.search.sampling import sample
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.segmentation.words import WordSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, EOS, UNK, Vocabulary
from dragoman.translation.source_encoding import pad_sources

A, B, C = 4, 5, 6

SUBWORDS = ["▁a", "b", "▁c", "."]
CHARACTERS = ["▁", "a", "b", "犬"]


def search(engine, lines, n_best=1, constraints=(), banned=(), boundaries=None, placeholders=(), **settings):
    config = SearchConfig(**settings)
    segments = np.array([len(line) for line in lines])
    rules = BatchConstraints.from_config(
        config, engine.vocabulary_size, segments, constraints, banned, boundaries, placeholders
    )
    return beam_search(engine, *pad_sources(engine, lines), config, n_best, rules)


def holds(words, sequence):
    return any(tuple(words[at : at + len(sequence)]) == tuple(sequence) for at in range(len(words) - len(sequence) + 1))


def boundaries_of(pieces):
    return TextSide(CharacterSegmentation(), Vocabulary(pieces)).word_boundaries


def holds_as_words(pieces, words, phrase):
    """Whether the pieces of words hold a phrase that no letter touches, but for letters of scripts without spaces."""
    text = [pieces[word - 4] for word in words]
    wanted = [pieces[word - 4] for word in phrase]

    def inside(at):
        if not 0 < at < len(text):
            return False
        return re.fullmatch(r"[^\W犬]{2}", text[at - 1][-1] + text[at][0]) or text[at][0] == "\u0301"

    return any(
        text[at : at + len(wanted)] == wanted and not inside(at + len(wanted)) and (wanted[0] == "犬" or not inside(at))
        for at in range(len(text) - len(wanted) + 1)
    )


def every_translation(engine, line, longest, symbols, allowed):
    """(log-probability, tokens) of every translation of up to `longest` words that is allowed, best first."""
    found = []
    for length in range(longest + 1):
        for words in itertools.product(symbols, repeat=length):
            if allowed(words):
                total = sum(
                    float(engine.distribution((*line, EOS), (BOS, *words[:end]))[0][token])
                    for end, token in enumerate((*words, EOS))
                )
                found.append((total, [*words, EOS]))
    return sorted(found, key=lambda item: -item[0])


# What is asked, and the same said about a finished translation.
CASES = {
    "banned words": ({"banned": [[A]]}, lambda words: A not in words),
    "banned sequences": (
        {"banned": [[A, B], [B, B, A]]},
        lambda words: not holds(words, (A, B)) and not holds(words, (B, B, A)),
    ),
    "no bigram twice": (
        {"no_repeat_ngram": 2},
        lambda words: len(set(itertools.pairwise(words))) == max(len(words) - 1, 0),
    ),
    "no word twice": ({"no_repeat_ngram": 1}, lambda words: len(set(words)) == len(words)),
    "a prefix": ({"constraints": [IdConstraints(prefix=[B, UNK])]}, lambda words: words[:2] == (B, UNK)),
    "a prefix that bans would forbid": (
        {"constraints": [IdConstraints(prefix=[A, A])], "banned": [[A]]},
        lambda words: words[:2] == (A, A) and A not in words[2:],
    ),
    "a word": ({"constraints": [IdConstraints(phrases=[[A]])]}, lambda words: A in words),
    "two words": ({"constraints": [IdConstraints(phrases=[[B], [A]])]}, lambda words: A in words and B in words),
    "a phrase": ({"constraints": [IdConstraints(phrases=[[A, A, B]])]}, lambda words: holds(words, (A, A, B))),
    "a prefix and a phrase": (
        {"constraints": [IdConstraints(prefix=[A], phrases=[[A, B]])]},
        lambda words: words[:1] == (A,) and holds(words, (A, B)),
    ),
    "a phrase without a sequence": (
        {"constraints": [IdConstraints(phrases=[[B, A]])], "banned": [[A, A]]},
        lambda words: holds(words, (B, A)) and not holds(words, (A, A)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wide_beam_finds_the_best_of_all_that_is_allowed(toy_engine, case):
    required, allowed = CASES[case]
    for seed in range(2):
        engine, line = toy_engine(6, seed, spread=1.0), [4, 5]
        expected = every_translation(engine, line, 4, (UNK, A, B), allowed)[:20]
        found = search(
            engine, [line], 20, beam=130, max_length_factor=2, max_length_extra=0, normalisation="none", **required
        )
        assert [hypothesis.tokens for hypothesis in found[0]] == [tokens for _, tokens in expected]
        scores = [score for score, _ in expected]
        np.testing.assert_allclose([hypothesis.log_probability for hypothesis in found[0]], scores, atol=1e-6)
        assert all(hypothesis.finished for hypothesis in found[0])


PHRASES = [
    (SUBWORDS, [[4]]),
    (SUBWORDS, [[4], [6]]),
    (SUBWORDS, [[4, 5]]),
    (SUBWORDS, [[4, 5], [4]]),
    (SUBWORDS, [[7]]),
    (CHARACTERS, [[5]]),
    (CHARACTERS, [[5], [6]]),
    (CHARACTERS, [[5, 6], [6]]),
    (CHARACTERS, [[7]]),
    (CHARACTERS, [[5, 7]]),
]


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize(("pieces", "phrases"), PHRASES)
def test_a_wide_beam_finds_the_best_of_all_that_have_the_phrases_as_words(toy_engine, pieces, phrases, finish):
    boundaries = boundaries_of(pieces)
    for seed in range(2):
        engine = toy_engine(8, seed, spread=1.0)
        expected = every_translation(
            engine,
            [4, 5],
            4,
            range(4, 8),
            lambda words: all(holds_as_words(pieces, words, phrase) for phrase in phrases),
        )[:20]
        [found] = search(
            engine,
            [[4, 5]],
            20,
            [IdConstraints(phrases=phrases)],
            boundaries=boundaries,
            beam=400,
            max_length_factor=2,
            max_length_extra=0,
            normalisation="none",
            block_unknown=True,
            finish=finish,
        )
        assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in expected]
        assert all(hypothesis.finished for hypothesis in found)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize(("pieces", "phrases"), PHRASES)
def test_narrow_beams_have_phrases_as_words_in_any_batch_and_little_room(toy_engine, pieces, phrases, beam):
    boundaries = boundaries_of(pieces)
    given = [IdConstraints(phrases=phrases), IdConstraints(), IdConstraints(prefix=[5, 5], phrases=phrases)]
    for seed in range(6):
        engine, lines = toy_engine(8, seed), [[4], [5, 6], [7]]
        settings = {"boundaries": boundaries, "beam": beam, "max_length_factor": 0, "max_length_extra": seed % 3}
        together = search(engine, lines, 1, given, block_unknown=True, **settings)
        for line, own, found in zip(lines, given, together, strict=True):
            [alone] = search(engine, [line], 1, [own], block_unknown=True, **settings)
            assert [one.tokens for one in found] == [one.tokens for one in alone]
            for one in found:
                assert all(holds_as_words(pieces, one.tokens[:-1], phrase) for phrase in own.phrases)


@pytest.mark.parametrize(("pieces", "phrases"), PHRASES)
def test_there_is_always_a_segment_that_lowers_the_number_of_the_missing_ones(pieces, phrases):
    required = PhraseConstraints(phrases, boundaries_of(pieces))
    for words in itertools.chain(*(itertools.product(range(4, 8), repeat=length) for length in range(6))):
        state = required.state(words)
        met, missing = required.progress(state)
        own, others = required.outcomes(state)
        assert (missing == 0) == (met == required.count) == (own[EOS].missing == 0)
        assert (missing == 0) == all(holds_as_words(pieces, words, phrase) for phrase in phrases)
        after = [required.progress(required.state([*words, word])) for word in range(4, 8)]
        kinds = phrase_constraints.kinds(boundaries_of(pieces), 8)[4:]
        assert after == [own.get(word, others[kind]) for word, kind in zip(range(4, 8), kinds, strict=True)]
        assert missing == 0 or min(each.missing for each in after) < missing


def test_a_phrase_may_stand_anywhere_where_segments_do_not_show_words():
    assert boundaries_of(["a", "b"]) is None
    assert TextSide(WordSegmentation("en"), Vocabulary(["▁", "a"])).word_boundaries is None


def test_a_better_word_does_not_hide_those_that_end_here(toy_engine):
    # After "▁a" the best three segments go on with the word; "." must be found behind them.
    pieces = ["▁a", "b", "c", "d", "."]
    answers = {(BOS,): {4: 1.0}, (BOS, 4): {5: 0.4, 6: 0.3, 7: 0.2, 8: 0.1}, (BOS, 4, 8): {EOS: 1.0}}
    engine = toy_engine(9, answer=lambda source, prefix: answers.get(prefix, {8: 0.5, EOS: 0.5}))
    given = [IdConstraints(phrases=[[4]])]
    [[best]] = search(engine, [[4]], 1, given, boundaries=boundaries_of(pieces), beam=2, normalisation="none")
    assert best.tokens == [4, 8, EOS]


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("beam", [1, 2, 4])
def test_narrow_beams_meet_every_constraint_in_any_batch(toy_engine, beam, finish):
    random = np.random.default_rng(beam)
    for seed in range(4):
        engine = toy_engine(12, seed)
        lines = [random.integers(4, 12, size=length).tolist() for length in (3, 1, 5, 2)]
        constraints = [
            IdConstraints(phrases=[[9, 9, 8], [7]]),
            IdConstraints(),
            IdConstraints(prefix=[4, 5], phrases=[[5, 6]]),
            IdConstraints(prefix=[11] * 5),  # longer than the longest length
        ]
        settings = {
            "banned": [[10], [4, 4]],
            "no_repeat_ngram": 2,
            "finish": finish,
            "beam": beam,
            "max_length_extra": 1,
        }
        together = search(engine, lines, beam, constraints, max_length_factor=1.0, **settings)
        for line, constraint, found in zip(lines, constraints, together, strict=True):
            [alone] = search(engine, [line], beam, [constraint], max_length_factor=1.0, **settings)
            assert [(h.tokens, h.score) for h in alone] == [(h.tokens, h.score) for h in found]
            for hypothesis in found:
                words = tuple(hypothesis.tokens[:-1])
                assert words[: len(constraint.prefix)] == tuple(constraint.prefix)
                assert all(holds(words, phrase) for phrase in constraint.phrases)
                free = words[len(constraint.prefix) :]
                assert 10 not in free
                assert not holds(free, (4, 4))
                if not constraint.prefix:
                    assert len(set(itertools.pairwise(words))) == max(len(words) - 1, 0)


def test_a_required_word_of_probability_zero_is_produced(toy_engine):
    engine = toy_engine(8, answer=lambda source, prefix: {source[min(len(prefix), len(source)) - 1]: 1.0})
    [[hypothesis]] = search(engine, [[5, 6]], beam=2, constraints=[IdConstraints(phrases=[[A, C]])])
    assert holds(hypothesis.tokens, (A, C))
    assert hypothesis.finished


def test_phrases_may_overlap(toy_engine):
    engine = toy_engine(6, answer=lambda source, prefix: {EOS: 0.4, A: 0.3, B: 0.3})
    [[hypothesis]] = search(
        engine, [[4]], beam=3, constraints=[IdConstraints(phrases=[[A, B], [B, A]])], normalisation="none"
    )
    assert hypothesis.tokens == [A, B, A, EOS]


def test_a_phrase_is_never_blocked_as_a_repetition(toy_engine):
    engine = toy_engine(6, 3)
    constraints = [IdConstraints(phrases=[[A, B, A, B]])]
    [[hypothesis]] = search(engine, [[4]], beam=3, constraints=constraints, no_repeat_ngram=2, max_length_extra=4)
    assert holds(hypothesis.tokens, (A, B, A, B))


def test_without_phrases_no_more_continuations_are_requested_than_can_matter(toy_engine):
    engine = toy_engine(50, 1)
    search(engine, [[4, 5, 6]], beam=3, banned=[[7], [8]], max_length_extra=40)
    assert {k for _, k in engine.steps} == {3 + 4 + 1}
    engine = toy_engine(50, answer=lambda source, prefix: {A: 0.6, B: 0.4})
    search(engine, [[4, 5, 6]], beam=3, no_repeat_ngram=1)
    assert [k for _, k in engine.steps][:3] == [3 + 3, 3 + 3 + 1, 3 + 3 + 2]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_step_with_phrases_or_a_prefix_lacks_only_what_cannot_matter(toy_engine, length):
    size, wanted = 60, 3
    constraints = [
        IdConstraints(phrases=[[A, 40], [41]]),
        IdConstraints(prefix=[B, 50, 7]),
        IdConstraints(prefix=[C], phrases=[[C, A]]),
        IdConstraints(),
    ]
    config = SearchConfig(no_repeat_ngram=1, max_length_extra=30)
    rules = BatchConstraints.from_config(config, size, np.full(4, 2), constraints, [[30], [31]])
    words = np.array([[A, 9], [B, 50], [C, A], [8, 9]])
    sentences = np.arange(4)

    def advanced(step):
        engine = toy_engine(size, 11)
        state, tokens = engine.start(*pad_sources(engine, [[4, 5]] * 4)), np.full(4, BOS)
        for column in range(length):
            state, tokens = engine.step(state, sentences, tokens, 1).state, words[:, column]
        now = rules.at_step(sentences, length, words[:, :length])
        return now.permitted(step(now, engine, state, sentences, tokens))

    some = advanced(lambda now, engine, *arguments: step_engine(engine, *arguments, now, wanted))
    every = advanced(lambda now, engine, *arguments: engine.step(*arguments, size))
    for sentence, own in enumerate([{A, 40, 41, EOS}, {(B, 50, 7)[length], EOS}, {C, A, EOS}, {EOS}]):
        found, full = (
            {
                token: (value, met)
                for token, value, met in zip(
                    one.tokens[sentence].tolist(),
                    one.log_probabilities[sentence],
                    one.constraints_met[sentence],
                    strict=True,
                )
                if value > -np.inf
            }
            for one in (some, every)
        )
        others = sorted(full.keys() - own, key=lambda token: -full[token][0])[:wanted]
        assert found == {token: full[token] for token in full if token in own or token in others}
        permitted = some.log_probabilities[sentence] > -np.inf
        assert permitted.sum() == len(found)  # none twice
        assert (np.diff(some.log_probabilities[sentence][permitted]) <= 0).all()


def test_samples_meet_the_constraints(toy_engine):
    engine, lines = toy_engine(8, 2), [[4, 5, 6], [7]]
    config = SearchConfig(no_repeat_ngram=2)
    constraints = [IdConstraints(prefix=[B, B]), IdConstraints()]
    rules = BatchConstraints.from_config(config, 8, np.array([3, 1]), constraints, [[A]])
    for sampling in (Sampling(), Sampling(top_k=2)):
        drawn = sample(engine, *pad_sources(engine, lines), config, sampling, np.arange(2), 20, rules)
        assert all(hypothesis.tokens[:2] == [B, B] for hypothesis in drawn[0])
        for hypothesis in itertools.chain(*drawn):
            words = hypothesis.tokens[:-1]
            assert A not in words
            assert len(set(itertools.pairwise(words))) == max(len(words) - 1, 0)
    assert len({tuple(hypothesis.tokens) for hypothesis in drawn[0]}) > 1


@pytest.mark.parametrize(
    ("phrases", "words", "met"),
    [
        ([[A]], [B, A], 1),
        ([[A, B, C]], [A, B], 2),
        ([[A, B, C]], [A, B, B], 0),
        ([[A, A, B]], [A, A, A], 2),  # the last two may still begin it
        ([[A, A, B]], [A, A, A, B], 3),
        ([[A, B], [A, C]], [A], 1),  # both are begun, but only one can go on
        ([[A, B], [B, C]], [A, B], 3),
        ([[A], [A]], [A], 1),
    ],
)
def test_the_number_of_ids_met_follows_from_the_words(phrases, words, met):
    required = PhraseConstraints(phrases)
    assert required.progress(required.state(words)).met == met


def test_states_do_not_depend_on_what_was_asked_before_and_earlier_ones_are_forgotten():
    words = np.random.default_rng(3).integers(4, 6, size=2000).tolist()
    step_by_step = PhraseConstraints([[A, B, A], [B, B, B, B, B, A]])
    for length in [*range(300), 2000, 7, 0]:  # a jump, and back
        fresh = PhraseConstraints([[A, B, A], [B, B, B, B, B, A]])
        assert step_by_step.state(words[:length]) == fresh.state(words[:length])
    assert len(step_by_step._states) < 5


def test_a_state_is_the_longest_prefix_that_ends_the_words():
    random = np.random.default_rng(7)
    for _ in range(200):
        phrase = random.integers(4, 6, size=random.integers(1, 6)).tolist()
        words = random.integers(4, 6, size=8).tolist()
        [state] = PhraseConstraints([phrase]).state(words)
        if holds(words, phrase):
            assert state == len(phrase) + 1
        else:
            assert state == max(n for n in range(len(phrase)) if words[len(words) - n :] == phrase[:n])


def test_better_siblings_cost_a_candidate_its_place(toy_engine):
    script = {
        (BOS,): {A: 0.5, B: 0.4, C: 0.1},
        (BOS, A): {A: 0.4, B: 0.35, C: 0.25},
        (BOS, B): {A: 0.3, B: 0.25, C: 0.25, EOS: 0.2},
    }
    engine = toy_engine(7, answer=lambda source, prefix: script.get(prefix, {EOS: 1.0}))
    settings = {"beam": 2, "n_best": 2, "normalisation": "none"}
    # By probability 0.5 * 0.4 and 0.5 * 0.35 go on; with a penalty 0.4 * 0.3, the best of the other parent.
    [found] = search(engine, [[4]], **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[A, A, EOS], [A, B, EOS]]
    [found] = search(engine, [[4]], diversity=0.5, **settings)
    assert [hypothesis.tokens for hypothesis in found] == [[A, A, EOS], [B, A, EOS]]
    assert found[1].log_probability == pytest.approx(np.log(0.4 * 0.3), abs=1e-6)


@pytest.mark.parametrize("penalty", [0.0, 0.7, 5.0])
def test_diverse_search_is_a_plain_search_with_penalised_pruning(toy_engine, penalty):
    def plain(engine, line, beam, longest):
        live, finished = [((), 0.0)], []
        for _ in range(longest + 1):
            candidates = []
            for words, total in live:
                answer = engine.distribution((*line, EOS), (BOS, *words))[0].astype(float)
                ranked = sorted(
                    (index for index in range(len(answer)) if index not in (0, BOS)), key=lambda i: -answer[i]
                )
                candidates += [
                    (total + answer[index] - penalty * rank, total + answer[index], (*words, index))
                    for rank, index in enumerate(ranked)
                ]
            candidates.sort(key=lambda item: -item[0])
            finished += [(total, [*words]) for _, total, words in candidates[:beam] if words[-1] == EOS]
            live = [(words, total) for _, total, words in candidates if words[-1] != EOS][:beam]
        return sorted(finished, key=lambda item: -item[0])

    for seed in range(5):
        engine = toy_engine(9, seed)
        for line in ([4, 5], [6]):
            expected = plain(engine, line, 3, len(line) + 2)[:1]
            [found] = search(
                engine, [line], beam=3, max_length_factor=1, normalisation="none", diversity=penalty, max_length_extra=2
            )
            if expected:
                assert [hypothesis.tokens for hypothesis in found] == [expected[0][1]]


@pytest.mark.parametrize(
    ("settings", "constraints", "banned"),
    [({"no_repeat_ngram": 2}, (), ()), ({}, [IdConstraints(phrases=[[A]])], ()), ({}, (), [[A, B]])],
)
def test_segments_are_kept_only_where_a_constraint_needs_them(settings, constraints, banned):
    segments = np.array([3])
    plain = BatchConstraints.from_config(SearchConfig(), 8, segments, [IdConstraints(prefix=[A])], [[B]])
    needing = BatchConstraints.from_config(SearchConfig(**settings), 8, segments, constraints, banned)
    rows = np.array([0, 0])
    assert plain.first_words(2) is None
    assert append_tokens(None, rows, rows) is None
    words = append_tokens(needing.first_words(1), rows, np.array([A, B]))
    assert append_tokens(words, np.array([1]), np.array([C])).tolist() == [[B, C]]


PLACEHOLDERS = (4, 5, 6)


@pytest.mark.parametrize("settings", [{}, {"no_repeat_ngram": 2}, {"max_length_factor": 0.1, "max_length_extra": 0}])
@pytest.mark.parametrize("phrases", [[], [[8, 9]]])
def test_each_placeholder_of_the_source_appears_once_and_no_other(toy_engine, settings, phrases):
    for seed in range(20):
        engine = toy_engine(10, seed=seed)
        wanted = [seed % 4, 0, 3]
        given = [IdConstraints((), phrases, count, all_placeholders=True) for count in wanted]
        lines = [[7, 8, 9], [8], [9] * 5]
        found = search(
            engine, lines, 3, given, placeholders=PLACEHOLDERS, **{"beam": 4, "max_length_extra": 3, **settings}
        )
        for hypotheses, count in zip(found, wanted, strict=True):
            for one in hypotheses:
                assert sorted(token for token in one.tokens if token in PLACEHOLDERS) == list(PLACEHOLDERS[:count])
                assert not phrases or holds(one.tokens, phrases[0])


def test_a_line_with_placeholders_is_translated_alone_as_in_a_batch(toy_engine):
    engine = toy_engine(10, seed=3)
    lines, given = (
        [[7, 8], [8, 9, 7, 7], [9]],
        [
            IdConstraints(placeholders=count, all_placeholders=required)
            for count, required in ((2, True), (0, False), (1, True))
        ],
    )
    together = search(engine, lines, 2, given, placeholders=PLACEHOLDERS, beam=3)
    for line, constraints, found in zip(lines, given, together, strict=True):
        [alone] = search(engine, [line], 2, [constraints], placeholders=PLACEHOLDERS, beam=3)
        assert [one.tokens for one in alone] == [one.tokens for one in found]


def test_placeholders_may_be_left_out_unless_they_are_required(toy_engine):
    def without(source, prefix):
        return {7: 0.98, 4: 0.01} if len(prefix) < 4 else {EOS: 1.0}

    engine, lines = toy_engine(10, answer=without), [[7, 8], [7, 8]]
    given = [IdConstraints(placeholders=1), IdConstraints(placeholders=1, all_placeholders=True)]
    [free], [required] = search(engine, lines, 1, given, placeholders=PLACEHOLDERS, beam=1)
    assert free.tokens == [7, 7, 7, EOS]
    assert required.tokens == [7, 7, 4, EOS]  # as long as the other, and not written on until a placeholder fits
    [[first, second]] = search(engine, lines[:1], 2, given[:1], placeholders=PLACEHOLDERS, beam=2)
    assert (first.tokens, second.tokens) == (required.tokens, free.tokens)  # with the placeholder first
    assert first.score < second.score


def test_placeholders_change_nothing_where_the_model_writes_them_anyway(toy_engine):
    def copy(source, prefix):
        return {source[min(len(prefix), len(source)) - 1]: 1.0}

    found = search(
        toy_engine(10, answer=copy), [[7, 5, 8, 4]], 1, [IdConstraints(placeholders=2)], placeholders=(4, 5, 6)
    )
    assert found[0][0].tokens == [7, 5, 8, 4, EOS]


def test_a_forced_prefix_counts_as_well(toy_engine):
    given = [IdConstraints([7, 5], (), 2, all_placeholders=True)]
    found = search(toy_engine(10, seed=5), [[7, 8]], 2, given, placeholders=PLACEHOLDERS, beam=3)
    for one in found[0]:
        assert one.tokens[:2] == [7, 5]
        assert sorted(token for token in one.tokens if token in PLACEHOLDERS) == [4, 5]


def test_samples_have_each_placeholder_once(toy_engine):
    engine, lines = toy_engine(10, seed=2), [[7, 8, 9], [8]]
    config = SearchConfig(max_length_extra=2)
    rules = BatchConstraints.from_config(
        config,
        10,
        np.array([3, 1]),
        [IdConstraints((), (), 3, all_placeholders=True), IdConstraints()],
        (),
        None,
        PLACEHOLDERS,
    )
    for number in range(10):
        found = sample(engine, *pad_sources(engine, lines), config, Sampling(seed=number), np.arange(2), 3, rules)
        for hypotheses, count in zip(found, (3, 0), strict=True):
            for one in hypotheses:
                assert sorted(token for token in one.tokens if token in PLACEHOLDERS) == list(PLACEHOLDERS[:count])
