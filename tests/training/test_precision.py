from __future__ import annotations

import pytest
import torch

from dragoman.model.translation import TranslationModel
from dragoman.training import precision
from dragoman.training.precision import fastest_precision
from tests.compositions import small_model


@pytest.fixture
def model() -> TranslationModel:
    return small_model("rnnsearch").float().train()


def test_the_faster_one_is_chosen_and_the_reason_said(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "choose_precision", lambda name, device: torch.bfloat16)
    times = {None: 0.2, torch.bfloat16: 0.05}
    monkeypatch.setattr(precision, "_seconds", lambda model, type_: times[type_])
    assert fastest_precision(model) == ("bf16", "50 ms a batch in bfloat16, 200 in float32")
    for seconds, chosen in ((0.02, "fp32"), (0.051, "fp32"), (0.0551, "fp32"), (0.0556, "bf16")):
        times[None] = seconds
        assert fastest_precision(model).precision == chosen, seconds
    times[None] = 0.0507
    assert fastest_precision(model).reason == "50 ms a batch in bfloat16, 51 in float32; bf16 has to be 10 % faster"


def test_nothing_is_tried_where_there_are_no_fast_products(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "choose_precision", lambda name, device: None)
    monkeypatch.setattr(precision, "_seconds", lambda *_: pytest.fail("was tried"))
    assert fastest_precision(model).precision == "fp32"


def test_trying_leaves_the_model_as_it_was(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "choose_precision", lambda name, device: torch.bfloat16)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    assert fastest_precision(model).precision in ("fp32", "bf16")
    assert model.precision is None
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
