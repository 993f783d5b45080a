"""Values that do not fit together are refused, and the message says which and why."""

from __future__ import annotations

import pytest

from dragoman.config.building import override
from dragoman.config.fitting import check_pattern
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


def test_a_setting_of_the_target_that_differs_has_no_effect_on_a_joint_segmentation() -> None:
    standard = load_preset("standard")
    for setting in ("segmentation=unigram", "vocabulary=4000", "min_frequency=3", "model=a.model"):
        name = setting.partition("=")[0]
        with pytest.raises(ConfigError, match=rf"text\.target\.{name}: has no effect with text\.joint: true"):
            override(standard, [f"text.target.{setting}"])
        both = override(standard, [f"text.{side}.{setting}" for side in ("source", "target")])
        assert both.text.source == both.text.target
    own = override(standard, ["text.joint=false", "model.embedding.tied=output", "text.target.vocabulary=4000"])
    assert own.text.target.vocabulary == 4000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["model.bridge.kind=last", "model.decoder.size=300", "model.encoder.size=200"],
            "model.bridge.kind: last needs a decoder as wide as an annotation or as one direction of it, but "
            "model.decoder.size is 300 and model.encoder.size 200 over both",
        ),
        (
            [
                "model.bridge.kind=last",
                "model.decoder.size=400",
                "model.encoder.size=200",
                "model.bridge.cell_state=hidden",
            ],
            "model.bridge.cell_state: hidden requires an LSTM decoder and bridge last, tanh-* or mean",
        ),
        (
            ["model.readout.kind=affine", "model.decoder.context=none"],
            "model.readout.kind: affine needs model.decoder.context: attended or fixed",
        ),
    ],
)
def test_choices_that_contradict_each_other_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(Config(), settings)
    assert str(caught.value) == f"--set: {message}"


CONTRADICTIONS = {
    "model.encoder.cell=gru-fused": "model.encoder.cell: gru-fused requires reset: after and update: keep",
    "model.decoder.peepholes=true": "model.decoder.peepholes: requires cell: lstm, not gru",
    "model.encoder.first_residual_layer=1": "model.encoder.first_residual_layer: 1 is none of the layers 2 to 1",
    "model.bridge.kind=copy": "model.bridge.kind: copy requires the same cell",
    "model.bridge.kind=tanh-backward model.encoder.direction=forward": "model.bridge.kind: tanh-backward needs",
    "model.bridge.kind=mean model.bridge.summary=tanh": "model.bridge.summary: tanh has no effect without bridge",
    "model.decoder.context_in_reset=true": "model.decoder.context_in_reset: needs a GRU with reset: after",
    "model.decoder.readout_state=prev model.decoder.order=groundhog": "model.decoder.readout_state: prev requires",
    "model.decoder.order=two-step model.decoder.layers=2": "model.decoder.order: two-step needs one layer",
    "model.attention.score=dot model.decoder.size=7": "model.attention.score: dot multiplies states of 7 with",
    "model.attention.score=location model.attention.scope=local-m": "model.attention.score: location needs scope",
    "model.attention.score=general model.attention.coverage=true": "model.attention.coverage: only additive and concat",
    "model.attention.score=additive model.attention.heads=2": "model.attention.heads: several need the score dot,",
    "model.attention.heads=2 model.attention.score=dot model.attention.scope=local-p model.encoder.size=256 "
    "model.decoder.size=512": "model.attention.heads: several need",
    "model.attention.heads=3 model.attention.score=general": "model.attention.heads: 3 must divide the size of a state",
    "model.attention.score=general model.attention.heads=2 model.encoder.size=5 model.encoder.direction=forward "
    "model.bridge.kind=mean": "model.attention.heads: 2 must divide the size of an annotation, which is 5",
    "model.readout.kind=linear model.decoder.order=update-then-look": "model.readout.kind: linear ignores the context",
    "model.embedding.tied=output model.readout.size=7": "model.embedding.tied: output makes the target embedding the",
    "model.embedding.tied=all model.readout.size=512": "model.embedding.tied: all requires text.joint: true",
    "model.gate_biases=false model.encoder.cell=lstm": "model.gate_biases: false requires biases: true",
    "model.dropout.recurrent=0.1 model.encoder.cell=lstm-fused": "model.dropout.recurrent: fused cells do not",
}
"""Settings, and how the message begins."""


def test_every_other_contradiction_is_refused_too() -> None:
    for settings, message in CONTRADICTIONS.items():
        with pytest.raises(ConfigError) as caught:
            override(Config(), settings.split())
        assert str(caught.value).startswith(f"--set: {message}"), settings


@pytest.mark.parametrize(("direction", "size"), [("both", 400), ("both", 200), ("forward", 200)])
def test_a_last_bridge_takes_the_whole_annotation_or_one_direction(direction: str, size: int) -> None:
    settings = [f"model.encoder.direction={direction}", "model.encoder.size=200", f"model.decoder.size={size}"]
    assert override(Config(), [*settings, "model.bridge.kind=last"]).model.bridge.kind == "last"


@pytest.mark.parametrize(
    "setting", ["word_penalty=.nan", "alpha=.inf", "max_length_factor=.inf", "coverage_penalty=.inf"]
)
def test_a_search_setting_that_is_no_number_to_reckon_with_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set: search\.\w+: expected a finite number, not (nan|inf)$"):
        override(Config(), [f"search.{setting}"])


@pytest.mark.parametrize(
    "pattern", [r"\bPN-?[0-9]{6}\b", r"(?<![A-Za-z])[A-Z]{2}(?:\.\d+)*(?!\w)", "Ärzte ohne Grenzen|MSF", "[^a-z]x"]
)
def test_patterns_that_browsers_read_alike_are_taken(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "is no regular expression: missing )"),
        (r"\#[a-z]+", r"has '\\#', which browsers read in another way"),
        (r"a\s+b", r"has '\\s', which browsers"),
        ("(?i)abc", "has '(?', which browsers"),
        ("(?P<n>a)", "has '(?', which browsers"),
        ("[0-9]*", "matches no text at all"),
    ],
)
def test_other_patterns_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^text\.patterns: ") as refused:
        check_pattern(pattern)
    assert message in str(refused.value)
