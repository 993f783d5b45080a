"""Small models with large random weights, so that every part matters to the numbers."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.scaling import scale
from dragoman.config.schema import Config, ModelConfig
from dragoman.data.batches import Batch
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.text.padding import pad

VOCABULARY = 17

COMPOSITIONS = {
    "rnnsearch": [],
    "rnnsearch, gates in the other conventions": [
        "encoder.reset=after",
        "decoder.update=keep",
        "bridge.kind=tanh-last",
    ],
    "rnnsearch, fed": ["decoder.input_feeding=true", "decoder.layers=2", "bridge.kind=mean"],
    "luong": [
        "source_eos=false",
        "encoder.cell=lstm",
        "encoder.layers=2",
        "encoder.direction=reversed",
        "encoder.size=6",
        "bridge.kind=copy",
        "decoder.cell=lstm",
        "decoder.layers=2",
        "decoder.order=update-then-look",
        "decoder.input_feeding=true",
        "attention.score=general",
        "readout.kind=attentional",
    ],
    "luong, not fed, dot": [
        "encoder.direction=forward",
        "encoder.size=6",
        "bridge.kind=zero",
        "decoder.layers=2",
        "decoder.order=update-then-look",
        "attention.score=dot",
        "readout.kind=attentional",
    ],
    "update, then look, maxout": [
        "decoder.order=update-then-look",
        "decoder.first_input=zero",
        "embedding.tied=output",
    ],
    "no attention": [
        "encoder.cell=lstm",
        "encoder.direction=reversed",
        "encoder.layers=2",
        "encoder.size=6",
        "bridge.kind=copy",
        "decoder.cell=lstm",
        "decoder.layers=2",
        "decoder.context=none",
        "readout.kind=linear",
    ],
    "no biases, everything tied": ["biases=false", "embedding.tied=all"],
    "cho": [
        "encoder.direction=forward",
        "encoder.update=keep",
        "bridge.kind=tanh-last",
        "bridge.summary=tanh",
        "decoder.update=keep",
        "decoder.reset=after",
        "decoder.context_in_reset=true",
        "decoder.context=fixed",
        "decoder.first_input=zero",
        "readout.rank=3",
    ],
    "rnnencdec": ["encoder.direction=forward", "bridge.kind=tanh-last", "decoder.context=fixed"],
    "groundhog": ["decoder.order=groundhog", "decoder.first_input=zero", "gate_biases=false"],
    "groundhog, fixed, fed": [
        "decoder.order=groundhog",
        "decoder.context=fixed",
        "decoder.input_feeding=true",
        "decoder.layers=2",
        "bridge.kind=mean",
    ],
    "appendix": ["decoder.readout_state=prev"],
    "two-step": ["decoder.order=two-step", "bridge.kind=mean", "readout.kind=attentional"],
    "two-step, lstm, fed": [
        "decoder.order=two-step",
        "decoder.cell=lstm",
        "bridge.kind=mean",
        "bridge.cell_state=hidden",
        "decoder.input_feeding=true",
    ],
    "plain tanh, fixed": [
        "encoder.cell=tanh",
        "decoder.cell=tanh",
        "decoder.context=fixed",
        "decoder.order=update-then-look",
    ],
    "peepholes": [
        "encoder.cell=lstm",
        "encoder.peepholes=true",
        "decoder.cell=lstm",
        "decoder.peepholes=true",
        "decoder.layers=2",
    ],
    "fused": [
        "encoder.cell=lstm-fused",
        "encoder.layers=2",
        "decoder.cell=gru-fused",
        "decoder.reset=after",
        "decoder.update=keep",
        "bridge.kind=mean",
    ],
    "fused gru": ["encoder.cell=gru-fused", "encoder.reset=after", "encoder.update=keep"],
    "residual": [
        "encoder.layers=3",
        "encoder.first_residual_layer=2",
        "decoder.layers=3",
        "decoder.first_residual_layer=3",
        "decoder.order=update-then-look",
    ],
    "heads": ["attention.score=general", "attention.heads=2", "decoder.order=update-then-look"],
    "heads of scaled dots, looked at first": [
        "attention.score=scaled-dot",
        "attention.heads=3",
        "encoder.size=6",
        "encoder.direction=forward",
        "bridge.kind=tanh-last",
    ],
    "local-m": ["attention.scope=local-m", "attention.window=1", "decoder.order=update-then-look"],
    "local-p": ["attention.scope=local-p", "attention.window=2", "decoder.order=update-then-look"],
    "local-p, fed, reversed": [
        "attention.scope=local-p",
        "attention.window=2",
        "attention.score=general",
        "encoder.direction=reversed",
        "decoder.order=update-then-look",
        "decoder.input_feeding=true",
        "readout.kind=attentional",
    ],
    "location": [
        "attention.score=location",
        "attention.max_positions=6",
        "encoder.direction=reversed",
        "decoder.order=update-then-look",
    ],
    "location, not masked, looked at first": [
        "attention.score=location",
        "attention.max_positions=6",
        "attention.masked=false",
    ],
    "concat, covered": [
        "attention.score=concat",
        "attention.coverage=true",
        "decoder.order=update-then-look",
    ],
    "concat-identity, fed": [
        "attention.score=concat-identity",
        "decoder.order=update-then-look",
        "decoder.input_feeding=true",
    ],
    "normed, covered": ["attention.score=normed-additive", "attention.coverage=true"],
    "last, affine": [
        "encoder.size=6",
        "bridge.kind=last",
        "bridge.cell_state=hidden",
        "decoder.cell=lstm",
        "decoder.layers=2",
        "readout.kind=affine",
    ],
    "lstm, fixed, in three layers": [
        "encoder.cell=lstm",
        "bridge.kind=tanh-last",
        "bridge.cell_state=hidden",
        "decoder.cell=lstm",
        "decoder.layers=3",
        "decoder.context=fixed",
    ],
    "plain tanh, groundhog": ["encoder.cell=tanh", "decoder.cell=tanh", "decoder.order=groundhog"],
    "scaled dot": [
        "attention.score=scaled-dot",
        "encoder.size=6",
        "encoder.direction=forward",
        "bridge.kind=tanh-last",
    ],
}
"""Every part at least once, as settings over small sizes."""

SIZES = [
    "embedding.source=5",
    "embedding.target=5",
    "encoder.size=4",
    "decoder.size=6",
    "attention.size=7",
    "readout.size=5",
    "initialisation=uniform",
    "init_scale=0.7",
]


def model_config(settings: list[str]) -> ModelConfig:
    return override(Config(), ["text.joint=true", *(f"model.{setting}" for setting in [*SIZES, *settings])]).model


def small_model(name: str) -> TranslationModel:
    """A composition by its name, in float64, in evaluation mode."""
    return random_model(model_config(COMPOSITIONS[name]))


def random_model(config: ModelConfig, *, seed: int = 3) -> TranslationModel:
    """A model in float64, in evaluation mode, its biases random like everything else."""
    torch.manual_seed(seed)
    model = build(config, VOCABULARY, VOCABULARY).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.rpartition(".")[2] == "bias":
                parameter.uniform_(-config.init_scale, config.init_scale)
    return model


def small_preset(name: str) -> Config:
    """A preset of the package with every part as it is and all sizes small."""
    config = load_preset(name)
    model = config.model
    sizes = {
        "embedding.source": 5,
        "embedding.target": 5,
        "encoder.size": 3 if model.encoder.direction == "both" else 6,  # annotations as wide as decoder states
        "decoder.size": 6,
        "attention.size": 7,
        "attention.window": 1,
        "attention.heads": min(model.attention.heads, 2),
        "attention.max_positions": 6,  # fewer than the longest sentence here has words
        "readout.size": 5,
        "readout.rank": 3 if model.readout.rank else "null",
        "initialisation": "uniform",
        "init_scale": 0.7,
    }
    return override(config, [f"model.{key}={value}" for key, value in sizes.items()])


def make_batch(model: TranslationModel, pairs: list[tuple[list[int], list[int]]]) -> Batch:
    """Pairs of ids without end marks, as the model reads them."""
    source = pad([pair[0] for pair in pairs], eos=model.source_eos)
    target = pad([pair[1] for pair in pairs], eos=True)
    return Batch(*source, *target, np.arange(len(pairs)))


PAIRS = [
    ([4, 9, 12, 5], [7, 5]),
    ([6], [8, 16, 4, 4, 10]),
    ([11, 10, 9, 8, 7, 6, 5], [15]),
    ([13, 13], []),
]
"""Of all lengths, an empty target among them."""


def build_scaled(name: str) -> TranslationModel:
    """A preset some thirty times smaller, its weights drawn large enough to matter."""
    torch.manual_seed(3)
    config = scale(load_preset(name), 0.032).model
    return build(config.replaced(initialisation="lecun", init_scale=0.5), VOCABULARY, VOCABULARY)


def _composed(name: str) -> TranslationModel:
    torch.manual_seed(3)
    return build(model_config(COMPOSITIONS[name]), VOCABULARY, VOCABULARY)


MODELS = {
    **{f"preset {name}": functools.partial(build_scaled, name) for name in preset_names()},
    **{name: functools.partial(_composed, name) for name in COMPOSITIONS},
}
"""What builds each, in float32: every preset and every composition."""

every_model = pytest.mark.parametrize("name", MODELS)
