"""Whole models against the papers' equations, written out in `tests.model.reference`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from dragoman.config.presets import preset_names
from dragoman.config.schema import ModelConfig
from dragoman.text.vocabulary import EOS
from tests.compositions import COMPOSITIONS, PAIRS, make_batch, model_config, random_model, small_preset
from tests.model.naming import paper_weights
from tests.model.reference import attention as look
from tests.model.reference import papers, parts
from tests.model.reference.cells import Array
from tests.model.reference.papers import Weights

Equations = Callable[[Weights, list[int], list[int]], Array]

CHO, RNNENCDEC = COMPOSITIONS["cho"], COMPOSITIONS["rnnencdec"]
SUTSKEVER = [
    "source_eos=false",
    "encoder.cell=lstm",
    "encoder.layers=3",
    "encoder.direction=reversed",
    "encoder.size=6",
    "bridge.kind=copy",
    "decoder.cell=lstm",
    "decoder.layers=3",
    "decoder.context=none",
    "readout.kind=linear",
]
LUONG = [
    *SUTSKEVER,
    "decoder.context=attended",
    "decoder.order=update-then-look",
    "readout.kind=attentional",
    "attention.window=2",
    "attention.max_positions=6",
]
DL4MT = [
    "encoder.reset=after",
    "encoder.update=keep",
    "bridge.kind=mean",
    "decoder.order=two-step",
    "decoder.reset=after",
    "decoder.update=keep",
    "readout.kind=attentional",
]

SCORES = {
    "dot": lambda w, h, annotations: look.dot(h, annotations),
    "scaled-dot": lambda w, h, annotations: look.scaled_dot(h, annotations),
    "general": lambda w, h, annotations: look.general(h, annotations, w["W_a"]),
    "concat": lambda w, h, annotations: look.concat(h, annotations, w["W_a of both"], w["v_a"]),
    "concat-identity": lambda w, h, annotations: look.concat_identity(h, annotations, w["W_a"], w["v_a"]),
}


def luong_weights(w: Weights, h: Array, annotations: Array, t: int, *, config: ModelConfig) -> Array:
    attention = config.attention
    if attention.score == "location":
        backwards = config.encoder.direction == "reversed"
        return look.location_weights(h, len(annotations), w["W_a"], masked=attention.masked, reads_backwards=backwards)
    energies = SCORES[attention.score](w, h, annotations)
    if attention.scope == "local-m":
        return look.local_m_weights(energies, t, attention.window)
    if attention.scope == "local-p":
        return look.local_p_weights(energies, h, w["W_p"], w["v_p"], attention.window)
    return look.global_weights(energies)


def luong(config: ModelConfig) -> Equations:
    backwards = config.encoder.direction == "reversed"
    if config.decoder.context == "none":  # the paper's rows before attention
        return partial(papers.sutskever, backwards=backwards)
    weigh = partial(luong_weights, config=config)
    return partial(papers.luong, weigh=weigh, backwards=backwards, fed=config.decoder.input_feeding)


MODELS: dict[str, tuple[list[str], Equations]] = {
    "Cho, appendix": (CHO, papers.cho),
    "Cho, GroundHog": (
        [*RNNENCDEC, "decoder.order=groundhog", "decoder.first_input=zero", "readout.rank=3"],
        papers.cho_groundhog,
    ),
    "Sutskever": (SUTSKEVER, papers.sutskever),
    "Sutskever, the encoder reads the end mark": ([*SUTSKEVER, "source_eos=true"], papers.sutskever),
    "Sutskever, peepholes": (
        [*SUTSKEVER, "encoder.peepholes=true", "decoder.peepholes=true"],
        papers.sutskever,
    ),
    "Bahdanau, main text": (["decoder.first_input=zero"], papers.rnnsearch),
    "Bahdanau, a learnt first word": ([], papers.rnnsearch),
    "Bahdanau, normed score": (["attention.score=normed-additive"], papers.rnnsearch),
    "Bahdanau, covered": (["attention.coverage=true"], papers.rnnsearch),
    "Bahdanau, low rank": (["readout.rank=3"], papers.rnnsearch),
    "Bahdanau, output and target vectors tied": (["embedding.tied=output"], papers.rnnsearch),
    "Bahdanau, appendix": (["decoder.readout_state=prev", "decoder.first_input=zero"], papers.rnnsearch_appendix),
    "Bahdanau, GroundHog": (["decoder.order=groundhog", "decoder.first_input=zero"], papers.rnnsearch_groundhog),
    "RNNencdec": (RNNENCDEC, papers.rnnencdec),
    "dl4mt": (DL4MT, papers.conditional_gru),
}
MODELS |= {
    f"Luong, {score}, {scope}{', fed' * fed}{', reversed' * (direction == 'reversed')}{', end mark' * end}": (
        settings := [
            *LUONG,
            f"attention.score={score}",
            f"attention.scope={scope}",
            f"decoder.input_feeding={str(fed).lower()}",
            f"encoder.direction={direction}",
            f"source_eos={str(end).lower()}",
        ],
        luong(model_config(settings)),
    )
    for score, scope, fed, direction, end in [
        ("dot", "global", False, "forward", False),
        ("dot", "global", True, "reversed", False),
        ("scaled-dot", "global", True, "reversed", False),
        ("general", "global", True, "reversed", True),
        ("concat", "global", True, "reversed", False),
        ("concat-identity", "global", True, "reversed", False),
        ("general", "local-m", False, "forward", True),
        ("general", "local-m", True, "reversed", False),
        ("concat", "local-m", True, "reversed", False),
        ("dot", "local-p", False, "forward", False),
        ("general", "local-p", True, "reversed", False),
        ("concat", "local-p", True, "reversed", True),
        ("location", "global", False, "forward", False),
        ("location", "global", True, "reversed", False),
    ]
}
MODELS["Luong, location not masked, fed, reversed"] = (
    settings := [*MODELS["Luong, location, global, fed, reversed"][0], "attention.masked=false"],
    luong(model_config(settings)),
)

BY_PRESET: dict[str, Callable[[ModelConfig], Equations]] = {
    "cho2014": lambda config: papers.cho,
    "cho2014-groundhog": lambda config: papers.cho_groundhog,
    "sutskever2014": lambda config: papers.sutskever,
    "bahdanau2015": lambda config: papers.rnnsearch,
    "bahdanau2015-appendix": lambda config: papers.rnnsearch_appendix,
    "bahdanau2015-groundhog": lambda config: papers.rnnsearch_groundhog,
    "rnnencdec": lambda config: papers.rnnencdec,
    "luong2015": luong,
}
"""The equations of a preset, by its name or by the beginning of it."""


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_the_paper_computed_step_by_step(name: str) -> None:
    settings, equations = MODELS[name]
    _assert_same_probabilities(model_config(settings), equations)


@pytest.mark.parametrize("name", [name for name in preset_names() if name not in ("demo", "standard", "characters")])
def test_a_preset_has_the_probabilities_of_its_paper(name: str) -> None:
    config = small_preset(name).model
    family = name if name in BY_PRESET else name.partition("-")[0]
    _assert_same_probabilities(config, BY_PRESET[family](config))


@pytest.mark.parametrize("name", [*COMPOSITIONS, *preset_names()])
def test_probabilities_and_weights_of_any_composition_follow_the_equations_of_its_parts(name: str) -> None:
    config = model_config(COMPOSITIONS[name]) if name in COMPOSITIONS else small_preset(name).model
    model = random_model(config)
    w = paper_weights(model)
    together = model.force(make_batch(model, PAIRS))
    for row, (source, target) in enumerate(PAIRS):
        read = [*source, EOS] if model.source_eos else source
        expected = parts.translate(config, w, read, [*target, EOS])
        ours = together.log_probabilities[row, : len(target) + 1].numpy()
        np.testing.assert_allclose(ours, expected.log_probabilities, atol=1e-10, rtol=0)
        assert (together.weights is None) == (len(expected.weights) == 0)
        if together.weights is not None:
            weights = together.weights[row, : len(target) + 1].numpy()
            np.testing.assert_allclose(weights[:, : len(read)], expected.weights, atol=1e-10, rtol=0)
            assert (weights[:, len(read) :] == 0).all()


def _assert_same_probabilities(config: ModelConfig, equations: Equations) -> None:
    """Of sentences of different lengths in one batch, to 1e-10."""
    model = random_model(config)
    w = paper_weights(model)
    together = model.force(make_batch(model, PAIRS)).log_probabilities.numpy()
    for row, (source, target) in enumerate(PAIRS):
        expected = equations(w, [*source, EOS] if model.source_eos else source, [*target, EOS])
        np.testing.assert_allclose(together[row, : len(target) + 1], expected, atol=1e-10, rtol=0)
