"""The shortlist, and the ONNX engine with one."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.config.schema import Combination, SearchConfig
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.protocol import ShortlistEngine
from dragoman.engines.shortlist import OutputColumns, Shortlist
from dragoman.errors import RunError
from dragoman.export.output_layer import EnsembleCombination
from dragoman.export.shortlist import shortlist_of
from dragoman.export.writing import make_graphs
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from tests.compositions import COMPOSITIONS, VOCABULARY, model_config, small_model

SOURCES = [[4, 9, 12, 5], [6], [11, 10, 9, 8, 7, 6, 5], [13, 13], [5, 9, 9]]
ALWAYS = [0, 1, 2, 3, 7]


def _listed_by(word: int) -> list[int]:
    return [(word + 3) % VOCABULARY] if word % 4 else []


def _shortlist(*models: TranslationModel, int8: bool = False) -> Shortlist:
    lists = [_listed_by(word) for word in range(VOCABULARY)]
    offsets = np.cumsum([0, *map(len, lists)])
    words = np.array([word for one in lists for word in one])
    return shortlist_of(models, np.array(ALWAYS), offsets, words, int8=int8)


@pytest.fixture(params=[False, True], ids=["float32", "int8"])
def engine(request: pytest.FixtureRequest) -> OnnxEngine:
    model = small_model("rnnsearch").float()
    graphs = make_graphs([model], int8=request.param, always=np.array(ALWAYS))
    return OnnxEngine(*graphs, _shortlist(model, int8=request.param), threads=1)


def _words_of(source: list[int], *, eos: bool) -> set[int]:
    return set(ALWAYS).union(*(_listed_by(word) for word in [*source, *([3] if eos else [])]))


def test_a_batch_has_the_words_of_all_its_sentences_and_allows_each_its_own() -> None:
    model = small_model("rnnsearch").float()
    shortlist = _shortlist(model).for_batch(*pad(SOURCES, eos=False))
    in_graph, handed_in = np.split(shortlist.words, 2)
    assert [len(in_graph), len(handed_in)] == [32, 32]
    assert [*in_graph[: len(ALWAYS)]] == ALWAYS
    others = handed_in[: shortlist.real - len(ALWAYS)]
    assert {*ALWAYS, *others} == set().union(*(_words_of(source, eos=False) for source in SOURCES))
    assert len({*ALWAYS, *others}) == shortlist.real
    (bias,) = shortlist.biases.values()
    for row, source in zip(bias, SOURCES, strict=True):
        assert {*ALWAYS, *handed_in[row > -np.inf]} == _words_of(source, eos=False)
    weight = shortlist.layers["limit.weight"]
    np.testing.assert_array_equal(weight[:, : len(others)], model.output.weight.detach().numpy().T[:, others])


def test_what_was_written_is_read_again() -> None:
    shortlist = _shortlist(small_model("rnnsearch").float(), int8=True)
    ours, theirs = (
        one.for_batch(*pad(SOURCES, eos=True)) for one in (shortlist, Shortlist.from_bytes(shortlist.to_bytes()))
    )
    for name in ("limit.weight", "limit.scale"):
        np.testing.assert_array_equal(ours.layers[name], theirs.layers[name])
        assert ours.layers[name].dtype == theirs.layers[name].dtype
    np.testing.assert_array_equal(ours.words, theirs.words)
    np.testing.assert_array_equal(ours.biases["limit.bias"], theirs.biases["limit.bias"])


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PK\x05\x06" + bytes(18)])
def test_a_damaged_shortlist_is_an_error(content: bytes) -> None:
    with pytest.raises(RunError, match=r"the shortlist cannot be used: .*; export the run again"):
        Shortlist.from_bytes(content)


def test_log_probabilities_are_normalised_over_the_shortlist(engine: OnnxEngine) -> None:
    assert isinstance(engine, ShortlistEngine)
    source = pad(SOURCES, eos=engine.source_eos)
    rows, tokens = np.arange(len(SOURCES)), np.full(len(SOURCES), 2)
    few = engine.step(engine.start(*source), rows, tokens, VOCABULARY)
    whole = engine.full_vocabulary()
    all_words = whole.step(whole.start(*source), rows, tokens, VOCABULARY)
    assert (few.log_probabilities.shape, few.tokens.shape) == (
        all_words.log_probabilities.shape,
        all_words.tokens.shape,
    )
    for row, words in enumerate(_words_of(source, eos=engine.source_eos) for source in SOURCES):
        expected = dict(zip(all_words.tokens[row].tolist(), all_words.log_probabilities[row].tolist(), strict=True))
        mass = np.log(sum(np.exp(expected[word]) for word in words))
        for word, found in zip(few.tokens[row].tolist(), few.log_probabilities[row].tolist(), strict=True):
            if found > -np.inf:
                assert word in words
                assert found == pytest.approx(expected[word] - mass, abs=1e-5)
        assert (few.log_probabilities[row] > -np.inf).sum() == len(words)


@pytest.mark.parametrize("limited", [True, False])
def test_a_distribution_is_over_the_vocabulary_and_minus_infinity_off_the_shortlist(
    engine: OnnxEngine, limited: bool
) -> None:
    chosen = engine if limited else engine.full_vocabulary()
    source = pad(SOURCES, eos=engine.source_eos)
    sorted_state, state = chosen.start(*source), chosen.start(*source)
    for parents, tokens in (([0, 1, 2, 3, 4], [2] * 5), ([1, 1, 4], [7, 7, 0])):
        expected = chosen.step(sorted_state, np.array(parents), np.array(tokens), VOCABULARY)
        found = chosen.step_all(state, np.array(parents), np.array(tokens))
        assert found.log_probabilities.shape == (len(parents), VOCABULARY)
        assert (found.log_probabilities > -np.inf).all() != limited
        for row, (values, words) in enumerate(zip(expected.log_probabilities, expected.tokens, strict=True)):
            listed = values > -np.inf
            np.testing.assert_allclose(found.log_probabilities[row, words[listed]], values[listed], atol=1e-5)
            assert (found.log_probabilities[row] > -np.inf).sum() == listed.sum()
        sorted_state, state = expected.state, found.state


def test_a_sentence_is_translated_alone_as_in_any_batch(engine: OnnxEngine) -> None:
    search = SearchConfig(beam=4, max_length_extra=5)
    together = beam_search(engine, *pad(SOURCES, eos=engine.source_eos), search, n_best=3)
    for source, n_best in zip(SOURCES, together, strict=True):
        (alone,) = beam_search(engine, *pad([source], eos=engine.source_eos), search, n_best=3)
        assert [hypothesis.tokens for hypothesis in n_best] == [hypothesis.tokens for hypothesis in alone]
        assert {word for hypothesis in n_best for word in hypothesis.tokens} <= _words_of(source, eos=engine.source_eos)
        for one, other in zip(n_best, alone, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def test_given_targets_are_scored_over_the_whole_vocabulary() -> None:
    model = small_model("rnnsearch").float()
    limited = OnnxEngine(*make_graphs([model], always=np.array(ALWAYS)), _shortlist(model), threads=1)
    plain = OnnxEngine(*make_graphs([model]), threads=1)
    source, target = pad(SOURCES, eos=plain.source_eos), pad([[15], [16, 4], [], [14, 13], [4] * 9], eos=True)
    found, expected = (engine.force(*source, *target).log_probabilities for engine in (limited, plain))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("int8", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("step", [1, 3, 30], ids=["all", "two chunks", "one chunk"])
def test_the_full_vocabulary_gives_the_same_in_any_division(step: int, int8: bool) -> None:
    """Into words that are always listed, which lie in the graph, and those that are handed in."""
    size = 100
    model = build(model_config(COMPOSITIONS["rnnsearch"]), VOCABULARY, size).eval()
    always = np.union1d(np.arange(4), np.arange(0, size, step))
    nothing = np.zeros(VOCABULARY + 1, np.int64), np.empty(0, np.int64)
    shortlist = shortlist_of([model], always, *nothing, int8=int8)
    divided = OnnxEngine(*make_graphs([model], int8=int8, always=always), shortlist, threads=1)
    plain = OnnxEngine(*make_graphs([model], int8=int8), threads=1)
    source = pad(SOURCES, eos=plain.source_eos)
    target = pad([[99], [98, 4], [], [14, 33], [5, 6, 7, 8, 60]], eos=True)
    rows, tokens = np.arange(len(SOURCES)), np.full(len(SOURCES), 2)
    found, expected = (one.step(one.start(*source), rows, tokens, size) for one in (divided.full_vocabulary(), plain))
    np.testing.assert_allclose(found.log_probabilities, expected.log_probabilities, atol=1e-6)
    np.testing.assert_array_equal(found.tokens, expected.tokens)
    found_scores, scores = (one.force(*source, *target).log_probabilities for one in (divided, plain))
    np.testing.assert_allclose(found_scores, scores, atol=1e-6)
    few = divided.step(divided.start(*source), rows, tokens, size)
    for words, values in zip(few.tokens, few.log_probabilities, strict=True):
        assert set(words[values > -np.inf].tolist()) == set(always.tolist())


@pytest.mark.parametrize("combination", ["probabilities", "log-probabilities", "logits"])
def test_an_ensemble_has_one_shortlist(combination: Combination) -> None:
    models = [small_model(name).float() for name in ("rnnsearch", "luong")]
    ensemble = EnsembleCombination(combination, [0.6, 0.4])
    engine = OnnxEngine(*make_graphs(models, ensemble, always=np.array(ALWAYS)), _shortlist(*models), threads=1)
    plain = OnnxEngine(*make_graphs(models, ensemble), threads=1)
    source = pad(SOURCES, eos=engine.source_eos)
    rows, tokens = np.arange(len(SOURCES)), np.full(len(SOURCES), 2)
    few, whole, expected = (
        one.step(one.start(*source), rows, tokens, VOCABULARY) for one in (engine, engine.full_vocabulary(), plain)
    )
    np.testing.assert_allclose(whole.log_probabilities, expected.log_probabilities, atol=1e-5)
    assert not np.isnan(few.log_probabilities).any()
    for row, source_words in enumerate(SOURCES):
        open_words = few.tokens[row][few.log_probabilities[row] > -np.inf]
        assert set(open_words.tolist()) == _words_of(source_words, eos=engine.source_eos)
    if combination != "log-probabilities":  # which are not normalised
        np.testing.assert_allclose(np.exp(few.log_probabilities).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("fault", ["none given", "not asked for", "of another model"])
def test_a_shortlist_of_another_model_is_an_error(fault: str) -> None:
    model = small_model("rnnsearch").float()
    graphs = make_graphs([model], always=None if fault == "not asked for" else np.array(ALWAYS))
    layer = OutputColumns(np.zeros((5, 9), np.float32), None, np.zeros(9, np.float32))
    other = Shortlist(np.arange(4), np.zeros(8, np.int64), np.empty(0, np.int64), [layer])
    given = {"none given": None, "not asked for": _shortlist(model), "of another model": other}[fault]
    with pytest.raises(RunError, match="the exported model and its shortlist do not belong together; export the run"):
        OnnxEngine(*graphs, given, threads=1)
