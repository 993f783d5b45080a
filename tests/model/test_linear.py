from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model.fast.linear import ROUND, missing_rows
from dragoman.model.linear import Linear
from tests.model.forms import both_forms, in_form, randomised


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows", [1, 5, ROUND, ROUND + 1])
@both_forms
def test_it_is_the_plain_product_for_any_number_of_rows(rows: int, bias: bool, fast: bool) -> None:
    linear = _random(Linear(4, 3, bias=bias), fast)
    x = torch.randn(rows, 4, dtype=torch.float64)
    torch.testing.assert_close(linear(x), functional.linear(x, linear.weight, linear.bias))


@both_forms
def test_layers_side_by_side_each_take_their_own_rows(fast: bool) -> None:
    linear = _random(Linear(4, 3, directions=2, bias=True), fast)
    x = torch.randn(2, 5, 6, 4, dtype=torch.float64)
    expected = torch.stack([functional.linear(x[d], linear.weight[d], linear.bias[d]) for d in range(2)])
    torch.testing.assert_close(linear(x), expected)


@pytest.mark.parametrize("directions", [1, 2])
@both_forms
def test_a_step_has_the_gradients_of_the_plain_product_at_every_step(directions: int, fast: bool) -> None:
    linear = _random(Linear(4, 4, directions=directions), fast)
    shape = (directions, 3, 4) if directions > 1 else (3, 4)
    x, plus = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def unroll(product: object) -> torch.Tensor:
        h = x
        for _ in range(5):
            h = torch.tanh(product(h))  # type: ignore[operator]
        return (h * torch.arange(h.numel()).view(shape)).sum()

    step = linear.prepare()
    collected = torch.autograd.grad(unroll(lambda h: step(h, plus=plus)), (linear.weight, x, plus))
    plain = torch.autograd.grad(unroll(lambda h: h @ linear.weight.mT + plus), (linear.weight, x, plus))
    for ours, theirs in zip(collected, plain, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("directions", [1, 2])
@both_forms
def test_sum_of_layers_has_the_gradients_of_the_plain_sum(directions: int, fast: bool) -> None:
    wide, square = (_random(Linear(n_in, 4, directions=directions, bias=True), fast) for n_in in (3, 4))
    shape = (directions, 2) if directions > 1 else (2,)
    below = [torch.randn(*shape, 3, dtype=torch.float64, requires_grad=True) for _ in range(5)]
    start = torch.randn(*shape, 4, dtype=torch.float64, requires_grad=True)
    tensors = [*wide.parameters(), *square.parameters(), *below, start]

    def unroll(summed: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
        h = start
        for x in below:
            h = torch.tanh(summed(x, h))
        return torch.autograd.grad((h * torch.arange(h.numel()).view(h.shape)).sum(), tensors)

    step = square.prepare(wide)
    ours, plain = unroll(lambda x, h: step(x, h)), unroll(lambda x, h: wide(x) + square(h))
    for one, other in zip(ours, plain, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


@both_forms
def test_a_step_that_nothing_follows_from_has_no_part_in_the_gradient(fast: bool) -> None:
    linear = _random(Linear(4, 4), fast)
    x = torch.randn(3, 4, dtype=torch.float64)
    step = linear.prepare()
    used, _unused = step(x), step(1e9 * x)
    used.sum().backward()
    torch.testing.assert_close(linear.weight.grad, x.sum(0).expand(4, 4))


@pytest.mark.parametrize("directions", [1, 2])
@both_forms
def test_a_step_adds_its_bias_with_a_gradient(directions: int, fast: bool) -> None:
    linear = _random(Linear(4, 3, directions=directions, bias=True), fast)
    x = torch.randn(2, 2, 4, dtype=torch.float64) if directions > 1 else torch.randn(2, 4, dtype=torch.float64)
    torch.testing.assert_close(linear.prepare()(x), linear(x))
    linear.prepare()(x).sum().backward()
    assert linear.bias is not None
    assert linear.bias.grad is not None
    torch.testing.assert_close(linear.bias.grad, torch.full_like(linear.bias, 2.0))


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("rows", [1, ROUND, ROUND + 1])
@both_forms
def test_padded_products_are_near_the_exact_ones(rows: int, directions: int, fast: bool) -> None:
    linear = _random(Linear(4, 3, directions=directions, bias=True), fast).float()
    x = torch.randn(directions, rows, 4) if directions > 1 else torch.randn(rows, 4)
    exact = linear(x)
    linear.precision = torch.bfloat16
    assert linear(x).shape == exact.shape
    torch.testing.assert_close(linear(x).float(), exact, atol=0.1, rtol=0.05)


@both_forms
def test_bfloat16_products_have_float32_gradients(fast: bool) -> None:
    linear = in_form(Linear(8, 8), fast)
    torch.nn.init.normal_(linear.weight)
    linear.precision = torch.bfloat16
    x = torch.randn(4, 8)
    y = linear.prepare()(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert linear.weight.grad is not None
    assert linear.weight.grad.dtype == torch.float32
    torch.testing.assert_close(linear.weight.grad, x.sum(0).expand(8, 8), atol=0.1, rtol=0.02)


@pytest.mark.parametrize("rows", [1, ROUND - 1, ROUND, 3 * ROUND + 7])
def test_padding_makes_a_multiple(rows: int) -> None:
    missing = missing_rows(rows, torch.bfloat16)
    assert 0 <= missing < ROUND
    assert (rows + missing) % ROUND == 0


def test_float32_products_are_not_padded() -> None:
    assert missing_rows(5, torch.float32) == 0


def test_an_unrolling_is_forgotten_when_it_goes_out_of_use() -> None:
    """Deferred gradients and the shared tensor must not keep each other, and a whole batch, alive."""
    import gc
    import weakref

    linear = _random(Linear(4, 4), fast=True)
    x = torch.randn(2, 4, dtype=torch.float64)
    gc.disable()
    try:
        y = linear.prepare()(x).sum()
        node = weakref.ref(y.grad_fn.next_functions[0][0])  # type: ignore[union-attr]
        y.backward()
        del y
        assert node() is None
    finally:
        gc.enable()


def _random(linear: Linear, fast: bool) -> Linear:
    return in_form(randomised(linear), fast)
