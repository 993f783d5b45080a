from __future__ import annotations

import numpy as np
import pytest

from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, EOS, Vocabulary
from dragoman.translation.ensemble import Ensemble, require_same_segmentation, require_same_target
from dragoman.translation.translator import Translator

LETTERS = TextSide(CharacterSegmentation(), Vocabulary([*"▁abcd"]))
WORDS = TextSide(WhitespaceSegmentation(), Vocabulary(["ab", "c", "d", "aa", "b"]))
TARGET = TextSide(WhitespaceSegmentation(), Vocabulary(["x", "y", "z", "w"]))
SIZE = len(TARGET.vocabulary)
LINES = ["ab c", "d", "aa b d", "zz ab"]
WEIGHTS = [1.0, 2.0]


def members(toy_engine, **second):
    return [(toy_engine(SIZE, 1), LETTERS), (toy_engine(SIZE, 2, **{"source_eos": False, **second}), WORDS)]


def read(ensemble, lines=LINES):
    return ensemble.batch([ensemble.encode(line, "line") for line in lines])


def distributions(pairs, line, prefix):
    """What each member says after `prefix`, asked on its own."""
    found = []
    for engine, side in pairs:
        source = (*side.encode(line).ids, EOS) if engine.source_eos else tuple(side.encode(line).ids)
        found.append(engine.distribution(source, (BOS, *prefix))[0].astype(float))
    return found


FORMULAS = {
    "probabilities": lambda one, two: np.log((np.exp(one) + 2 * np.exp(two)) / 3),
    "log-probabilities": lambda one, two: (one + 2 * two) / 3,
    "logits": lambda one, two: (one + 2 * two) / 3 - np.log(np.exp((one + 2 * two) / 3).sum()),
}


@pytest.mark.parametrize("combination", FORMULAS)
def test_each_step_combines_the_members_by_the_formula(toy_engine, combination):
    pairs = members(toy_engine)
    ensemble = Ensemble(pairs, combination, WEIGHTS)
    batch = read(ensemble)
    found = beam_search(*batch[:3], SearchConfig(beam=4), 4)
    for line, hypotheses in zip(LINES, found, strict=True):
        for hypothesis in hypotheses:
            total = 0.0
            for place, token in enumerate(hypothesis.tokens):
                total += FORMULAS[combination](*distributions(pairs, line, hypothesis.tokens[:place]))[token]
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("combination", FORMULAS)
def test_whole_distributions_are_those_that_steps_sort(toy_engine, combination):
    found = []
    for name, arguments in (("step", [SIZE]), ("step_all", [])):
        engine, source, lengths, _ = read(Ensemble(members(toy_engine), combination, WEIGHTS))
        rows = np.arange(len(LINES))
        found.append(getattr(engine, name)(engine.start(source, lengths), rows, np.full(len(LINES), BOS), *arguments))
    by_step, whole = found
    np.testing.assert_array_equal(
        by_step.log_probabilities, np.take_along_axis(whole.log_probabilities, by_step.tokens, axis=1)
    )
    np.testing.assert_array_equal(by_step.attention, whole.attention)


def test_averaging_logits_then_softmax_is_normalised_averaging_of_log_probabilities():
    random = np.random.default_rng(1)
    logits = random.normal(size=(2, 30)) * 3

    def log_softmax(values):
        return values - np.log(np.exp(values).sum(axis=-1, keepdims=True))

    np.testing.assert_allclose(log_softmax(logits.mean(axis=0)), log_softmax(log_softmax(logits).mean(axis=0)))


@pytest.mark.parametrize("combination", FORMULAS)
def test_search_and_forced_decoding_agree(toy_engine, combination):
    ensemble = Ensemble(members(toy_engine), combination)
    engine, source, lengths, _ = read(ensemble)
    found = [hypotheses[0] for hypotheses in beam_search(engine, source, lengths, SearchConfig(beam=3))]
    forced = engine.force(source, lengths, *pad([hypothesis.tokens for hypothesis in found]))
    for row, hypothesis in enumerate(found):
        assert hypothesis.log_probability == pytest.approx(forced.log_probabilities[row].sum(dtype=float), abs=1e-5)
        steps, words = hypothesis.attention.shape
        np.testing.assert_allclose(hypothesis.attention, forced.attention[row, :steps, :words], atol=1e-6)


def test_the_same_model_twice_is_that_model(toy_engine):
    lines, settings = LINES[:3], SearchConfig(beam=3)
    alone = Translator(toy_engine(SIZE, 5), LETTERS, TARGET, settings).translate_lines(lines, 3)
    for combination in FORMULAS:
        pairs = [(toy_engine(SIZE, 5), LETTERS), (toy_engine(SIZE, 5), LETTERS)]
        twice = Translator.of_ensemble(Ensemble(pairs, combination, [1, 3]), TARGET, settings).translate_lines(lines, 3)
        for one, two in zip(alone, twice, strict=False):
            assert [(t.text, t.alignment) for t in one] == [(t.text, t.alignment) for t in two]
            np.testing.assert_allclose([t.score for t in one], [t.score for t in two], atol=1e-5)


def test_members_read_their_own_segments_in_any_batch(toy_engine):
    translator = Translator.of_ensemble(Ensemble(members(toy_engine), "logits"), TARGET, SearchConfig(beam=3))
    together = [best for [best] in translator.translate_lines([*LINES, "", "ab c"])]
    assert together[4].text == ""
    assert together[0].text == together[5].text
    for line, best in zip(LINES, together, strict=False):
        alone = translator.translate(line)
        assert (alone.text, alone.alignment) == (best.text, best.alignment)
        assert best.source_tokens == line.split()
        assert best.attention.shape == (len(best.tokens) + 1, len(line.split()))


@pytest.mark.parametrize("shifts", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_alignment_is_the_weighted_sum_over_members_of_each_ones_own_words(toy_engine, shifts):
    class Looking(toy_engine):
        """Attends to one segment at a time, in order; `side` says which segments a word has."""

        def distribution(self, source, prefix):
            segment = max(0, len(prefix) - 1 - self.attention_shift)
            attention = np.zeros(len(source), dtype=np.float32)
            attention[min(self.order[segment % len(self.order)], len(source) - 1)] = 1.0
            return super().distribution(source, prefix)[0], attention

    # "ab c d": the first member looks at letters b, c, d (words 0, 1, 2), the second at words 2, 1, 0.
    write = {(BOS,): {4: 1.0}, (BOS, 4): {5: 1.0}, (BOS, 4, 5): {6: 1.0}}
    engines = [Looking(SIZE, answer=lambda s, p: write.get(p, {EOS: 1.0}), attention_shift=shift) for shift in shifts]
    engines[0].order, engines[1].order = [1, 3, 5], [2, 1, 0]
    pairs = [(engines[0], LETTERS), (engines[1], WORDS)]
    for weights, expected in (([3, 2], [(0, 0), (1, 1), (2, 2)]), ([2, 3], [(0, 2), (1, 1), (2, 0)])):
        best = Translator.of_ensemble(Ensemble(pairs, weights=weights), TARGET, SearchConfig()).translate("ab c d")
        assert best.text == "x y z"
        assert best.alignment == expected


def test_a_member_without_attention_does_not_count_in_alignment(toy_engine):
    best = Translator.of_ensemble(Ensemble(members(toy_engine, attends=False)), TARGET, SearchConfig()).translate(
        "ab c"
    )
    assert best.attention.shape[1] == 2
    pairs = [(toy_engine(SIZE, 1, attends=False), LETTERS), (toy_engine(SIZE, 2, attends=False), WORDS)]
    best = Translator.of_ensemble(Ensemble(pairs), TARGET, SearchConfig()).translate("ab c")
    assert (best.attention, best.alignment) == (None, [])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "1 weights for 2 models; give one for each, in their order"),
        ([1.0, 0.0], "weights 1, 0: each must be above 0"),
        ([1.0, float("nan")], "weights 1, nan: each must be above 0"),
    ],
)
def test_weights_must_be_one_a_member_and_above_0(toy_engine, weights, message):
    with pytest.raises(ConfigError, match=message):
        Ensemble(members(toy_engine), weights=weights)


def test_target_vocabularies_must_be_the_same():
    one, two, three = Vocabulary(["x", "y"]), Vocabulary(["x", "z", "y"]), Vocabulary(["x", "y", "z"])
    require_same_target(["A", "B"], [one, Vocabulary(["x", "y"])])
    with pytest.raises(ConfigError) as error:
        require_same_target(["A", "B"], [one, two])
    assert "A and B cannot form an ensemble: their target vocabularies differ" in str(error.value)
    assert "(6 and 7 entries; entry 5 is 'y' in the first and 'z' in the second)" in str(error.value)
    with pytest.raises(ConfigError, match="6 and 7 entries; the longer one continues after that"):
        require_same_target(["A", "B", "C"], [one, one, three])


def test_given_translations_must_be_segmented_alike():
    vocabulary = Vocabulary(["x", "y"])
    spaces, letters = TextSide(WhitespaceSegmentation(), vocabulary), TextSide(CharacterSegmentation(), vocabulary)
    require_same_segmentation(["A", "B"], [spaces, TextSide(WhitespaceSegmentation(), vocabulary)])
    with pytest.raises(ConfigError) as error:
        require_same_segmentation(["A", "B", "C"], [spaces, spaces, letters])
    assert str(error.value) == (
        "A and C cannot score given translations together: they segment the target differently "
        "(whitespace and character); train one with the text files of the other"
    )
