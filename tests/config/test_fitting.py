"""Values that do not fit together are refused, and the message says which and why."""

from __future__ import annotations

import pytest

from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


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
            "model.bridge.cell_state: hidden is for an LSTM decoder under a last, tanh or mean bridge",
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
