"""Initial values: how the signal of the source gets through deep models, at the papers' sizes and at small ones."""

from __future__ import annotations

import pytest
import torch

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.config.schema import Config
from dragoman.errors import ConfigError
from dragoman.model.assembly import build
from dragoman.model.encoder import Encoder
from dragoman.model.scores import Additive
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import PAD

VOCABULARY = 100


def deviations(config: Config) -> list[float]:
    """The deviation of h in each encoder layer of a new model, over eight sentences of twelve random words."""
    torch.manual_seed(1)
    model: TranslationModel = build(config.model, VOCABULARY, VOCABULARY).eval()
    words = model.source(torch.randint(4, VOCABULARY, (8, 12)))
    found, encoder = [], model.encoder
    for count in range(1, len(encoder.layers) + 1):
        part = Encoder(
            list(encoder.layers[:count]),
            encoder.direction,
            source_eos=model.source_eos,
            residual=0,
            dropout=encoder.dropout,
            recurrent_dropout=encoder.recurrent_dropout,
        )
        with torch.no_grad():
            found.append(float(part.eval()(words, torch.full((8,), 12)).vectors.std()))
    return found


@pytest.mark.parametrize("preset", ["luong2015-base", "sutskever2014"])
def test_a_small_stack_keeps_the_signal_of_the_papers_size(preset: str) -> None:
    whole = override(load_preset(preset), ["model.decoder.layers=1", "model.bridge.kind=zero"])  # the encoder matters
    full = deviations(whole)
    for factor in (0.256, 0.128):
        small = deviations(scale(whole, factor))
        assert all(one / 2 < other < 4 * one for one, other in zip(full, small, strict=True)), (factor, full, small)
    lost = deviations(scale(whole, 0.128, sizes_only=True))
    assert lost[-1] < 0.05 * full[-1]


def test_lecun_keeps_the_signal_through_a_stack_of_lstms() -> None:
    for factor in (0.5, 0.256, 0.128):
        settings = ["model.initialisation=lecun", "model.init_scale=0.05"]
        found = deviations(override(scale(load_preset("luong2015-base"), factor), settings))
        assert 0.6 < found[-1] / found[0] < 2, (factor, found)


def test_attention_starts_a_tenth_as_wide_as_the_rest_under_the_law_of_bahdanau() -> None:
    for factor, deviation in ((1.0, 0.001), (0.25, 0.002)):
        config = scale(load_preset("bahdanau2015"), factor)
        torch.manual_seed(1)
        model = build(config.model, VOCABULARY, VOCABULARY)
        (score,) = [module for module in model.modules() if isinstance(module, Additive)]
        assert score.query is not None
        assert score.annotation is not None
        assert float(score.query.weight.detach().std()) == pytest.approx(deviation, rel=0.02)
        assert float(score.annotation.weight.detach().std()) == pytest.approx(deviation, rel=0.02)
        assert not score.v.any()


def test_forget_gates_begin_with_their_bias_and_everything_else_as_without_it() -> None:
    config = scale(override(load_preset("luong2015-base"), ["model.biases=true"]), 0.032)
    found = {}
    for bias in (0.0, 1.0):
        torch.manual_seed(1)
        found[bias] = build(override(config, [f"model.forget_bias={bias}"]).model, VOCABULARY, VOCABULARY).state_dict()
    units, gates = config.model.encoder.size, 0
    for name, values in found[1.0].items():
        change = values - found[0.0][name]
        if name.endswith("inputs.bias"):
            assert change[units : 2 * units].eq(1).all()  # i, f, o, g
            assert change.sum() == units
            gates += 1
        else:
            assert not change.any(), name
    assert gates == config.model.encoder.layers + config.model.decoder.layers


def test_a_forget_bias_without_forget_gates_is_refused() -> None:
    with pytest.raises(ConfigError, match="forget_bias: requires biases: true"):
        override(load_preset("standard"), ["model.forget_bias=1"])


@pytest.mark.parametrize("scheme", ["uniform", "gaussian", "orthogonal", "lecun"])
def test_embeddings_have_a_deviation_of_their_own_under_every_scheme(scheme: str) -> None:
    settings = [f"model.initialisation={scheme}", "model.init_scale=0.1"]
    torch.manual_seed(1)
    usual = build(override(load_preset("rnnencdec"), settings).model, VOCABULARY, VOCABULARY)
    torch.manual_seed(1)
    wide = build(
        override(load_preset("rnnencdec"), [*settings, "model.embedding.init_scale=1"]).model, VOCABULARY, VOCABULARY
    )
    for one, other in ((usual.source, wide.source), (usual.target, wide.target)):
        assert one.weight[4:].std().item() < 0.11
        assert other.weight[4:].std().item() == pytest.approx(1, rel=0.05)
        assert not other.weight[PAD].any()
    outputs = [model.output.weight.std().item() for model in (usual, wide)]
    assert outputs[0] == pytest.approx(outputs[1], rel=0.1)  # not tied, so as the scheme says


def test_an_output_matrix_that_is_the_embeddings_has_their_deviation() -> None:
    config = override(load_preset("standard"), ["model.embedding.init_scale=1"])
    model = build(config.model, VOCABULARY, VOCABULARY)
    assert model.output.weight is model.target.weight
    assert model.output.weight[4:].std().item() == pytest.approx(1, rel=0.05)
