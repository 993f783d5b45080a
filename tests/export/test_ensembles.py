"""Several models in one graph, against the ensemble of their engines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.schema import Config, SearchConfig
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.export.output_layer import EnsembleCombination
from dragoman.export.writing import make_graphs
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from dragoman.text.segmentation.characters import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, SPECIALS, Vocabulary
from dragoman.translation.ensemble import Ensemble

VOCABULARY = 41
LINES = ["w9 w20 w33", "w5", "w8 w8 w30 w31 w12 w40 w7", "w6 w11"]

MEMBERS = {
    "looks first": ["decoder.order=look-then-update", "attention.score=additive"],
    "looks late, fed, covered": [
        *("decoder.order=update-then-look", "decoder.input_feeding=true", "attention.score=additive"),
        *("attention.coverage=true", "readout.kind=attentional", "encoder.cell=lstm", "decoder.cell=lstm"),
    ],
    "does not look": ["decoder.context=fixed"],
}


def _model(name: str, seed: int) -> TranslationModel:
    sizes = ["embedding.source=5", "embedding.target=5", "encoder.size=4", "decoder.size=6", "readout.size=6"]
    chosen = [*sizes, "attention.size=4", "initialisation=uniform", "init_scale=1.0", *MEMBERS[name]]
    torch.manual_seed(seed)
    config = override(Config(), [f"model.{setting}" for setting in chosen])
    return build(config.model, VOCABULARY, VOCABULARY).eval()


def _side() -> TextSide:
    return TextSide(WhitespaceSegmentation(), Vocabulary([f"w{number}" for number in range(len(SPECIALS), VOCABULARY)]))


@pytest.mark.parametrize("combination", ["probabilities", "log-probabilities", "logits"])
@pytest.mark.parametrize(
    "names",
    [["looks first", "looks late, fed, covered", "does not look"], ["does not look"] * 2, ["looks first"] * 3],
    ids=" + ".join,
)
def test_one_graph_finds_what_the_ensemble_finds(names: list[str], combination: str) -> None:
    models = [_model(name, seed) for seed, name in enumerate(names)]
    weights = [0.5, 0.3, 0.2][: len(models)]
    together = Ensemble([(TorchEngine(model), _side()) for model in models], combination, weights)  # type: ignore[arg-type]
    share = [member.weight for member in together.members]
    ours = OnnxEngine(*make_graphs(models, EnsembleCombination(combination, share)), threads=1)  # type: ignore[arg-type]
    assert (ours.vocabulary_size, ours.attention_shift) == (VOCABULARY, together.attention_shift)
    search = SearchConfig(beam=4, max_length_factor=1.0, max_length_extra=4)
    for order in ([0, 1, 2, 3], [2, 1], [1]):
        batch = together.batch([together.encode(LINES[line], "") for line in order])
        source = pad([_side().encode(LINES[line]).ids for line in order], eos=ours.source_eos)
        expected = beam_search(batch.engine, batch.source, batch.lengths, search, n_best=3)
        found = beam_search(ours, *source, search, n_best=3)
        for n_best, others, words in zip(found, expected, batch.lengths, strict=True):
            # Limits of length are as long as the longest member's source, as the segments are here.
            assert [hypothesis.tokens for hypothesis in n_best] == [hypothesis.tokens for hypothesis in others]
            for one, other in zip(n_best, others, strict=True):
                assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
                assert (one.attention is None) == (other.attention is None)
                if one.attention is not None and other.attention is not None:
                    np.testing.assert_allclose(one.attention[:, :words], other.attention, atol=1e-5)


@pytest.mark.parametrize("combination", ["probabilities", "log-probabilities", "logits"])
def test_one_graph_returns_whole_distributions(combination: str) -> None:
    models = [_model(name, seed) for seed, name in enumerate(MEMBERS)]
    engine = OnnxEngine(*make_graphs(models, EnsembleCombination(combination, [0.5, 0.3, 0.2])), threads=1)  # type: ignore[arg-type]
    source = pad([_side().encode(line).ids for line in LINES], eos=engine.source_eos)
    rows, tokens = np.arange(len(LINES)), np.full(len(LINES), BOS)
    step = engine.step(engine.start(*source), rows, tokens, VOCABULARY)
    found = engine.step_all(engine.start(*source), rows, tokens).log_probabilities
    np.testing.assert_allclose(np.take_along_axis(found, step.tokens, axis=1), step.log_probabilities, atol=1e-5)


def test_int8_members_answer_together_near_the_exact_ones() -> None:
    models = [_model(name, 3) for name in MEMBERS]
    ensemble = EnsembleCombination("probabilities", [1 / 3] * 3)
    exact, rounded = (OnnxEngine(*make_graphs(models, ensemble, int8=int8), threads=1) for int8 in (False, True))
    source = pad([_side().encode(line).ids for line in LINES], eos=True)
    target = pad([[4, 9, 30], [], [7], [40, 40]], eos=True)
    found, expected = (engine.force(*source, *target).log_probabilities for engine in (rounded, exact))
    assert 0 < np.abs(found - expected).max() < 0.2
