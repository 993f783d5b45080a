from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
import torch

from dragoman.data.batches import Batch, Budget, batch_ids
from dragoman.model.trainable import Loss
from dragoman.model.translation import TranslationModel
from dragoman.training.objective import TrainingObjective, UpdateTotals, accumulate_gradients

SOURCES = [[5, 6, 7], [8, 9], [10, 11, 12, 13, 14], [4], [5, 5, 6, 15], [9, 8, 7]]
TARGETS = [[7, 6], [9, 8, 10, 11], [14, 4], [12, 12, 13, 5, 6], [4, 15], [6, 7, 8]]


def batch_of(*rows: int) -> Batch:
    sources, targets = [SOURCES[row] for row in rows], [TARGETS[row] for row in rows]
    (batch,) = batch_ids(sources, targets, Budget("sentences", 100), source_eos=True)
    return batch


def gradients_of(
    model: torch.nn.Module, batches: list[Batch], unit: Literal["tokens", "sentences"], smoothing: float = 0.1
) -> tuple[dict[str, torch.Tensor], UpdateTotals]:
    model.zero_grad()
    totals = accumulate_gradients(model, batches, TrainingObjective(unit, smoothing))  # type: ignore[arg-type]
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {name: gradient.clone() for name, gradient in gradients.items()}, totals


def assert_equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    assert any(gradient.abs().max() > 1e-4 for gradient in first.values())
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("unit", ["tokens", "sentences"])
def test_accumulated_batches_give_the_gradient_of_one_large_batch(
    exact_model: torch.nn.Module, unit: Literal["tokens", "sentences"]
) -> None:
    # of unequal size in sentences and in tokens, so that a mean of means would differ
    small, totals = gradients_of(exact_model, [batch_of(0, 1, 2), batch_of(3), batch_of(4, 5)], unit)
    large, together = gradients_of(exact_model, [batch_of(0, 1, 2, 3, 4, 5)], unit)
    assert_equal(small, large)
    assert totals.tokens == together.tokens == sum(len(target) + 1 for target in TARGETS)
    torch.testing.assert_close(totals.nll, together.nll, rtol=1e-5, atol=0.0)
    torch.testing.assert_close(totals.objective, together.objective, rtol=1e-5, atol=0.0)


def test_a_batch_is_forgotten_before_the_next_one(
    exact_model: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients of several small batches are there to save memory."""
    computed: list[weakref.ref[torch.Tensor]] = []
    loss_of = exact_model.loss

    def loss(*args: Any, **kwargs: Any) -> Loss:
        assert all(objective() is None for objective in computed), "what led to an earlier loss is still there"
        result = loss_of(*args, **kwargs)
        computed.append(weakref.ref(result.objective))
        return result

    monkeypatch.setattr(exact_model, "loss", loss)
    accumulate_gradients(exact_model, [batch_of(0, 1, 2), batch_of(3), batch_of(4, 5)], TrainingObjective())
    assert len(computed) == 3


@pytest.mark.parametrize("unit", ["tokens", "sentences"])
def test_doubling_a_batch_leaves_the_gradient_unchanged(
    exact_model: torch.nn.Module, unit: Literal["tokens", "sentences"]
) -> None:
    once, _ = gradients_of(exact_model, [batch_of(0, 1, 2)], unit)
    twice, _ = gradients_of(exact_model, [batch_of(0, 1, 2, 0, 1, 2)], unit)
    assert_equal(once, twice)


def test_the_units_differ_by_the_tokens_of_a_sentence(exact_model: torch.nn.Module) -> None:
    per_token, totals = gradients_of(exact_model, [batch_of(0, 1, 2)], "tokens")
    per_sentence, _ = gradients_of(exact_model, [batch_of(0, 1, 2)], "sentences")
    ratio = totals.tokens / 3
    assert_equal({name: gradient * ratio for name, gradient in per_token.items()}, per_sentence)


def test_smoothing_changes_what_is_minimised_and_not_the_likelihood(exact_model: torch.nn.Module) -> None:
    _, plain = gradients_of(exact_model, [batch_of(0, 1)], "tokens", smoothing=0.0)
    _, smooth = gradients_of(exact_model, [batch_of(0, 1)], "tokens", smoothing=0.3)
    assert plain.objective == plain.nll == smooth.nll
    assert smooth.objective != smooth.nll


def test_the_totals_hold_no_graph(exact_model: torch.nn.Module) -> None:
    _, totals = gradients_of(exact_model, [batch_of(0)], "tokens")
    assert not totals.objective.requires_grad
    assert not totals.nll.requires_grad


@pytest.fixture
def exact_model(tiny: Callable[..., Any]) -> torch.nn.Module:
    """Without dropout, and with embeddings large enough to matter."""
    model: torch.nn.Module = tiny(dropout=0.0)
    with torch.no_grad():
        rng = np.random.default_rng(1)
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=parameter.shape) * 0.3))
    return model
