"""Every row of the table of faster functions computes what the plain function computes, gradients included."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.model import dropout
from dragoman.model.fast.table import FAST, Function, Kernels, use
from dragoman.model.translation import TranslationModel
from tests.compositions import MODELS, every_model, make_batch, small_model

PAIRS = [
    ([4, 9, 12, 5, 8, 7, 6, 16], [7, 5, 9, 11]),
    ([6, 4], [8, 16, 4, 4, 10, 6]),
    ([11, 10, 9, 8, 7, 6, 5], [15, 14]),
    ([13, 13], []),
]
ROWS = {f"{plain.__module__.rpartition('.')[2]}.{plain.__name__}": plain for plain in FAST}
COMPOSITIONS = ["rnnsearch", "cho", "luong", "luong, not fed, dot", "no attention", "fused", "fused gru", "two-step"]
"""All that is replaced is called by one of them at least."""


@every_model
def test_fast_models_have_the_loss_and_gradients_of_plain_ones_in_float32(name: str) -> None:
    model = MODELS[name]().eval()
    fast, plain = (_results(model, table) for table in (FAST, {}))
    for key in ("objective", "nll"):
        assert fast[key].item() == pytest.approx(plain[key].item(), rel=1e-5)
    for key, expected in plain.items():
        assert (fast[key] - expected).norm() <= 1e-5 * expected.norm() + 1e-7, key


@pytest.mark.parametrize("row", ROWS)
def test_a_row_alone_has_the_results_of_the_plain_model_in_float64(row: str) -> None:
    """Losses, gradients and log-probabilities; dropout is not called, for its random numbers are others."""
    calls: Counter[Function] = Counter()
    plain = ROWS[row]
    table = {plain: _counted(plain, calls)}
    for name in COMPOSITIONS:
        model = small_model(name)
        expected = _results(model, {})
        for key, found in _results(model, table).items():
            torch.testing.assert_close(found, expected[key], atol=1e-12, rtol=1e-11, msg=f"{name}: {key}")
    assert (calls[plain] > 0) == (plain is not dropout.dropout)


def test_dropout_keeps_the_units_of_its_mask_and_scales_them_and_their_gradients_alike() -> None:
    torch.manual_seed(1)
    for form, probability in ((dropout.dropout, 0.3), (FAST[dropout.dropout], 77 / 256)):
        x = torch.rand(100, 100, dtype=torch.float64).add_(1).requires_grad_()
        y = form(x, 0.3)
        y.sum().backward()
        kept = y != 0
        torch.testing.assert_close(y, torch.where(kept, x / (1 - probability), 0))
        torch.testing.assert_close(x.grad, kept.double() / (1 - probability))
        assert kept.double().mean().item() == pytest.approx(0.7, abs=0.02)


def test_an_empty_table_makes_any_model_the_plain_one() -> None:
    model = small_model("rnnsearch")
    replaced = set(FAST.values())
    assert any(member in replaced for module in model.modules() for member in vars(module).values() if callable(member))
    use(model, {})
    assert not any(
        member in replaced for module in model.modules() for member in vars(module).values() if callable(member)
    )


def _counted(plain: Function, calls: Counter[Function]) -> Function:
    """The kernel of a function; its calls are counted."""

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[plain] += 1
        return FAST[plain](*args, **kwargs)

    return counted


def _results(model: TranslationModel, table: Kernels) -> dict[str, Tensor]:
    """The two losses, all gradients and the log-probabilities of forced decoding."""
    use(model, table)
    batch = make_batch(model, PAIRS)
    model.zero_grad()
    loss = model.loss(batch, 0.1)
    loss.objective.backward()
    gradients = {f"gradient of {key}": weight.grad for key, weight in model.named_parameters()}
    assert all(gradient is not None for gradient in gradients.values())
    results = {"objective": loss.objective.detach(), "nll": loss.nll, **gradients}
    forced = {"forced": model.force(batch).log_probabilities}
    start = model.start(batch.source, batch.source_lengths)
    with torch.no_grad():
        prepared = model.decoder.prepare(start.memory, len(batch))
        first = model.step(model.previous_words(batch)[:, 0], start.state, prepared)
    return {**results, **forced, "first step": first.log_probabilities}
