"""The description of a model: its counts are the model's, and the papers'."""

from __future__ import annotations

import pytest
import torch

from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import BridgeConfig, ReadoutConfig
from dragoman.config.section import keys_of
from dragoman.model import description
from dragoman.model.assembly import assemble
from dragoman.model.description import describe
from tests.compositions import COMPOSITIONS, VOCABULARY, model_config


@pytest.mark.parametrize(
    ("preset", "source", "target", "count"),
    [
        ("cho2014", 15_000, 15_000, 18_250_000),
        ("sutskever2014", 160_000, 80_000, 384_000_000),  # Sutskever et al. 2014, section 3.4
        ("bahdanau2015", 30_000, 30_000, 80_401_000),
        ("bahdanau2015-appendix", 30_000, 30_000, 80_401_000),
        ("rnnencdec", 30_000, 30_000, 68_540_000),
        ("luong2015-base", 50_000, 50_000, 214_000_000),
        ("luong2015-dropout", 50_000, 50_000, 214_000_000),
        ("luong2015-location", 50_000, 50_000, 216_050_000),
        ("luong2015-global-location", 50_000, 50_000, 220_050_000),
        ("luong2015-global-dot", 50_000, 50_000, 220_000_000),
        ("luong2015-global-general", 50_000, 50_000, 221_000_000),
        ("luong2015-global-concat", 50_000, 50_000, 221_001_000),  # W_a on h_t, and v_a
        ("luong2015-local-m-general", 50_000, 50_000, 221_000_000),
        ("luong2015-local-p-general", 50_000, 50_000, 222_001_000),  # W_p and v_p beside
    ],
)
def test_parameters_at_the_papers_sizes(preset: str, source: int, target: int, count: int) -> None:
    """Counted by hand from the papers' equations, which have no biases."""
    config = load_preset(preset).model
    assert not config.biases
    assert describe(config, source, target).count == count


def test_the_parts_of_rnnsearch() -> None:
    parts = {part.name: part.count for part in describe(load_preset("bahdanau2015").model, 30_000, 30_000).parts}
    assert parts == {
        "embedding": 37_200_000,
        "encoder": 9_720_000,
        "bridge": 1_000_000,
        "decoder": 10_860_000,
        "attention": 3_001_000,
        "readout": 3_620_000,
        "output": 15_000_000,
    }


def test_a_deep_lstm_hands_on_8000_numbers() -> None:
    """Sutskever et al. 2014, section 3.4: 8000 real numbers represent a sentence."""
    assert describe(load_preset("sutskever2014").model, 160_000, 80_000).state == 8000
    assert describe(load_preset("bahdanau2015").model, 30_000, 30_000).state == 1000


@pytest.mark.parametrize("settings", COMPOSITIONS.values(), ids=COMPOSITIONS.keys())
def test_totals_are_the_models_own(settings: list[str]) -> None:
    config = model_config(settings)
    with torch.device("meta"):
        model = assemble(config, VOCABULARY, VOCABULARY)
    description = describe(config, VOCABULARY, VOCABULARY)
    assert description.count == sum(parameter.numel() for parameter in model.parameters())
    named = [parameter.name for part in description.parts for parameter in part.parameters]
    assert sorted(named) == sorted(name for name, _ in model.named_parameters())


@pytest.mark.parametrize(
    ("preset", "step"),
    [
        ("sutskever2014", "update the state with the previous word; take the state; softmax"),
        (
            "rnnencdec",
            "update the state with the previous word and the summary of the source; maxout over the state, the summary "
            "of the source and the previous word; softmax",
        ),
        (
            "bahdanau2015-appendix",
            "attend to the source from the previous state; update the state with the previous word and the context; "
            "maxout over the previous state, the context and the previous word; softmax",
        ),
        (
            "bahdanau2015-groundhog",
            "update the state with the previous word and the context that it was predicted from (not at the first "
            "step); attend to the source from the new state; maxout over the state, the context and the previous word; "
            "softmax",
        ),
        (
            "luong2015-global-dot",
            "update the state with the previous word and the previous readout; attend to the source from the new "
            "state; tanh over the context and the state; softmax",
        ),
    ],
)
def test_a_step_is_described_in_the_order_of_the_paper(preset: str, step: str) -> None:
    assert describe(load_preset(preset).model, 10, 10).step == step


def test_every_kind_of_bridge_and_readout_is_described() -> None:
    assert set(keys_of(BridgeConfig)["kind"].choices) == description._BRIDGES.keys()
    for kind in keys_of(ReadoutConfig)["kind"].choices:
        config = model_config([f"readout.kind={kind}"])
        assert describe(config, 10, 10).step.endswith("; softmax")


def test_every_part_of_every_preset_is_described() -> None:
    for name in preset_names():
        parts = describe(load_preset(name).model, 10, 10).parts
        assert len(parts) == 7
        assert all(part.words for part in parts)
