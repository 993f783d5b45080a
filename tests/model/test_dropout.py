from __future__ import annotations

import pytest
import torch

from dragoman.model.dropout import dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
def test_about_as_many_units_are_dropped_and_the_mean_stays(probability: float) -> None:
    torch.manual_seed(1)
    y = dropout(torch.ones(200, 500), probability, training=True)
    assert (y == 0).float().mean().item() == pytest.approx(probability, abs=0.005)
    assert y.mean().item() == pytest.approx(1, abs=0.01)


def test_kept_units_are_scaled_by_the_exact_inverse_of_the_rounded_probability() -> None:
    y = dropout(torch.ones(1000), 0.3, training=True)
    assert y.unique().tolist() == pytest.approx([0, 256 / (256 - 77)])


def test_gradient_goes_through_kept_units_alone() -> None:
    x = torch.randn(1000, dtype=torch.float64, requires_grad=True)
    y = dropout(x, 0.5, training=True)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, 2.0).double())


@pytest.mark.parametrize(("probability", "training"), [(0.5, False), (0.0, True)])
def test_nothing_changes_outside_training_or_at_zero(probability: float, training: bool) -> None:
    x = torch.randn(10)
    assert dropout(x, probability, training) is x


def test_masks_follow_from_the_seed_and_differ_from_call_to_call() -> None:
    x = torch.ones(100)
    torch.manual_seed(5)
    first, second = dropout(x, 0.5, True), dropout(x, 0.5, True)
    torch.manual_seed(5)
    assert torch.equal(dropout(x, 0.5, True), first)
    assert not torch.equal(first, second)


def test_every_shape_gets_a_mask_of_its_own_size() -> None:
    for shape in [(1,), (7,), (3, 5), (2, 3, 4)]:
        assert dropout(torch.ones(shape), 0.5, True).shape == shape
